package potts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/categories"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/engine/spins/perceptron"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/lists"
)

// Config determines a run.
type Config struct {
	engine.Common
	Target     TargetConfig           `json:"target"`
	Transition spins.TransitionConfig `json:"transition"`
	Generator  GeneratorConfig        `json:"generator"`
	Loss       LossConfig             `json:"loss"`
}

// TargetConfig names the law π(s) ∝ e^(−βE(s)) of sites in states 0 … q−1.
type TargetConfig struct {
	Beta float64 `json:"beta" is:"not negative"` // inverse temperature β ≥ 0
	Q    int     `json:"q"`                      // states of a site, 2 to 16
	// Model says how couplings J enter: "potts", E = −Σ J δ(s_i, s_j), or "clock",
	// E = −Σ J cos(2π(s_i − s_j)/q).
	Model string  `json:"model" enum:"potts,clock"`
	L     int     `json:"l" is:"0..128"` // side of the periodic square lattice; 0 for a graph
	J     float64 `json:"j" is:"finite"` // coupling of the lattice's neighbours; positive favours equal states
	// File is the path of a file with a graph (docs/targets.md). It is "" if the configuration
	// holds the graph itself.
	File string `json:"file"`
	// SHA256 is the hash of the file that was read, in hexadecimal. The keys from sites on hold its
	// content, so that the file is no longer needed. If it still exists, it must have this hash.
	SHA256 string       `json:"sha256"`
	Sites  int          `json:"sites"`  // number of sites of a graph; they are numbered from 0
	States []int        `json:"states"` // number of states of each site of a graph, or none if all have q
	Edges  []spins.Edge `json:"edges"`  // [i, j, J], each pair of sites at most once
	Tables []Table      `json:"tables"` // energies of other pairs
	// Fields are rows of h, by state, with energies −h(s): one row for all sites, or one for each
	// site, or none.
	Fields [][]float64 `json:"fields"`
	Offset float64     `json:"offset"` // constant added to E
	Labels []string    `json:"labels"` // names of the sites, all different, or none
}

// A Table is the energy of a pair of sites, Energy[s_I][s_J].
type Table struct {
	I      int         `json:"i"`
	J      int         `json:"j"`
	Energy [][]float64 `json:"energy"`
}

// GeneratorConfig describes G_θ.
type GeneratorConfig struct {
	// Kind is "hierarchy", which draws sites one after another from coarse to fine, each given the
	// nearest drawn ones, and the last ones exactly. Its density is known (package categories).
	// Or it is "perceptron", the paper's: normal z ∈ R^Latent → hidden layers → a logit for each
	// state of each site, which takes the state of the largest (package perceptron).
	Kind       string `json:"kind" enum:"hierarchy,perceptron"`
	Neighbours int    `json:"neighbours" when:"kind=hierarchy"` // largest number of drawn sites that a site is drawn given
	Units      int    `json:"units" when:"kind=hierarchy"`      // number of hidden units of a site's networks

	Latent int     `json:"latent" when:"kind=perceptron"` // dimension of z
	Hidden []int   `json:"hidden" when:"kind=perceptron"` // widths of the hidden layers
	Slope  float64 `json:"slope" when:"kind=perceptron"`  // slope of LeakyReLU for negative values
	Gain   float64 `json:"gain" when:"kind=perceptron"`   // scale of the initial weights of the last layer
	// Width is the scale τ of the straight-through estimator, which takes states for softmax(h/τ).
	Width perceptron.WidthConfig `json:"width" when:"kind=perceptron"`
}

// LossConfig describes the loss.
type LossConfig struct {
	// Kind is "balance", how far a hierarchy violates detailed balance (engine.Balance). For a
	// perceptron it is "mmd", the paper's, or "discriminator", the learned loss of package critic,
	// which takes a site for a vector that is +1 in its state and −1 elsewhere.
	Kind string `json:"kind" enum:"balance,mmd,discriminator" only:"balance generator.kind=hierarchy; mmd,discriminator generator.kind=perceptron"`
	engine.Balancing
	Kernel        mmd.Kernel    `json:"kernel" when:"kind=mmd"`
	Statistic     mmd.Statistic `json:"statistic" when:"kind=mmd" enum:"V,U"` // Statistic of the MMD.
	Discriminator critic.Config `json:"discriminator" when:"kind=discriminator"`
}

