package ising

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/pool"
)

// TestLimits: each number of a configuration on both sides of its limits.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		preset string
		set    []string
		want   string
	}{
		{"paper", []string{"target.l=2"}, ""},
		{"paper", []string{"target.l=1"}, "target.l: 1 is not between 2 and 256"},
		{"paper", []string{"target.l=257"}, "target.l: 257 is not between 2 and 256"},
		{"paper", []string{"target.beta=-1"}, "target.beta: -1 is not a finite number ≥ 0"},
		{"paper", []string{"target.j=1e300"}, "target.j: 1e+300 "},
		{"paper", []string{"target.h=1e300"}, "target.h: 1e+300 "},
		{"paper", []string{"target.beta=1e9"}, "target.beta: β·E reaches "},
		{"paper", []string{"transition.global_flip=1.5"}, "transition.global_flip: "},
		{"paper", []string{"preset=worst"}, `preset: "worst" is not one of quick, paper, best`},
		{"best", []string{"target.l=4", "generator.neighbours=4", "generator.units=1"}, ""},
		{"best", []string{"target.l=4", "generator.neighbours=56", "generator.units=8"}, ""},
		{"best", []string{"target.l=4", "generator.neighbours=3"}, "generator.neighbours: 3 is not between 4 and 56"},
		{"best", []string{"target.l=4", "generator.neighbours=57"}, "generator.neighbours: 57 is not between 4 and 56"},
		{"best", []string{"target.l=4", "generator.units=0"}, "generator.units: 0 is not between 1 and 8"},
		{"best", []string{"target.l=4", "generator.units=9"}, "generator.units: 9 is not between 1 and 8"},
		{"best", []string{"target.l=8", "generator.from=half"}, ""},
		{"best", []string{"target.l=12", "generator.from=half"}, "generator.from: half of target.l = 12 is not a multiple of 4; set it to scratch"},
		{"best", []string{"target.l=31"}, ""},
		{"best", []string{"target.l=33"}, "generator.kind: a hierarchy's groups halve the lattice, so that target.l = 33 must be a multiple of 4, or at most 31; set it so, or generator.kind to perceptron with loss.kind mmd"},
		{"best", []string{"target.l=36"}, ""},
	} {
		cfg, err := Preset(c.preset)
		require.NoError(t, err)
		require.NoError(t, conf.Set(cfg, c.set...))
		switch err := cfg.Validate(); {
		case c.want == "":
			require.NoError(t, err, "%v", c.set)
		case strings.HasSuffix(c.want, " "):
			require.ErrorContains(t, err, c.want)
		default:
			require.EqualError(t, err, c.want)
		}
	}
	_, err := Preset("worst")
	require.EqualError(t, err, `preset: "worst" is not one of quick, paper, best`)

	cfg, err := Preset("best")
	require.NoError(t, err)
	cfg.Target = TargetConfig{L: 8, Beta: 0.25, J: -1}
	require.Equal(t, "Ising model on the periodic 8×8 lattice, J = -1, β = 0.25", cfg.Describe())
	cfg.Target.H = 0.5
	require.Equal(t, "Ising model on the periodic 8×8 lattice, J = -1, β = 0.25, in a field h = 0.5", cfg.Describe())
	require.Contains(t, cfg.Explain(), "a hierarchy of spins, from coarse to fine, trained by reversibility on its log density")
	for l, params := range map[int]float64{8: 64 * 64, 7: 49 * 8 * 4 * (28 + 2)} {
		cfg.Target.L = l
		h := cfg.hierarchy()
		require.Equal(t, params, h.Params)
		require.Equal(t, append(h.Demands(l*l), engine.Demand{Key: "target.l", Bytes: float64(8192 * l * l)}), cfg.Demands())
	}

	// Which recipes adapt to a side, and what they start from.
	for _, c := range []struct {
		preset string
		l      int
		why    string
	}{
		{"paper", 2, "the paper's method in "}, {"paper", 256, "the paper's method in "}, {"paper", 1, ""}, {"paper", 257, ""},
		{"quick", 31, "a hierarchy with a density for the 2^961 configurations of the 31×31 lattice"}, {"quick", 33, ""}, {"quick", 36, "a hierarchy with a density for the 2^1296 configurations of the 36×36 lattice"},
	} {
		cfg, err := Preset(c.preset)
		require.NoError(t, err)
		cfg.Target.L = c.l
		why, err := cfg.Adapt(context.Background())
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(why, c.why) && (why == "") == (c.why == ""), "%s of %v", why, c)
	}
	for l, want := range map[int][3]any{5: {3500, 0.01, 0.5}, 31: {20_000, 0.01, 0.5}, 8: {1500, 0.02, 0.0}} {
		cfg, err := Preset("best")
		require.NoError(t, err)
		cfg.Target = TargetConfig{L: l, Beta: 0.2, J: 1}
		_, err = cfg.Adapt(context.Background())
		require.NoError(t, err)
		require.Equal(t, want, [3]any{cfg.Training.Steps, cfg.Training.Optimizer.LearningRate, cfg.Transition.Anneal})
		cfg.Preset = "quick"
		_, err = cfg.Adapt(context.Background())
		require.NoError(t, err)
		require.Equal(t, want[0].(int)/3, cfg.Training.Steps)
		require.Equal(t, []int{12, 2}, []int{cfg.Generator.Neighbours, cfg.Generator.Units})
	}
}

