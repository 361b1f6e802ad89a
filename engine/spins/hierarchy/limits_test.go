package hierarchy

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/pool"
)

// TestRecipes: the settings for each kind of lattice.
func TestRecipes(t *testing.T) {
	type values struct {
		steps, batch int
		rate         float64
		sweeps       int
		anneals      bool
		half         bool
	}
	for _, c := range []struct {
		side int
		k    float64
		want values
	}{
		{8, 0.4, values{1500, 256, 0.02, 1, false, false}},
		{8, 0.6, values{1500, 256, 0.02, 1, true, false}},
		{12, 0.45, values{2500, 512, 0.014, 1, false, false}},
		{12, 0.4501, values{2500, 512, 0.014, 1, true, false}},
		{16, 0.5, values{2500, 256, 0.014, 2, true, false}},
		{20, 0.4, values{2500, 512, 0.014, 2, false, false}},
		{24, 0.6, values{1500, 256, 0.007, 3, true, true}},
		{32, 0.6, values{1000, 256, 0.007, 4, false, true}},
		{40, 0.4, values{1500, 256, 0.007, 5, false, true}},
		{44, 0.4, values{2500, 512, 0.014, 5, false, false}},
		{48, 0.4, values{1000, 256, 0.007, 6, false, true}},
		{80, 0.4, values{1000, 256, 0.007, 10, false, true}},
		{84, 0.6, values{1000, 512, 0.008, 10, true, false}},
		{88, 0.4, values{1000, 512, 0.008, 11, false, true}},
	} {
		for _, j := range []float64{1, -2} {
			got, half := Recipe(Square{Side: c.side, J: j, Beta: c.k / math.Abs(j)})
			want := Training{Steps: c.want.steps, Batch: c.want.batch, LearningRate: c.want.rate, Warmup: 20, Final: 0.01, Partners: 0.75, Sweeps: c.want.sweeps}
			if c.want.anneals {
				require.InDelta(t, 0.4/c.k, got.AnnealFrom, 1e-12)
				want.Anneal, want.AnnealFrom = 0.3, got.AnnealFrom
			}
			require.Equal(t, want, got, "side %d at %v", c.side, c.k)
			require.Equal(t, c.want.half, half)
		}
	}
	require.Equal(t, Training{Steps: 3080, Batch: 512, LearningRate: 0.013, Warmup: 20, Final: 0.01, Anneal: 0.5, Partners: 0.5, Sweeps: 1}, GraphTraining(Farthest, 2))

	training := Training{Steps: 9, Batch: 64, LearningRate: 0.5, Warmup: 3, Final: 0.25, Anneal: 0.1, AnnealFrom: 0.2, Partners: 0.75}
	for sweeps, want := range map[int]int{0: 1, 1: 1, 5: 5} {
		training.Sweeps = sweeps
		c := engine.Training{Seed: 11, ClipNorm: 1, EMA: 0.5, Methods: search.Methods{Method: "consensus"}}
		moves, b := spins.TransitionConfig{Proposal: "single", GlobalFlip: 0.5}, engine.Balancing{}
		training.Configure(&c, &moves, &b)
		require.Equal(t, engine.Training{
			Seed: 11, Steps: 9, Batch: 64, Methods: search.Methods{Method: "gradient"}, CheckpointEvery: 200, LogEvery: 10,
			Optimizer: optim.AdamW{LearningRate: 0.5, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-12}, Schedule: optim.Schedule{Kind: "cosine", Final: 0.25, Warmup: 3},
		}, c)
		require.Equal(t, spins.TransitionConfig{Proposal: spins.Sweeping, Steps: want, Anneal: 0.1, AnnealFrom: 0.2}, moves)
		require.Equal(t, 0.75, b.Partners)
	}

	// More than eight neighbours on average look at all that there is room for.
	ring := Target{Spins: 12, Beta: 1}
	for i := range 12 {
		for d := 1; d <= 4; d++ {
			ring.Bonds = append(ring.Bonds, Bond{I: i, J: (i + d) % 12, Coupling: 1})
		}
	}
	g, learned := GraphRecipe(ring)
	require.Equal(t, Graph{Target: ring, Neighbours: 24, Inputs: Reached, Order: Farthest, Hidden: 16}, g)
	workers := pool.New(1)
	defer workers.Close()
	m, err := NewGraph(g, workers)
	require.NoError(t, err)
	require.Equal(t, m.Learned(), learned)
	ring.Bonds = append(ring.Bonds, Bond{I: 0, J: 6, Coupling: 1})
	g, _ = GraphRecipe(ring)
	require.Equal(t, 64, g.Neighbours)
}