// perceptron returns the configuration of the paper's generator.
func (c *Config) perceptron() *perceptron.Config {
	g, l := &c.Generator, &c.Loss
	return &perceptron.Config{
		Common: c.Common, Transition: c.Transition,
		Generator: perceptron.GeneratorConfig{
			Latent: g.Latent, Signs: perceptron.SignsConfig{Size: 1}, Hidden: g.Hidden, Slope: g.Slope, Gain: g.Gain, Head: "sign", Width: g.Width,
		},
		Loss: perceptron.LossConfig{Kind: l.Kind, Kernel: l.Kernel, Statistic: l.Statistic, Discriminator: l.Discriminator, Gradient: "surrogate"},
	}
}

const maxPairs = 1 << 18

// A graph holds the keys of a file.
type graph struct {
	Q      int          `json:"q"`
	Model  string       `json:"model" enum:"potts,clock"`
	Sites  int          `json:"sites"`
	States []int        `json:"states"`
	Edges  []spins.Edge `json:"edges"`
	Tables []Table      `json:"tables"`
	Fields [][]float64  `json:"fields"`
	Offset float64      `json:"offset"`
	Labels []string     `json:"labels"`
}

// Load implements engine.Loader.
func (c *Config) Load() error {
	t := &c.Target
	if t.File == "" {
		return nil
	}
	kept := t.SHA256 != "" && t.Sites > 0
	if t.SHA256 == "" && (t.Sites != 0 || t.L != 0 || len(t.States)+len(t.Edges)+len(t.Tables)+len(t.Fields)+len(t.Labels) > 0 || t.Offset != 0) {
		return fmt.Errorf("target.file: the energy stands in the configuration too; remove target.file, or target.l, sites, states, edges, tables, fields, offset and labels")
	}
	data, err := disk.Read(t.File, spins.MaxFile)
	if errors.Is(err, fs.ErrNotExist) && kept {
		return nil
	}
	if err != nil {
		return fmt.Errorf("target.file: %w", err)
	}
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	if t.SHA256 != "" && t.SHA256 != hash {
		return fmt.Errorf("target.sha256: %s has changed: its SHA-256 is %s; to take it as it is, remove target.sha256 and what was read; to go on without it, set target.file to nothing", t.File, hash)
	}
	g, err := parse(t.File, data)
	if err != nil {
		return fmt.Errorf("target.file: %w", err)
	}
	t.SHA256, t.Q, t.Model, t.Sites, t.States, t.Edges, t.Tables = hash, g.Q, g.Model, g.Sites, g.States, g.Edges, g.Tables
	t.Fields, t.Offset, t.Labels = g.Fields, g.Offset, g.Labels
	return nil
}

// pair returns the energies of a coupling between sites of q and r states.
func (t *TargetConfig) pair(q, r int, j float64) []float64 {
	if t.Model == "clock" {
		return categories.Clock(q, j)
	}
	table := make([]float64, q*r)
	for s := range min(q, r) {
		table[s*r+s] = -j
	}
	return table
}