// TestLogZ: counted of few rows, Kaufman's of more, and not known of frustrated lattices nor
// in a field.
func TestLogZ(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		l       int
		j, h    float64
		counted bool
		known   bool
	}{{4, 1, 0.3, true, true}, {7, -1, 0, true, true}, {9, 1, 0, false, true}, {10, -1, 0, false, true}, {9, -1, 0, false, false}, {10, 1, 0.1, false, false}} {
		target := mustTarget(t, c.l, c.j, c.h, 0.3)
		got, standardError, err := (&evaluator{target: target}).LogZ(ctx)
		require.NoError(t, err)
		require.Zero(t, standardError)
		switch {
		case c.counted:
			states, err := CountStates(c.l)
			require.NoError(t, err)
			require.Equal(t, states.Observables(target).LogZ, got)
		case c.known:
			k, err := Kaufman(c.l, c.j, 0.3)
			require.NoError(t, err)
			require.Equal(t, k.LogZ, got)
		default:
			require.True(t, math.IsNaN(got))
		}
	}
}

// TestSchedule: sweeps and measurements of the reference's runs, by the numbers of flips that they
// may take.
func TestSchedule(t *testing.T) {
	for _, c := range []struct {
		l    int
		h    float64
		want [3]int
	}{
		{9, 0, [3]int{243, 10, 1024}},  // every 81/8 sweeps
		{16, 0, [3]int{768, 32, 1024}}, // 2³³ flips are 1024 times 32 sweeps of 2¹⁸
		{32, 0, [3]int{3072, 128, 128}},
		{9, 0.1, [3]int{243, 10, 1024}},
		{16, 0.1, [3]int{768, 32, 1024}},
		{36, 0, [3]int{3236, 26, 128}}, // 2³² flips of 1296·1024 in a sweep
		{256, 0.1, [3]int{600, 5, 128}},
	} {
		model, err := bitspin.NewModel(c.l, 1, c.h)
		require.NoError(t, err)
		burn, between, measurements := schedule(model)
		require.Equal(t, c.want, [3]int{burn, between, measurements}, "%d at %v; %d replicas", c.l, c.h, bitspin.SweepBlock)
		require.Equal(t, fmt.Sprintf("%d heat-bath runs of %d sweeps", 2*bitspin.SweepBlock, burn+measurements*between), (&chainAverages{}).source(model))
	}
}

