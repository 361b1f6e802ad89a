package potts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/categories"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// TestLaws changes one thing of a graph and of a lattice that can be used.
func TestLaws(t *testing.T) {
	const apart = "l: a lattice and a graph stand side by side; set target.l to 0, or remove target.file, sites, states, edges, tables and labels"
	square := [][]float64{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}}
	graph := func() *TargetConfig {
		return &TargetConfig{Beta: 1, Q: 3, Model: "potts", Sites: 3, Edges: []spins.Edge{{I: 0, J: 1, Coupling: 1}}}
	}
	for _, c := range []struct {
		change func(*TargetConfig)
		want   string // "" where it stays usable
	}{
		{func(*TargetConfig) {}, ""},
		{func(t *TargetConfig) { t.Q = 16 }, ""},
		{func(t *TargetConfig) { t.Q = 17 }, "q: 17 is not between 2 and 16"},
		{func(t *TargetConfig) { t.Q = 2 }, ""},
		{func(t *TargetConfig) { t.Q = 1 }, "q: 1 is not between 2 and 16"},
		{func(t *TargetConfig) { t.Sites = 0 }, "sites: 0 is not between 1 and 32768; a target is a lattice, --set target.l=16, or a file, --set target.file=graph.json"},
		{func(t *TargetConfig) { t.Sites, t.Edges = 1, nil }, ""},
		{func(t *TargetConfig) { t.Sites = 1 << 15 }, ""},
		{func(t *TargetConfig) { t.Sites = 1<<15 + 1 }, "sites: 32769 is not between 1 and 32768; a target is a lattice, --set target.l=16, or a file, --set target.file=graph.json"},
		{func(t *TargetConfig) { t.States = []int{2, 3} }, "states: there are 2 for 3 sites"},
		{func(t *TargetConfig) { t.States = []int{2, 3, 3} }, ""},
		{func(t *TargetConfig) { t.States = []int{2, 3, 4} }, "states[2]: 4 is not between 2 and target.q = 3"},
		{func(t *TargetConfig) { t.States = []int{2, 1, 3} }, "states[1]: 1 is not between 2 and target.q = 3"},
		{func(t *TargetConfig) { t.Model, t.States = "clock", []int{3, 3, 3} }, ""},
		{func(t *TargetConfig) { t.Model, t.States, t.Edges = "clock", []int{2, 3, 3}, nil }, ""},
		{func(t *TargetConfig) { t.Model, t.States = "clock", []int{3, 3, 2} }, "states[2]: 2 is not target.q = 3, and a clock's couplings need equal numbers of states; take tables"},
		{func(t *TargetConfig) { t.Edges[0].I = -1 }, "edges[0]: there are no two sites -1 and 1; they are 0 to 2"},
		{func(t *TargetConfig) { t.Edges[0].I = 3 }, "edges[0]: there are no two sites 3 and 1; they are 0 to 2"},
		{func(t *TargetConfig) { t.Edges[0].J = -1 }, "edges[0]: there are no two sites 0 and -1; they are 0 to 2"},
		{func(t *TargetConfig) { t.Edges[0].J = 3 }, "edges[0]: there are no two sites 0 and 3; they are 0 to 2"},
		{func(t *TargetConfig) { t.Edges[0].J = 0 }, "edges[0]: joins site 0 with itself"},
		{func(t *TargetConfig) { t.Edges = append(t.Edges, spins.Edge{I: 0, J: 2}, spins.Edge{I: 1, J: 0}) }, "edges[2]: sites 1 and 0 are joined twice"},
		{func(t *TargetConfig) { t.Tables = []Table{{I: 1, J: 0, Energy: square}} }, "tables[0]: sites 1 and 0 are joined twice"},
		{func(t *TargetConfig) { t.Tables = []Table{{I: 1, J: 2, Energy: square}} }, ""},
		{func(t *TargetConfig) { t.Tables = []Table{{I: 1, J: 2, Energy: square[1:]}} }, "tables[0].energy: has 2 rows for the 3 states of site 1"},
		{func(t *TargetConfig) {
			t.Tables = []Table{{I: 1, J: 2, Energy: [][]float64{{1, 2, 3}, {4, 5}, {6, 7, 8}}}}
		}, "tables[0].energy[1]: has 2 numbers for the 3 states of site 2"},
		{func(t *TargetConfig) { t.Fields = [][]float64{{1, 2, 3}} }, ""},
		{func(t *TargetConfig) { t.Fields = [][]float64{{1, 2, 3}, {}, nil} }, ""},
		{func(t *TargetConfig) { t.Fields = [][]float64{{1, 2, 3}, {}} }, "fields: there are 2 rows, not one or 3"},
		{func(t *TargetConfig) { t.Fields = [][]float64{{1, 2}} }, "fields[0]: has 2 numbers for the 3 states of site 0"},
		{func(t *TargetConfig) { t.States, t.Fields = []int{3, 3, 2}, [][]float64{{1, 2, 3}} }, "fields[0]: has 3 numbers for the 2 states of site 2"},
		{func(t *TargetConfig) { t.Fields = [][]float64{{}, {}, {1}} }, "fields[2]: has 1 numbers for the 3 states of site 2"},
		{func(t *TargetConfig) { t.Labels = []string{"a", "b", "c"} }, ""},
		{func(t *TargetConfig) { t.Labels = []string{"a", "b", "a"} }, "labels: there are 2 different ones for 3 sites"},
		{func(t *TargetConfig) { t.Labels = []string{"a", "b", "c", "c"} }, "labels: there are 3 different ones for 3 sites"},
		{func(t *TargetConfig) { t.Beta = -1 }, "beta: -1 is not a number from 0"},
		{func(t *TargetConfig) { *t = TargetConfig{Q: 2, Model: "potts", L: 181} }, ""},
		{func(t *TargetConfig) { *t = TargetConfig{Q: 2, Model: "potts", L: 182} }, "sites: 33124 is not between 1 and 32768; a target is a lattice, --set target.l=16, or a file, --set target.file=graph.json"},
		{func(t *TargetConfig) { *t = TargetConfig{Q: 2, L: 2, Sites: 4} }, apart},
		{func(t *TargetConfig) { *t = TargetConfig{Q: 2, L: 2, States: []int{2}} }, apart},
		{func(t *TargetConfig) { *t = TargetConfig{Q: 2, L: 2, Edges: []spins.Edge{{}}} }, apart},
		{func(t *TargetConfig) { *t = TargetConfig{Q: 2, L: 2, Tables: []Table{{}}} }, apart},
		{func(t *TargetConfig) { *t = TargetConfig{Q: 2, L: 2, Labels: []string{"a"}} }, apart},
		{func(t *TargetConfig) { *t = TargetConfig{Q: 2, L: 2, File: "f"} }, apart},
	} {
		target := graph()
		c.change(target)
		_, err := target.law()
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	}
	// Edges of one coupling share a table, which sites of other numbers of states do not.
	target := &TargetConfig{Q: 3, Model: "potts", Sites: 4, States: []int{3, 3, 3, 2}, Edges: []spins.Edge{{I: 0, J: 1, Coupling: 2}, {I: 1, J: 2, Coupling: 2}, {I: 2, J: 0, Coupling: 1}, {I: 0, J: 3, Coupling: 2}, {I: 3, J: 1, Coupling: 2}}}
	law, err := target.law()
	require.NoError(t, err)
	require.Same(t, &law.Pairs[0].Energy[0], &law.Pairs[1].Energy[0])
	require.NotSame(t, &law.Pairs[0].Energy[0], &law.Pairs[2].Energy[0])
	require.Equal(t, []float64{-2, 0, 0, -2, 0, 0}, law.Pairs[3].Energy)
	require.Equal(t, []float64{-2, 0, 0, 0, -2, 0}, law.Pairs[4].Energy)
}