// law returns the target in the form of package categories.
func (t *TargetConfig) law() (*categories.Target, error) {
	n := t.Sites
	if t.L > 0 {
		if n > 0 || len(t.States)+len(t.Edges)+len(t.Tables)+len(t.Labels) > 0 || t.File != "" {
			return nil, errors.New("l: a lattice and a graph stand side by side; set target.l to 0, or remove target.file, sites, states, edges, tables and labels")
		}
		n = t.L * t.L
	}
	if err := conf.Between("q", t.Q, 2, categories.MaxStates); err != nil {
		return nil, err
	}
	if n < 1 || n > categories.MaxSites {
		return nil, fmt.Errorf("sites: %d is not between 1 and %d; a target is a lattice, --set target.l=16, or a file, --set target.file=graph.json", n, categories.MaxSites)
	}
	law := &categories.Target{States: categories.Uniform(n, t.Q), Offset: t.Offset, Beta: t.Beta}
	if t.States != nil {
		if len(t.States) != n {
			return nil, fmt.Errorf("states: there are %d for %d sites", len(t.States), n)
		}
		for i, q := range t.States {
			if q < 2 || q > t.Q {
				return nil, fmt.Errorf("states[%d]: %d is not between 2 and target.q = %d", i, q, t.Q)
			}
			if t.Model == "clock" && q != t.Q && len(t.Edges) > 0 {
				return nil, fmt.Errorf("states[%d]: %d is not target.q = %d, and a clock's couplings need equal numbers of states; take tables", i, q, t.Q)
			}
		}
		law.States = t.States
	}
	if t.L > 0 {
		law.Pairs = categories.Lattice(t.L, t.pair(t.Q, t.Q, t.J))
	}
	joined := map[[2]int]bool{}
	// join checks that the pair of a key is new.
	join := func(key string, i, j int) error {
		switch {
		case i < 0 || i >= n || j < 0 || j >= n:
			return fmt.Errorf("%s: there are no two sites %d and %d; they are 0 to %d", key, i, j, n-1)
		case i == j:
			return fmt.Errorf("%s: joins site %d with itself", key, i)
		case joined[[2]int{min(i, j), max(i, j)}]:
			return fmt.Errorf("%s: sites %d and %d are joined twice", key, i, j)
		}
		joined[[2]int{min(i, j), max(i, j)}] = true
		return nil
	}
	type kind struct {
		q, r     int // numbers of states
		coupling float64
	}
	energies := map[kind][]float64{} // shared by edges of a kind
	for k, e := range t.Edges {
		if err := join(fmt.Sprintf("edges[%d]", k), e.I, e.J); err != nil {
			return nil, err
		}
		edge := kind{law.States[e.I], law.States[e.J], e.Coupling}
		if energies[edge] == nil {
			energies[edge] = t.pair(edge.q, edge.r, edge.coupling)
		}
		law.Pairs = append(law.Pairs, categories.Pair{I: e.I, J: e.J, Energy: energies[edge]})
	}
	for k, e := range t.Tables {
		key := fmt.Sprintf("tables[%d]", k)
		if err := join(key, e.I, e.J); err != nil {
			return nil, err
		}
		if len(e.Energy) != law.States[e.I] {
			return nil, fmt.Errorf("%s.energy: has %d rows for the %d states of site %d", key, len(e.Energy), law.States[e.I], e.I)
		}
		var flat []float64
		for s, row := range e.Energy {
			if len(row) != law.States[e.J] {
				return nil, fmt.Errorf("%s.energy[%d]: has %d numbers for the %d states of site %d", key, s, len(row), law.States[e.J], e.J)
			}
			flat = append(flat, row...)
		}
		law.Pairs = append(law.Pairs, categories.Pair{I: e.I, J: e.J, Energy: flat})
	}
	if len(law.Pairs) > maxPairs {
		return nil, fmt.Errorf("edges: %d pairs are more than %d", len(law.Pairs), maxPairs)
	}
	if t.Fields != nil && len(t.Fields) != 1 && len(t.Fields) != n {
		return nil, fmt.Errorf("fields: there are %d rows, not one or %d", len(t.Fields), n)
	}
	for i := range n {
		if t.Fields == nil {
			break
		}
		row := t.Fields[min(i, len(t.Fields)-1)]
		if len(row) != 0 && len(row) != law.States[i] {
			return nil, fmt.Errorf("fields[%d]: has %d numbers for the %d states of site %d", min(i, len(t.Fields)-1), len(row), law.States[i], i)
		}
		law.Fields = append(law.Fields, lists.Map(row, func(h float64) float64 { return -h }))
	}
	if t.Labels != nil {
		names := map[string]bool{}
		for _, l := range t.Labels {
			names[l] = true
		}
		if len(t.Labels) != n || len(names) != n {
			return nil, fmt.Errorf("labels: there are %d different ones for %d sites", len(names), n)
		}
	}
	return law, law.Validate()
}