// TestLimits: each number of a network on both sides of its limits, and what is said beyond.
func TestLimits(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	for _, c := range []struct {
		side, neighbours, hidden int
		want                     string
	}{
		{4, 4, 1, ""}, {4, 56, 8, ""},
		{0, 4, 1, "side: 0 is not a multiple of 4 between 4 and 1024"}, {6, 4, 1, "side: 6 is not a multiple of 4 between 4 and 1024"}, {1028, 4, 1, "side: 1028 is not a multiple of 4 between 4 and 1024"},
		{4, 3, 1, "neighbours: 3 is not between 4 and 56"}, {4, 57, 1, "neighbours: 57 is not between 4 and 56"},
		{4, 4, 0, "hidden: 0 is not between 1 and 8"}, {4, 4, 9, "hidden: 9 is not between 1 and 8"},
	} {
		_, err := NewSquare(Square{Side: c.side, J: 1, Beta: 0.4, Neighbours: c.neighbours, Hidden: c.hidden})
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	}
	triangle := Target{Spins: 3, Beta: 1, Bonds: []Bond{{I: 0, J: 1, Coupling: 1}, {I: 1, J: 2, Coupling: 1}, {I: 2, J: 0, Coupling: 1}}}
	for _, c := range []struct {
		neighbours, hidden int
		inputs, want       string
	}{
		{1, 1, "", ""}, {64, 64, Nearest, ""}, {64, 64, Reached, ""},
		{0, 1, "", "neighbours: 0 is not between 1 and 64"}, {65, 1, "", "neighbours: 65 is not between 1 and 64"},
		{1, 0, "", "hidden: 0 is not between 1 and 64"}, {1, 65, "", "hidden: 65 is not between 1 and 64"},
		{1, 1, "all", `inputs: "all" is not nearest or reached`},
	} {
		_, err := NewGraph(Graph{Target: triangle, Neighbours: c.neighbours, Hidden: c.hidden, Inputs: c.inputs}, workers)
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	}
	for inputs, want := range map[int]int{0: 4, 12: 4, 13: 5, 64: 56} {
		require.Equal(t, want, NeighboursOf(inputs))
	}

	// Nets, whose images share vectors.
	images := func(n int) [][]int { return slices.Repeat([][]int{{0, 1, 2}}, n) }
	for _, c := range []struct {
		m, images, hidden int
		lanes             int
		want              string
	}{
		{3, 1, 16, 16, ""}, {3, 1, 17, 32, ""}, {3, 8, 8, 64, ""}, {3, 3, 5, 16, ""}, {64, 0, 64, 64, ""}, {0, 0, 5, 0, ""},
		{65, 0, 1, 0, "neighbours: 65 inputs are more than 64"},
		{3, 8, 9, 0, "hidden: 9 hidden units in 8 images are more than 64"},
		{3, 0, 65, 0, "hidden: 65 hidden units in 1 images are more than 64"},
	} {
		var of [][]int
		if c.images > 0 {
			of = images(c.images)
		}
		u, err := NewNet(c.m, of, c.hidden, true, true, 100)
		if c.want != "" {
			require.EqualError(t, err, c.want)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.lanes, u.lanes)
		require.Equal(t, (c.m+3)/4*4, u.padded)
		hidden := c.hidden
		if c.m == 0 {
			hidden = 0
		}
		require.Equal(t, []int{hidden, 100, hidden*(c.m+2) + 1}, []int{u.hidden, u.weights, u.Params()})
	}

	// What falls into no star, by whose fault.
	_, err := build(Target{Spins: 4, Bonds: []Bond{{I: 0, J: 1, Coupling: 1}, {I: 1, J: 2, Coupling: 1}, {I: 2, J: 3, Coupling: 1}}}, nil)
	require.EqualError(t, err, "hierarchy: exact sites 1 and 2 are both centres of stars")
	star := func(n int) (Target, []Layout) { // n learned spins around one that is exact
		all := Target{Spins: n + 1, Beta: 1}
		var layouts []Layout
		for i := range n {
			all.Bonds = append(all.Bonds, Bond{I: i, J: n, Coupling: 1})
			layouts = append(layouts, Layout{Name: fmt.Sprint(i), Sites: []int{i}, Inputs: [][]int{nil}, Hidden: 1})
		}
		return all, layouts
	}
	for n, want := range map[int]string{
		8: "", 9: "hierarchy: exact spin 9 has 9 neighbours, more than 8", 12: "hierarchy: exact spin 12 has 12 neighbours, more than 8",
		13: "hierarchy: the exact spins at 13 touch 13 learned spins, more than 12",
	} {
		_, err := build(star(n))
		if want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, want)
		}
	}

	m, err := NewSquare(Square{Side: 4, J: 1, Beta: 0.4, Neighbours: 4, Hidden: 1})
	require.NoError(t, err)
	require.Equal(t, "parameter -1", m.TensorName(-1))
	require.Equal(t, fmt.Sprintf("parameter %d", m.NumParams()), m.TensorName(m.NumParams()))
	for _, wrong := range [][2]int{{-64, 0}, {0, -64}, {63, 0}, {0, 65}, {sites.MaxBatch + 64, 0}} {
		_, err := m.NewBatch(wrong[0], wrong[1], 1, workers)
		require.EqualError(t, err, fmt.Sprintf("batch: %d is not a multiple of 64 up to 1048576", cmp.Or(wrong[0], wrong[1])))
	}
	b, err := m.NewBatch(128, 64, 1, workers)
	require.NoError(t, err)
	require.PanicsWithValue(t, "sites: configurations of 63 words, not of whole blocks of 64", func() { b.Complete(make([]uint64, 63)) })
	require.PanicsWithValue(t, "sites: configurations of 192 words, not of whole blocks of 64", func() { b.Complete(make([]uint64, 192)) })
	require.PanicsWithValue(t, "sites: R of 64 samples and 64 configurations, not 128 and 64", func() { b.R(make([]float64, 64), make([]float64, 64)) })
	require.PanicsWithValue(t, "sites: R of 128 samples and 128 configurations, not 128 and 64", func() { b.R(make([]float64, 128), make([]float64, 128)) })
	params := make([]float32, m.NumParams())
	require.PanicsWithValue(t, "sites: configurations of length 128, not 64", func() { b.ScoreAll(make([]uint64, 128)) })
	require.PanicsWithValue(t, "hierarchy: gradient of length 1, not "+fmt.Sprint(len(params)), func() { b.Backward(params[:1]) })
	require.PanicsWithValue(t, "hierarchy: coefficients of length 64, not 192", func() { b.Backward(params, make([]float64, 64)) })
	require.PanicsWithValue(t, "hierarchy: parameters of length 1, not "+fmt.Sprint(len(params)), func() { m.NewSampler(params[:1], workers) })
}