// TestWords: what a configuration says of itself.
func TestWords(t *testing.T) {
	const potts, clock = "; E = −Σ J δ(s_i, s_j) − Σ h_i(s_i)", "; E = −Σ J cos(2π(s_i − s_j)/q) − Σ h_i(s_i)"
	edges := "target.edges=[[0,1,1],[1,2,-1],[2,0,1]]"
	for _, c := range []struct {
		set       []string
		say, road string
	}{
		{[]string{"target.l=3", "target.beta=0.5"}, "3-state Potts model, β = 0.5: periodic 3×3 lattice, J = 1" + potts,
			"each site of the graph has a network of its own; the states share them too; reference: the sum over all 19683 configurations"},
		{[]string{"target.l=4", "target.q=5", "target.beta=0.5", "target.model=clock"}, "5-state clock model, β = 0.5: periodic 4×4 lattice, J = 1" + clock,
			"the sites of the lattice share networks that have the symmetries of the square; the states of the circle share them too; reference: exact draws by sums site by site"},
		{[]string{"target.l=16", "target.beta=0.5"}, "3-state Potts model, β = 0.5: periodic 16×16 lattice, J = 1" + potts,
			"the sites of the lattice share networks that have the symmetries of the square; the states share them too; reference: chains of Swendsen and Wang"},
		{[]string{"target.l=16", "target.beta=0.5", "target.j=-1"}, "3-state Potts model, β = 0.5: periodic 16×16 lattice, J = -1" + potts,
			"the sites of the lattice share networks that have the symmetries of the square; the states share them too; reference: replica exchange of heat-bath chains"},
		{[]string{"target.l=0", "target.beta=0.5", "target.sites=3", edges, "target.fields=[[1,0,0]]"}, "3-state Potts model, β = 0.5: 3 sites, 3 edges, with fields" + potts,
			"each site of the graph has a network of its own; reference: the sum over all 27 configurations"},
		{[]string{"target.l=0", "target.beta=0.5", "target.sites=4", edges, `target.tables=[{"i":0,"j":3,"energy":[[1,0,0],[0,0,0],[0,0,0]]}]`}, "3-state Potts model, β = 0.5: 4 sites, 3 edges, 1 tables" + potts,
			"each site of the graph has a network of its own; reference: the sum over all 81 configurations"},
	} {
		cfg, err := Preset("quick")
		require.NoError(t, err)
		require.NoError(t, conf.Set(cfg, c.set...))
		require.Equal(t, c.say, cfg.Describe())
		why, err := cfg.Adapt(context.Background())
		require.NoError(t, err)
		require.Equal(t, c.road, why)
		require.Equal(t, "a hierarchy of sites, from coarse to fine, "+cfg.Loss.Explain(cfg.Transition.Explain()), cfg.Explain())
		cfg.Target.Q = 1
		require.Equal(t, "q: 1 is not between 2 and 16", cfg.Describe())
		why, err = cfg.Adapt(context.Background())
		require.NoError(t, err)
		require.Empty(t, why)
		require.Nil(t, cfg.Demands())
		_, err = cfg.New(nil)
		require.EqualError(t, err, "target.q: 1 is not between 2 and 16")
	}
	_, err := Preset("worst")
	require.EqualError(t, err, `preset: "worst" is not one of quick, paper, best`)
}