// Describe implements engine.Explainer.
func (c *Config) Describe() string {
	t := &c.Target
	law, err := t.law()
	if err != nil {
		return err.Error()
	}
	name := map[string]string{"potts": "Potts", "clock": "clock"}[t.Model]
	text := fmt.Sprintf("%d-state %s model, β = %v: ", t.Q, name, t.Beta)
	switch {
	case t.L > 0:
		text += fmt.Sprintf("periodic %d×%d lattice, J = %v", t.L, t.L, t.J)
	default:
		if t.File != "" {
			text = t.File + ": " + text
		}
		text += fmt.Sprintf("%d sites, %d edges", t.Sites, len(t.Edges))
		if len(t.Tables) > 0 {
			text += fmt.Sprintf(", %d tables", len(t.Tables))
		}
	}
	if law.Fields != nil {
		text += ", with fields"
	}
	if t.Model == "clock" {
		return text + "; E = −Σ J cos(2π(s_i − s_j)/q) − Σ h_i(s_i)"
	}
	return text + "; E = −Σ J δ(s_i, s_j) − Σ h_i(s_i)"
}

// Explain implements engine.Explainer.
func (c *Config) Explain() string {
	if c.Generator.Kind == "perceptron" {
		return c.perceptron().Drawing("categorical layer draws states")
	}
	return "a hierarchy of sites, from coarse to fine, " + c.Loss.Explain(c.Transition.Explain())
}

// side returns the side of a lattice whose sites share weights, 0 for other targets.
func (t *TargetConfig) side() int {
	if t.L%4 == 0 {
		return t.L
	}
	return 0
}

// Validate reports the first value that cannot be used, by its key.
func (c *Config) Validate() error {
	c = conf.Chosen(c)
	if err := conf.First(c.ValidateNames(Definition.Name, Presets), conf.Check(c), c.Common.Validate()); err != nil {
		return err
	}
	t := &c.Target
	if t.File != "" && t.Sites == 0 {
		return fmt.Errorf("target.file: %s has not been read; Load reads it", t.File)
	}
	if t.L == 1 {
		return errors.New("target.l: 1 site is no lattice; take 2 or more, or 0 for a graph")
	}
	law, err := t.law()
	if err != nil {
		return fmt.Errorf("target.%w", err)
	}
	if err := c.Transition.ValidateFor(categories.OneHot{Target: law}); err != nil {
		return err
	}
	if c.Generator.Kind == "perceptron" {
		p := c.perceptron()
		if err := conf.First(p.Generator.Validate(), p.Loss.Validate()); err != nil {
			return err
		}
		return engine.Afford(c.Demands()...)
	}
	minNeighbours := 1
	if t.side() > 0 {
		minNeighbours = hierarchy.MinNeighbours
	}
	if err := conf.First(
		conf.Between("generator.neighbours", c.Generator.Neighbours, minNeighbours, categories.MaxNeighbours(law, t.side())),
		conf.Between("generator.units", c.Generator.Units, 1, categories.MaxHidden(t.side())),
		hierarchy.Validate(&c.Training, c.Loss.Balancing)); err != nil {
		return err
	}
	return engine.Afford(c.Demands()...)
}

// Demands implements engine.Explainer.
func (c *Config) Demands() []engine.Demand {
	law, err := c.Target.law()
	if err != nil {
		return nil
	}
	if c.Generator.Kind == "perceptron" {
		return c.perceptron().Demands(categories.OneHot{Target: law}.Spins())
	}
	n := float64(law.N())
	params := n * float64((c.Generator.Neighbours+2)*c.Generator.Units) * float64(law.MaxQ())
	return append(categories.Demands(&c.Training, c.Loss.Balancing, law, math.Min(params, 1<<40)),
		engine.Demand{Key: "target.sites", Bytes: n * (1 << 12)})
}

var (
	_ engine.Adapter   = (*Config)(nil)
	_ engine.Loader    = (*Config)(nil)
	_ engine.Explainer = (*Config)(nil)
)