// TestScored: a batch scores given configurations as a sampler does, beside those that it draws.
func TestScored(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for name, m := range small(t) {
		params := wild(m, 3)
		b, err := m.NewBatch(64, 128, 1, workers)
		require.NoError(t, err)
		r := rand.New(rand.NewPCG(1, 1))
		configs := make([]uint64, 128)
		for i := range configs {
			configs[i] = r.Uint64() & (1<<m.Spins() - 1)
		}
		b.Workspace.SetParams(params)
		b.ScoreAll(configs)
		got, want := make([]float64, 128), make([]float64, 128)
		b.R(make([]float64, 64), got)
		m.NewSampler(params, workers).R(want, configs)
		require.InDeltaSlice(t, want, got, 1e-9, name)
	}
}

// TestInitialize: hidden weights are normal numbers of the unit's stream, and all else is 0.
func TestInitialize(t *testing.T) {
	m, err := NewSquare(Square{Side: 4, J: 1, Field: 0.1, Beta: 0.4, Neighbours: 4, Hidden: 3})
	require.NoError(t, err)
	params := slices.Repeat([]float32{7}, m.NumParams())
	m.Initialize(params, 5)
	at := 0
	for i := range m.Units {
		u := &m.Units[i]
		stream := rng.Stream(5, rng.Initialization, uint32(i))
		normals := make([]float32, (u.hidden*u.m+3)/4*4)
		asm.Normals(normals, &stream, 0)
		for k := range u.hidden * u.m {
			require.Equal(t, normals[k]*float32(0.7/math.Sqrt(float64(u.m))), params[at+k])
		}
		for k := u.hidden * u.m; k < u.Params(); k++ {
			require.Zero(t, params[at+k])
		}
		at += u.Params()
	}
	require.Equal(t, m.NumParams(), at)

	// What a sample takes: rows of tables by four inputs, vectors of hidden units, outputs.
	rows, vectors, outputs := m.Operations()
	var wantRows, wantVectors, wantOutputs int
	for i := range m.Units {
		if u := &m.Units[i]; u.m > 0 {
			v := (u.hidden*len(u.images) + 15) / 16 * len(u.Sites)
			wantRows, wantVectors, wantOutputs = wantRows+v*((u.m+3)/4), wantVectors+v, wantOutputs+len(u.Sites)
		}
	}
	require.Equal(t, []int{wantRows, wantVectors, wantOutputs}, []int{rows, vectors, outputs})
	require.Less(t, outputs, m.Learned())
}