// TestLimits: each number of a configuration at its limits and beyond.
func TestLimits(t *testing.T) {
	graph := []string{"target.l=0", "target.sites=3", "target.edges=[[0,1,1]]"}
	for _, c := range []struct {
		set  []string
		want string
	}{
		{[]string{"target.l=128"}, ""},
		{[]string{"target.l=129"}, "target.l: 129 is not between 0 and 128"},
		{[]string{"target.l=-1"}, "target.l: -1 is not between 0 and 128"},
		{[]string{"target.l=1"}, "target.l: 1 site is no lattice; take 2 or more, or 0 for a graph"},
		{[]string{"target.l=2"}, ""},
		{[]string{"target.beta=0"}, ""},
		{[]string{"target.beta=-1"}, "target.beta: -1 is not a finite number ≥ 0"},
		{[]string{"generator.neighbours=4"}, ""},
		{[]string{"generator.neighbours=3"}, "generator.neighbours: 3 is not between 4 and 56"},
		{[]string{"generator.neighbours=56"}, ""},
		{[]string{"generator.neighbours=57"}, "generator.neighbours: 57 is not between 4 and 56"},
		{[]string{"generator.units=1"}, ""},
		{[]string{"generator.units=0"}, "generator.units: 0 is not between 1 and 8"},
		{[]string{"generator.units=8"}, ""},
		{[]string{"generator.units=9"}, "generator.units: 9 is not between 1 and 8"},
		{append(graph, "generator.neighbours=1", "generator.units=64"), ""},
		{append(graph, "generator.neighbours=0"), "generator.neighbours: 0 is not between 1 and 64"},
		{append(graph, "generator.neighbours=65"), "generator.neighbours: 65 is not between 1 and 64"},
		{append(graph, "generator.units=65"), "generator.units: 65 is not between 1 and 64"},
		{append(graph, "target.file=f"), ""},
		{[]string{"target.file=f"}, "target.file: f has not been read; Load reads it"},
		{[]string{"transition.steps=0"}, "transition.steps: 0 is not between 1 and 65536"},
		{[]string{"loss.partners=1.5"}, "loss.partners: 1.5 is not between 0 and 1"},
		{[]string{"target.model=xy"}, `target.model: "xy" is not one of potts, clock`},
		{[]string{"preset=worst"}, `preset: "worst" is not one of quick, paper, best`},
	} {
		cfg, err := Preset("quick")
		require.NoError(t, err)
		require.NoError(t, conf.Set(cfg, c.set...))
		if err := cfg.Validate(); c.want == "" {
			require.NoError(t, err, "%v", c.set)
		} else {
			require.EqualError(t, err, c.want)
		}
	}
	// Memory: of the batch, as package categories has it, and of the graph.
	cfg, err := Preset("quick")
	require.NoError(t, err)
	require.NoError(t, conf.Set(cfg, graph...))
	cfg.Generator.Neighbours, cfg.Generator.Units = 5, 6
	law, err := cfg.Target.law()
	require.NoError(t, err)
	require.Equal(t, append(categories.Demands(&cfg.Training, cfg.Loss.Balancing, law, 3*(5+2)*6*3), engine.Demand{Key: "target.sites", Bytes: 3 * 4096}), cfg.Demands())
}

