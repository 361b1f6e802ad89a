package graph

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/engine/spins/perceptron"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// Config determines a run.
type Config struct {
	engine.Common
	Target     TargetConfig           `json:"target"`
	Transition spins.TransitionConfig `json:"transition"`
	Generator  GeneratorConfig        `json:"generator"`
	Loss       perceptron.LossConfig  `json:"loss"`
}

// TargetConfig names the distribution π(s) ∝ exp(−βE(s)) of spins s_i = ±1 with
// E(s) = −Σ_edges J_ij s_i s_j − Σ_i h_i s_i + offset.
type TargetConfig struct {
	Beta float64 `json:"beta" is:"not negative"` // inverse temperature β ≥ 0
	spins.Source
	// SHA256 is the hash of the file that was read, in hexadecimal. The keys from spins on hold its
	// content, so that the file is no longer needed. If it still exists, it must have this hash.
	SHA256 string       `json:"sha256"`
	Spins  int          `json:"spins"`  // number of spins; they are numbered from 0
	Edges  []spins.Edge `json:"edges"`  // [i, j, J], each pair of spins at most once; positive J is ferromagnetic
	Fields []float64    `json:"fields"` // h_0, h_1, …, or none
	Offset float64      `json:"offset"` // constant added to E
	Labels []string     `json:"labels"` // names of the spins, all different, or none
}

// GeneratorConfig describes G_θ.
type GeneratorConfig struct {
	// Kind is "hierarchy", which draws spins one after another, each given the nearest drawn ones,
	// and the last ones exactly. Its density is known (package hierarchy). Or it is "perceptron",
	// the paper's z ∈ R^Latent → hidden layers → n logits h → spins.
	Kind                       string `json:"kind" enum:"hierarchy,perceptron"`
	perceptron.GeneratorConfig `when:"kind=perceptron"`
	Neighbours                 int `json:"neighbours" when:"kind=hierarchy"` // largest number of drawn spins that a spin is drawn given
	// Inputs says which drawn spins a spin is drawn given: the "nearest", or the "reached" ones. A random walk from the
	// spin takes a bond with a probability proportional to tanh β|J|, until it comes to a drawn
	// spin. The spins at which it most probably ends are reached; the law of the spin does not
	// depend on spins at which no walk ends.
	Inputs string `json:"inputs" enum:"nearest,reached" when:"kind=hierarchy"`
	// Order is the order in which spins are drawn: "farthest", each as far as possible from the
	// drawn ones; or "swept", one beside the other, such that few drawn spins have neighbours that
	// are not drawn.
	Order string `json:"order" enum:"farthest,swept" when:"kind=hierarchy"`
	Units int    `json:"units" when:"kind=hierarchy"` // number of hidden units of a spin's perceptron; rounding up to a multiple of 16 costs nothing
}

// Limits that keep the time before the first step within minutes, and a configuration within the size
// that is read.
const (
	maxSpins = 1 << 15
	maxEdges = 1 << 18
)

// graph returns the graph of the configuration.
func (t *TargetConfig) graph() (*spins.Graph, error) {
	return spins.NewGraph(spins.Hamiltonian{Spins: t.Spins, Edges: t.Edges, Fields: t.Fields, Offset: t.Offset, Labels: t.Labels})
}

// Load implements engine.Loader.
func (c *Config) Load() error {
	t := &c.Target
	if t.File == "" {
		return nil
	}
	kept := t.SHA256 != "" && t.Spins > 0
	if t.SHA256 == "" && (t.Spins != 0 || len(t.Edges)+len(t.Fields)+len(t.Labels) > 0 || t.Offset != 0) {
		return fmt.Errorf("target.file: the energy stands in the configuration too; remove target.file, or target.spins, edges, fields, offset and labels")
	}
	r, err := t.Read()
	switch {
	case errors.Is(err, fs.ErrNotExist) && kept:
		return nil
	case err != nil:
		return fmt.Errorf("target.file: %w", err)
	case t.SHA256 != "" && t.SHA256 != r.SHA256:
		return fmt.Errorf("target.sha256: %s has changed: its SHA-256 is %s; to take it as it is, remove target.sha256 and what was read; to go on without it, set target.file to nothing", t.File, r.SHA256)
	}
	h := r.Graph.Hamiltonian()
	t.Source, t.SHA256 = r.Source, r.SHA256
	t.Spins, t.Edges, t.Fields, t.Offset, t.Labels = h.Spins, h.Edges, h.Fields, h.Offset, h.Labels
	return nil
}