// TestWords: those of spins are their blocks of the stream, drawn a few at a time.
func TestWords(t *testing.T) {
	stream := rng.Stream(3, rng.SampleHead, 1)
	for _, n := range []int{1, 7, 8, 9, 16, 21, math.MaxInt} {
		var w RandomWords
		w.Start(&stream, 5, n)
		for k := range uint64(min(n, 30)) {
			want := make([]uint32, block)
			asm.PhiloxBlocks(want, &stream, (5+k)*16)
			require.Equal(t, want, w.Next()[:], "%d of %d", k, n)
		}
	}
	for logit, want := range map[float64]uint32{0: 1 << 31, math.Inf(1): math.MaxUint32, math.Inf(-1): 0, math.Log(3): 3 << 30, -math.Log(3): 1 << 30} {
		require.InDelta(t, want, threshold(logit), 1)
	}
}

// TestSystems: what a configuration refuses, and which hierarchies start from which.
func TestSystems(t *testing.T) {
	good := engine.Training{Batch: sites.MaxBatch, Methods: search.ByGradient()}
	require.NoError(t, Validate(&good, engine.Balancing{Partners: 1}))
	require.EqualError(t, Validate(&good, engine.Balancing{Partners: 2}), "loss.partners: 2 is not between 0 and 1")
	for batch, want := range map[int]string{
		100:                 "training.batch: a hierarchy draws 64 samples at once; 100 is not a multiple of 64 up to 1048576",
		sites.MaxBatch + 64: "training.batch: a hierarchy draws 64 samples at once; 1048640 is not a multiple of 64 up to 1048576",
	} {
		bad := good
		bad.Batch = batch
		require.EqualError(t, Validate(&bad, engine.Balancing{}), want)
	}
	bad := good
	bad.Method = "evolution"
	require.EqualError(t, Validate(&bad, engine.Balancing{}), "training.method: a hierarchy is trained by the gradient; set it to gradient")

	graph, err := spins.NewGraph(spins.Hamiltonian{Spins: 16, Edges: []spins.Edge{{I: 0, J: 1, Coupling: 1}}})
	require.NoError(t, err)
	target := spins.Boltzmann{Graph: graph, Beta: 1}
	broken := fmt.Errorf("broken")
	c := func() *Config {
		return &Config{
			Training: &engine.Training{Batch: 128, Methods: search.ByGradient()}, Transition: &spins.TransitionConfig{Proposal: spins.Sweeping, Steps: 2},
			Loss: engine.Balancing{Partners: 0.5}, Check: func() error { return nil }, Params: 1000, Description: "a net",
			Network: func(*pool.Pool) (*Model, error) {
				return NewSquare(Square{Side: 4, J: 1, Beta: 0.4, Neighbours: 4, Hidden: 1})
			},
		}
	}
	workers := pool.New(1)
	defer workers.Close()
	require.NoError(t, c().ValidateChoices(target))
	for _, change := range []struct {
		of   func(c *Config)
		want string
	}{
		{func(c *Config) { c.Transition.Proposal = "multi-spin" }, `transition.proposal: "multi-spin" is for lattices; a graph takes single, mixture or sweep`},
		{func(c *Config) { c.Transition.Steps = 0 }, "transition.steps: 0 is not between 1 and 65536"},
		{func(c *Config) { c.Check = func() error { return broken } }, "broken"},
		{func(c *Config) { c.Training.Batch = 100 }, "training.batch: a hierarchy draws 64 samples at once; 100 is not a multiple of 64 up to 1048576"},
	} {
		config := c()
		change.of(config)
		require.EqualError(t, config.ValidateChoices(target), change.want)
	}
	for _, change := range []struct {
		of   func(c *Config)
		want string
	}{
		{func(c *Config) { c.Network = func(*pool.Pool) (*Model, error) { return nil, broken } }, "generator.broken"},
		{func(c *Config) { c.Training.Batch = 100 }, "training.batch: 100 is not a multiple of 64 up to 1048576"},
		{func(c *Config) { c.Transition.Proposal = "multi-spin" }, `transition.proposal: "multi-spin" is for lattices; a graph takes single, mixture or sweep`},
	} {
		config := c()
		change.of(config)
		_, err := config.Build(target, new(spins.Ensemble), workers)
		require.EqualError(t, err, change.want)
	}
	require.Equal(t, "a net, trained by reversibility on its log density; loss ½ E (R(s) − R(s′))² with R = ln q − ln π; pairs (s, s′): 50 % are 2 heat-bath sweeps apart, 50 % are independent samples", c().Explain())

	// A quarter of 128 samples and half a block, rounded up to two blocks, move.
	config := c()
	config.Loss.Partners = 0.75
	before := config.Training.Demands(1000)
	require.Equal(t, append(before, engine.Demand{Key: "training.batch", Bytes: (128+64+4096)*(10.0/8+40) + 64*(10.0/4+64)}), config.Demands(10))

	var e spins.Ensemble
	system, err := c().Build(target, &e, workers)
	require.NoError(t, err)
	require.NotNil(t, e.Draws)
	require.NotNil(t, e.Weigher)
	s := system.(*System)
	theirs, batch := wild(s.Model(), 4), make([]uint64, 128)
	e.Draws(theirs).Generate(batch, nil, 64)
	sampler, same := s.Model().NewSampler(theirs, workers), make([]uint64, 128)
	r, want := make([]float64, 128), make([]float64, 128)
	require.NoError(t, sampler.Sample(same, want, s.Seed, 64))
	require.Equal(t, same, batch)
	e.Weigher(theirs)(r, batch)
	sampler.R(want, batch)
	require.Equal(t, want, r)
	require.NotZero(t, r[0])
	params := make([]float32, s.NumParams())
	require.NoError(t, s.Inherit(params, s, wild(s.Model(), 2)))
	require.NotEqual(t, make([]float32, len(params)), params)
	require.EqualError(t, s.Inherit(params, nil, nil), "generator.kind: a hierarchy cannot start from a perceptron")
	other := c()
	other.Network = func(*pool.Pool) (*Model, error) {
		return NewSquare(Square{Side: 4, J: 1, Beta: 0.4, Neighbours: 4, Hidden: 2})
	}
	from, err := other.Build(target, &e, workers)
	require.NoError(t, err)
	less := s.Inherit(params, from, make([]float32, from.NumParams()))
	require.NoError(t, less, "the base fits")
	none := c()
	none.Network = func(*pool.Pool) (*Model, error) {
		return NewGraph(Graph{Target: Target{Spins: 3, Beta: 1, Bonds: []Bond{{I: 0, J: 1, Coupling: 1}, {I: 1, J: 2, Coupling: 1}, {I: 2, J: 0, Coupling: 1}}}, Neighbours: 3, Hidden: 2}, workers)
	}
	from, err = none.Build(target, &e, workers)
	require.NoError(t, err)
	require.EqualError(t, s.Inherit(params, from, make([]float32, from.NumParams())), fmt.Sprintf("generator: nothing of a hierarchy of %d parameters on 3 spins fits this one", from.NumParams()))
}