// TestObservablesSeen compares each with its definition, on lattices that have them.
func TestObservablesSeen(t *testing.T) {
	names := func(all string) []string { return strings.Fields(all) }
	for l, want := range map[int][]string{
		2: names("energy magnetisation abs_magnetisation"), 3: names("energy magnetisation abs_magnetisation"),
		4:  names("energy magnetisation abs_magnetisation abs_staggered_magnetisation correlation_half_side"),
		5:  names("energy magnetisation abs_magnetisation correlation_half_side"),
		32: names("energy magnetisation abs_magnetisation abs_staggered_magnetisation correlation_half_side"),
		33: names("energy magnetisation abs_magnetisation"), 34: names("energy magnetisation abs_magnetisation abs_staggered_magnetisation"),
	} {
		model, err := bitspin.NewModel(l, 1, 0)
		require.NoError(t, err)
		got, _ := observables(model)
		require.Equal(t, want, got, l)
	}
	r := rand.New(rand.NewPCG(3, 1))
	for _, l := range []int{2, 4, 5, 12, 33} {
		model, err := bitspin.NewModel(l, 1.5, 0.25)
		require.NoError(t, err)
		seen, observe := observables(model)
		const rows, stride = 3, 7
		var states []uint64
		for range rows {
			states = append(states, randomConfiguration(r, model.N)...)
		}
		values := make([]float64, rows*stride)
		observe(values, stride, states)
		for k := range rows {
			config := states[k*model.Words:][:model.Words]
			spin := func(row, column int) float64 { return spins.Spin(config, row%l*l+column%l) }
			var e, m, staggered, far float64
			for row := range l {
				for column := range l {
					e -= 1.5*spin(row, column)*(spin(row+1, column)+spin(row, column+1)) + 0.25*spin(row, column)
					m += spin(row, column) / float64(l*l)
					staggered += spin(row, column) * float64(1-2*((row+column)%2)) / float64(l*l)
					d := min(l/2, 16)
					far += spin(row, column) * (spin(row+d, column) + spin(row, column+d)) / float64(2*l*l)
				}
			}
			of := map[string]float64{"energy": e, "magnetisation": m, "abs_magnetisation": math.Abs(m), "abs_staggered_magnetisation": math.Abs(staggered), "correlation_half_side": far}
			for i, name := range seen {
				require.InDelta(t, of[name], values[k*stride+i], 1e-9, "%d: %s", l, name)
			}
			for i := len(seen); i < stride; i++ {
				require.Zero(t, values[k*stride+i])
			}
		}
	}
}

// TestPictures: what laws show in a field, of one value, and of what was drawn.
func TestPictures(t *testing.T) {
	for h, title := range map[float64]string{0: "Ising model, *L* = 3, *β* = 0.3", 0.5: "Ising model, *L* = 3, *β* = 0.3, *h* = 0.5"} {
		target := mustTarget(t, 3, 1, h, 0.3)
		workers := pool.New(1)
		r, err := newReference(context.Background(), target, workers)
		require.NoError(t, err)
		workers.Close()
		generated := newTally(target.Model)
		batch := []uint64{0, 0, 511, 7}
		generated.count(batch)
		f := illustrate(target, r, generated, 4)
		require.Equal(t, title, f.Title)
		require.Len(t, f.Rows, 2) // no correlations of so few rows
		m := f.Rows[0].Panels[0]
		require.Len(t, m.Layers, 2)
		require.Equal(t, "exact", m.Layers[0].Label)
		require.InDelta(t, 0.8*2/9, m.Layers[0].Width, 1e-12)
		require.InDeltaSlice(t, []float64{-1, -1.0 / 3, 1}, m.Layers[1].X, 1e-12)
		require.InDeltaSlice(t, []float64{0.5, 0.25, 0.25}, m.Layers[1].Y, 1e-12)
		p, err := target.Probabilities()
		require.NoError(t, err)
		states := f.Rows[1].Panels[0]
		require.Len(t, states.Layers[1].Y, 100)
		require.Equal(t, 100.5, states.X.Max)
		for i, x := range states.Layers[1].Y {
			above := 0
			for _, q := range p {
				if q > x {
					above++
				}
			}
			require.LessOrEqual(t, above, i)
		}
		require.Contains(t, states.Layers[2].Y, 0.5)
	}
	// A law of one value alone, without a reference.
	model, err := bitspin.NewModel(3, 1, 0)
	require.NoError(t, err)
	one := newJointLaw(model)
	one.add(18, 9, 1)
	panel := histogramPanel(&reference{}, one, 5, func(b, _ int) float64 { return float64(b) }, figure.Axis{}, figure.Axis{})
	require.Len(t, panel.Layers, 1)
	require.Equal(t, []float64{18}, panel.Layers[0].X)
	panel = histogramPanel(&reference{joint: one, label: "heat bath"}, one, 5, func(b, _ int) float64 { return float64(b) }, figure.Axis{}, figure.Axis{})
	require.Equal(t, 0.8, panel.Layers[0].Width)
	require.Equal(t, "heat bath", panel.Layers[0].Label)
}