// TestLoad: a file is read once; it may go, but not change.
func TestLoad(t *testing.T) {
	const text = `{"states": [2, 3], "edges": [[0, 1, 2]], "fields": [[1, 0], [0, 0, 1]], "offset": 1, "labels": ["a", "b"], "tables": []}`
	path := filepath.Join(t.TempDir(), "graph")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	sum := sha256.Sum256([]byte(text))
	hash := hex.EncodeToString(sum[:])
	for _, c := range []*TargetConfig{
		{Sites: 3}, {L: 3}, {States: []int{2}}, {Edges: []spins.Edge{{}}}, {Tables: []Table{{}}}, {Fields: [][]float64{{}}}, {Labels: []string{""}}, {Offset: 1},
	} {
		c.File = path
		require.EqualError(t, (&Config{Target: *c}).Load(), "target.file: the energy stands in the configuration too; remove target.file, or target.l, sites, states, edges, tables, fields, offset and labels")
	}
	require.NoError(t, (&Config{Target: TargetConfig{Sites: 3}}).Load())
	c := &Config{Target: TargetConfig{File: path, Beta: 0.5}}
	require.NoError(t, c.Load())
	want := TargetConfig{File: path, Beta: 0.5, SHA256: hash, Q: 3, Model: "potts", Sites: 2, States: []int{2, 3}, Edges: []spins.Edge{{I: 0, J: 1, Coupling: 2}},
		Tables: []Table{}, Fields: [][]float64{{1, 0}, {0, 0, 1}}, Offset: 1, Labels: []string{"a", "b"}}
	require.Equal(t, want, c.Target)
	require.Equal(t, path+": 3-state Potts model, β = 0.5: 2 sites, 1 edges, with fields; E = −Σ J δ(s_i, s_j) − Σ h_i(s_i)", c.Describe())
	require.NoError(t, c.Load())
	require.Equal(t, want, c.Target)
	require.NoError(t, os.WriteFile(path, []byte("# q=3\n0 1 1\n"), 0o600))
	require.ErrorContains(t, c.Load(), "target.sha256: "+path+" has changed: its SHA-256 is ")
	require.NoError(t, os.Remove(path))
	require.NoError(t, c.Load())
	require.Equal(t, want, c.Target)
	c.Target.Sites = 0
	require.ErrorContains(t, c.Load(), "target.file: ")
	c.Target.Sites, c.Target.SHA256, c.Target = 2, "", TargetConfig{File: path}
	require.ErrorIs(t, c.Load(), os.ErrNotExist)
}