// Describe implements engine.Explainer.
func (c *Config) Describe() string {
	g, err := c.Target.graph()
	if err != nil {
		return err.Error()
	}
	if c.Target.File != "" {
		if r, err := c.Target.Read(); err == nil {
			return r.String()
		}
	}
	return g.String()
}

// Validate reports the first value that cannot be used, by its key.
func (c *Config) Validate() error {
	c = conf.Chosen(c)
	if err := conf.First(c.ValidateNames(Definition.Name, Presets), conf.Check(c), c.Common.Validate()); err != nil {
		return err
	}
	t := &c.Target
	switch {
	case t.Spins == 0 && t.File == "":
		return errors.New("target.file: names no file, and target.spins and edges say nothing; a target is needed: revgen train glass.json, or --set target.file=glass.json")
	case t.Spins == 0:
		return fmt.Errorf("target.file: %s has not been read; Load reads it", t.File)
	case t.File == "" && (t.Format != "" || t.Sign != "" || t.Vartype != "") && t.SHA256 == "":
		return errors.New("target.format: goes with target.file, as do target.sign and target.vartype")
	}
	g, err := t.graph()
	if err != nil {
		return fmt.Errorf("target.%w", err)
	}
	if err := conf.Between("target.spins", t.Spins, 1, maxSpins); err != nil {
		return err
	}
	if len(t.Edges) > maxEdges {
		return fmt.Errorf("target.edges: %d are more than %d", len(t.Edges), maxEdges)
	}
	if err := g.CheckTemperature(t.Beta); err != nil {
		return fmt.Errorf("target.beta: %w", err)
	}
	if err := c.kind().ValidateChoices(spins.Boltzmann{Graph: g, Beta: t.Beta}); err != nil {
		return err
	}
	return engine.Afford(c.Demands()...)
}

// Moved implements conf.Mover.
func (*Config) Moved() map[string]string { return new(perceptron.Config).Moved() }

// Settled implements conf.Settler.
func (*Config) Settled() map[string]string { return new(perceptron.Config).Settled() }

// kind returns the kind of generator that the configuration chooses.
func (c *Config) kind() spins.Kind {
	if c.Generator.Kind == "perceptron" {
		return &perceptron.Config{Common: c.Common, Transition: c.Transition, Generator: c.Generator.GeneratorConfig, Loss: c.Loss}
	}
	g := &c.Generator
	return &hierarchy.Config{
		Training: &c.Training, Transition: &c.Transition, Loss: c.Loss.Balancing,
		Params:      float64(c.Target.Spins) * float64(g.Units*(g.Neighbours+2)+1),
		Description: "a hierarchy of spins",
		Check: func() error {
			return conf.First(
				conf.Between("generator.neighbours", g.Neighbours, 1, hierarchy.MaxInputs),
				conf.Between("generator.units", g.Units, 1, hierarchy.MaxUnits))
		},
		Network: func(workers *pool.Pool) (*hierarchy.Model, error) {
			return hierarchy.NewGraph(hierarchy.Graph{Target: c.Target.law(), Neighbours: g.Neighbours, Inputs: g.Inputs, Order: g.Order, Hidden: g.Units}, workers)
		},
	}
}

// New builds the system.
func (c *Config) New(workers *pool.Pool) (engine.System, error) {
	c = conf.Chosen(c)
	e, err := newEvaluator(c, workers)
	if err != nil {
		return nil, err
	}
	built, err := c.kind().Build(spins.Boltzmann{Graph: e.graph, Beta: c.Target.Beta}, e.Ensemble, workers)
	switch s := built.(type) {
	case *perceptron.System:
		return &system{e, s}, nil
	case *hierarchy.System:
		return &hierarchical{e, s}, nil
	}
	return nil, err
}

// Demands implements engine.Explainer: it bounds the memory of a run. Everything else about the
// configuration must be valid.
func (c *Config) Demands() []engine.Demand {
	n, edges := float64(c.Target.Spins), float64(len(c.Target.Edges))
	// The reference needs the fields of all chains, and sums over spins and edges.
	return append(c.kind().Demands(c.Target.Spins),
		engine.Demand{Key: "target.spins", Bytes: max(64*spins.Lanes*8*n, spins.EnumerationBytes(c.Target.Spins))},
		engine.Demand{Key: "target.edges", Bytes: 8*spins.Lanes*edges + 200*edges})
}

// Explain implements engine.Explainer.
func (c *Config) Explain() string { return c.kind().Explain() }