// TestWarningsOfReferences: what of a reference is not exact, and what has none.
func TestWarningsOfReferences(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	ctx := context.Background()
	r, err := newReference(ctx, mustTarget(t, 40, 1, 0, 0.3), workers)
	require.NoError(t, err)
	exact, err := Kaufman(40, 1, 0.3)
	require.NoError(t, err)
	require.Equal(t, []string{"there is no reference of abs_magnetisation and susceptibility on lattices of more than 32 rows"}, r.warnings)
	require.Equal(t, [4]bool{energy: true, specificHeat: true}, r.known)
	for i, want := range [4]float64{energy: exact.Energy, specificHeat: exact.SpecificHeat} {
		require.Equal(t, want, r.observables[i].Value)
	}
	require.InDelta(t, math.Sqrt(exact.SpecificHeat)/0.3, r.observables[energy].deviation, 1e-12)
	require.InDelta(t, math.Sqrt2*exact.SpecificHeat, r.observables[specificHeat].deviation, 1e-12)
	require.Equal(t, "heat bath", r.label)
	require.Nil(t, r.collapse(newJointLaw(r.target.Model)), "of which nothing is known")

	r, err = newReference(ctx, mustTarget(t, 7, -1, 0, 200), workers)
	require.NoError(t, err)
	require.Nil(t, r.correlation)
	require.Equal(t, []string{"the correlations have no reference: the transfer matrix underflows so near zero temperature"}, r.warnings)

	for _, h := range []float64{0, 0.1} {
		r, err = newReference(ctx, mustTarget(t, 9, 1, h, 3), workers)
		require.NoError(t, err)
		require.Len(t, r.warnings, 1, "chains that are frozen in the ground state are in equilibrium")
		require.Contains(t, r.warnings[0], "no exact reference of ")
		require.GreaterOrEqual(t, r.observables[specificHeat].Value, 0.0)
		require.Positive(t, distanceFrom(0, []float64{1, 2}))
	}

	c := &reference{target: mustTarget(t, 9, 1, 0, 0.3)}
	c.observables[energy].Uncertainty, c.observables[susceptibility].Uncertainty = 0.123, 4.56e-3
	want := "energy ± 0.12, susceptibility ± 0.0046: they are compared with 1024 heat-bath runs of 10483 sweeps (± is the standard error)"
	require.Contains(t, c.describeInexact(&chainAverages{}), want)
	c.correlation = make([]estimate, 1)
	require.Contains(t, c.describeInexact(&chainAverages{}), "susceptibility ± 0.0046, correlation, energy_histogram: they are compared")
	c.target = mustTarget(t, 9, 1, 0.5, 0.3)
	require.Contains(t, c.describeInexact(&chainAverages{}), "bond_histogram")

	for name, paper := range map[string]map[float64]float64{
		"energy": {0.2: 0.0045, 0.5: 0.0101}, "abs_magnetisation": {0.2: 0.0028, 0.5: 0.007}, "specific_heat": {0.2: 0.0056, 0.5: 0.1529},
		"susceptibility": {0.2: 0.0047, 0.5: 0.177}, "total_variation": {0.2: 0.0331, 0.5: 0.0305},
	} {
		for beta, want := range paper {
			require.Equal(t, want, *paperErrors(mustTarget(t, 3, 1, 0, beta))[name])
		}
	}
	for _, other := range []Target{mustTarget(t, 4, 1, 0, 0.2), mustTarget(t, 3, 2, 0, 0.2), mustTarget(t, 3, 1, 1, 0.2)} {
		require.Nil(t, paperErrors(other))
	}
	require.Empty(t, paperErrors(mustTarget(t, 3, 1, 0, 0.3)))
}