// TestParse: both formats, word by word.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		want graph
	}{
		{"# q=3\n0 2 1.5\r\n\n # remark\n1 0 -1\n", graph{Q: 3, Model: "potts", Sites: 3, Edges: []spins.Edge{{I: 0, J: 2, Coupling: 1.5}, {I: 1, J: 0, Coupling: -1}}}},
		{" #\tq = 12 model=clock\n4 1 1", graph{Q: 12, Model: "clock", Sites: 5, Edges: []spins.Edge{{I: 4, J: 1, Coupling: 1}}}},
		{"\n{\"states\": [2, 5, 3]}", graph{Q: 5, Model: "potts", Sites: 3, States: []int{2, 5, 3}}},
		{`{"q": 3, "labels": ["a", "b"]}`, graph{Q: 3, Model: "potts", Sites: 2, Labels: []string{"a", "b"}}},
		{`{"q": 6, "sites": 2, "states": [2, 5]}`, graph{Q: 6, Model: "potts", Sites: 2, States: []int{2, 5}}},
	} {
		got, err := parse("f", []byte(c.text))
		require.NoError(t, err)
		require.Equal(t, &c.want, got)
		set, ok := recognise([]byte(c.text), "a \"file\"")
		require.True(t, ok)
		require.Equal(t, []string{"target.l=0", `target.file="a \"file\""`}, set)
	}
	for text, want := range map[string]string{
		"0 1 1\n":                 `f: is neither JSON nor begins with a line "# q=3", the number of states of the sites that lines "i j J" couple`,
		"# q=3\n\n0 1  \n":        `f:3: "0 1" where a line is "i j J", two numbers of sites and their coupling`,
		"# q=3\n0 -1 1\n":         `f:2: "-1" is not the number of a site`,
		"# q=3\n0 1 1e\n":         `f:2: "1e" is not a finite number`,
		"# q=3\n0 1 NaN\n":        `f:2: "NaN" is not a finite number`,
		"# q=3\n0 1 1\n2 2 1\n":   "f:3: site 2 is coupled to itself; an edge joins two sites",
		"# q=3 model=xy\n0 1 1\n": `f:1: model: "xy" is not one of potts, clock`,
		`{"q": 3,` + "\n" + `"sites": 2, "edges": [[0, 5, 1]]}`: "f:2:23: edges[0]: there are no two sites 0 and 5; they are 0 to 1",
		`{"q": 3, "sites": 2, "model": "xy"}`:                   `f:1:31: model: "xy" is not one of potts, clock`,
	} {
		_, err := parse("f", []byte(text))
		require.EqualError(t, err, want)
	}
	for _, text := range []string{"0 1 1", `{"system": "potts", "q": 3}`, `{"sites": 3}`, `{"q": 3`, "q=3\n0 1 1"} {
		_, ok := recognise([]byte(text), "f")
		require.False(t, ok, text)
	}
	require.InDelta(t, math.Log(1+math.Sqrt(3)), func() float64 { c, _ := Preset("best"); return c.Target.Beta }(), 1e-15)
}

// TestNew: what cannot be built says why.
func TestNew(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	for _, c := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) { c.Training.Batch = 100 }, "training.batch: 100 is not a multiple of 64 up to 1048576"},
		{func(c *Config) { c.Generator.Neighbours = 65 }, "generator.neighbours: 65 is not between 4 and 56"},
		{func(c *Config) { c.Transition.Proposal = "multi-spin" }, `transition.proposal: "multi-spin" is for spins; take single, mixture or sweep`},
		{func(c *Config) { c.Target.Beta = -1 }, "target.beta: -1 is not a number from 0"},
	} {
		config := configure(t, "target.l=4")
		c.change(config)
		built, err := config.New(workers)
		require.EqualError(t, err, c.want)
		require.Nil(t, built)
	}
}