// TestCollapseBounds: sectors that differ by more than a fifth, and ground states with more than
// half of what the target leaves them.
func TestCollapseBounds(t *testing.T) {
	model, err := bitspin.NewModel(3, 1, 0)
	require.NoError(t, err)
	// Of plus and minus ground states and an excited one with M < 0.
	law := func(plus, minus, rest float64) *jointLaw {
		p := newJointLaw(model)
		p.add(18, 9, plus)
		p.add(18, -9, minus)
		p.add(2, -1, rest)
		return p
	}
	const sector, ground = "one sector of the magnetisation prevails: P(M > 0) is ", "the generator has collapsed to its states of lowest energy: their weight is "
	for _, c := range []struct {
		target, got *jointLaw
		want        []string
	}{
		{law(0.25, 0.25, 0.5), law(0.25, 0.25, 0.5), nil},
		{law(0.25, 0.25, 0.5), law(0.4375, 0.0625, 0.5), nil},
		{law(0.25, 0.25, 0.5), law(0.46875, 0.03125, 0.5), []string{sector + "0.469 where the target has 0.250"}},
		{law(0.25, 0.25, 0.5), law(0.03125, 0.46875, 0.5), []string{sector + "0.031 where the target has 0.250"}},
		{law(0.25, 0.25, 0.5), law(0.375, 0.375, 0.25), nil},
		{law(0.25, 0.25, 0.5), law(0.375, 0.40625, 0.21875), []string{ground + "0.781 where the target has 0.500"}},
		{law(0.5, 0.484375, 0.015625), law(0.5, 0.5, 0), []string{ground + "1.000 where the target has 0.984"}},
		{law(0.5, 0.4921875, 0.0078125), law(0.5, 0.5, 0), nil},
		{law(0.5, 0, 0.5), law(0, 1, 0), []string{sector + "0.000 where the target has 0.500", ground + "1.000 where the target has 0.500"}},
	} {
		require.Equal(t, c.want, (&reference{joint: c.target}).collapse(c.got))
	}
	model, err = bitspin.NewModel(3, -1, 0.5)
	require.NoError(t, err)
	for i, want := range [4]float64{energy: 2.5 * 9, absMagnetisation: 1, specificHeat: 0.09 * 22.5 * 22.5, susceptibility: 0.3 * 9} {
		require.InDelta(t, want, largestMagnitudes(model, 0.3)[i], 1e-12)
	}
	require.Zero(t, meanLogarithm(5, 0))
	require.Zero(t, meanLogarithm(5, 1))
	require.Positive(t, meanLogarithm(5, 1e-9))
}

// TestSectionsOfTallies: which lattices are counted by configuration and by correlation.
func TestSectionsOfTallies(t *testing.T) {
	for l, want := range map[int][2]bool{4: {true, false}, 5: {false, false}, 6: {false, true}, 32: {false, true}, 33: {false, false}} {
		model, err := bitspin.NewModel(l, 1, 0)
		require.NoError(t, err)
		tally := newTally(model)
		require.Equal(t, want, [2]bool{tally.states != nil, tally.correlation != nil}, l)
		config := make([]uint64, model.Words)
		stream := rng.Stream(1, rng.Reference, 0)
		spins.Randomize(config, model.N, &stream, 3)
		tally.count(append(append([]uint64{}, config...), make([]uint64, model.Words)...))
		require.Len(t, tally.joint.sums, 2)
		ups := 0
		for _, x := range config {
			ups += bits.OnesCount64(x)
		}
		require.Equal(t, 2*ups-model.N, tally.joint.sums[0].magnetisation)
		require.Equal(t, sums{2 * model.N, -model.N}, tally.joint.sums[1])
	}
	for l, want := range map[int]int{2: 1, 3: 1, 8: 4, 32: 16, 33: 16, 40: 16} {
		require.Equal(t, want, axialDistances(l))
	}
}

// TestNew: what cannot be built says why.
func TestNew(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	for _, c := range []struct {
		preset string
		change func(c *Config)
		want   string
	}{
		{"quick", func(c *Config) { c.Training.Batch = 100 }, "training.batch: 100 is not a multiple of 64 up to 1048576"},
		{"quick", func(c *Config) { c.Target.L, c.Generator.Neighbours = 8, 57 }, "generator.neighbours: 57 is not between 4 and 56"},
		{"paper", func(c *Config) { c.Transition.Proposal = "all" }, `transition.global_flip: unknown proposal "all"; the proposals are mixture, single and multi-spin`},
		{"paper", func(c *Config) { c.Target.L = 1 }, "lattice side 1 is outside 2 to 1024"},
	} {
		config, err := Preset(c.preset)
		require.NoError(t, err)
		c.change(config)
		built, err := config.New(workers)
		require.EqualError(t, err, c.want)
		require.Nil(t, built)
	}
}
