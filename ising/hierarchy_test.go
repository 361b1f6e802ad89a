package ising

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// as builds the system of a configuration, of the type that its generator has.
func as[S any](t *testing.T, c *Config, workers *pool.Pool) S {
	t.Helper()
	s, err := c.New(workers)
	require.NoError(t, err)
	return any(s).(S)
}

// adapted is a preset with the recipe for its target, cut down.
func adapted(t testing.TB, preset string, target TargetConfig) *Config {
	t.Helper()
	c, err := Preset(preset)
	require.NoError(t, err)
	c.Target = target
	require.NotEmpty(t, adapt(t, c))
	require.NoError(t, c.Validate())
	return c
}

// TestHierarchyContract: a square, a lattice that is a graph, one in a field,
// and one that starts from half its size.
func TestHierarchyContract(t *testing.T) {
	long.SkipShort(t)
	for name, target := range map[string]TargetConfig{
		"4×4": {L: 4, Beta: 0.44, J: 1}, "6×6 in a field": {L: 6, Beta: 0.4, J: 1, H: 0.1},
		"8×8, antiferromagnet": {L: 8, Beta: 0.4, J: -1}, "32×32": {L: 32, Beta: 0.3, J: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := adapted(t, "quick", target)
			c.Training.Batch, c.Evaluation.Samples, c.Generator.Units = 128, 300, 1
			if target.L == 32 {
				// Evaluations and the predecessor's training take too long here.
				workers := pool.New(2)
				defer workers.Close()
				trainer, err := engine.NewTrainer(c, workers)
				require.NoError(t, err)
				require.NoError(t, trainer.Step())
				require.Zero(t, alloctest.PerRun(2, func() { require.NoError(t, trainer.Step()) }))
				return
			}
			systemtest.Run(t, c)
			if target.L == 8 { // by moves alone, and by partners alone
				c.Loss.Partners, c.Transition.Proposal, c.Transition.Steps = 0, "multi-spin", 2
				systemtest.Run(t, c)
				c.Loss.Partners = 1
				systemtest.Run(t, c)
			}
		})
	}
}

// TestHierarchyHasTheDensityOfItsSamples sums q over all configurations of 4×4
// spins, and compares the estimates by weights with enumeration.
func TestHierarchyHasTheDensityOfItsSamples(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	c := adapted(t, "quick", TargetConfig{L: 4, Beta: 0.6, J: 1, H: 0.1})
	s := as[*hierarchical](t, c, workers)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	for i := range params {
		params[i] *= 2 // far from the target
	}
	states, logQ := make([]uint64, 1<<16), make([]float64, 1<<16)
	for i := range states {
		states[i] = uint64(i)
	}
	s.Model().NewSampler(params, s.workers).R(logQ, states)
	var sum float64
	for i := range logQ {
		logQ[i] -= s.target.Beta * s.target.Energy(states[i:i+1])
		sum += math.Exp(logQ[i])
	}
	require.InDelta(t, 1, sum, 1e-5)

	e, err := s.Evaluate(context.Background(), params, 100_000)
	require.NoError(t, err)
	found := 0
	for _, m := range e.Metrics {
		switch m.Name {
		case "log_z":
			found++
			se := (m.Interval[1] - m.Interval[0]) / 2 / 1.96
			require.Less(t, m.Error, 5.5*se)
			require.Less(t, se, 0.05)
		case "kl_by_density":
			found++
			var kl float64
			target := s.target
			pi, err := target.Probabilities()
			require.NoError(t, err)
			for i, l := range logQ {
				kl += math.Exp(l) * (l - math.Log(pi[i]))
			}
			se := (m.Interval[1] - m.Interval[0]) / 2 / 1.96
			require.InDelta(t, kl, m.Generated, 5.5*se)
		case "effective_sample_size":
			found++
			require.True(t, m.Generated > 0 && m.Generated < 0.999, "%v", m.Generated)
			require.Less(t, m.Interval[0], m.Generated)
		}
	}
	require.Equal(t, 3, found)
}

// TestExactDrawsAtTheFloor: of a generator of 3×3 spins that has learnt nothing, the
// laws of samples and of exact draws over all configurations.
func TestExactDrawsAtTheFloor(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	c := adapted(t, "quick", TargetConfig{L: 4, Beta: 0.3, J: 1})
	c.Target.L = 3
	s := as[*hierarchical](t, c, workers)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	pi, err := s.target.Probabilities()
	require.NoError(t, err)
	stream, err := engine.NewStream(c, params, workers)
	require.NoError(t, err)
	bits, err := stream.Format("bits")
	require.NoError(t, err)
	exact, err := stream.Exact(bits)
	require.NoError(t, err)

	// Draws so far apart in a chain have forgotten each other.
	const n, apart = 1 << 15, 32
	draws := make([]byte, 8*n*apart)
	variation := func() (tv float64) {
		counts := make([]float64, len(pi))
		for i := 0; i < len(draws); i += 8 * apart {
			counts[binary.LittleEndian.Uint64(draws[i:])]++
		}
		for state, p := range pi {
			tv += 0.5 * math.Abs(counts[state]/n-p)
		}
		return tv
	}
	var floor float64
	for _, p := range pi {
		floor += 0.5 * stat.MeanAbsoluteDeviation(n, p)
	}
	// Exact samples exceed the floor by more with a probability of 10⁻⁶ (McDiarmid).
	bound := floor + math.Sqrt(math.Log(1e6)/2/n)
	require.NoError(t, stream.Fill(context.Background(), draws, bits, 0, 0))
	require.Greater(t, variation(), 3*bound, "the generator is to be poor")
	require.NoError(t, exact.Fill(context.Background(), draws, 0))
	require.Less(t, variation(), bound)
	x := exact.Exactness()
	require.True(t, x.Time > 1.2 && x.Time < apart/4, "autocorrelation time %v", x.Time)
	require.Empty(t, x.Warning)
}

// TestIntervalsCover: of 100 samples of the critical 8×8 lattice, by a generator that has
// hardly learnt and by one that has, the 95 % intervals by weights that hold Kaufman's
// ln Z, energy and specific heat. Fewer than 80 of 100 have a probability of 10⁻⁷.
func TestIntervalsCover(t *testing.T) {
	if testing.Short() {
		t.Skip("repeats for long what one evaluation does")
	}
	const repetitions, samples, least = 100, 4000, 80
	workers := pool.New(2)
	defer workers.Close()
	target := TargetConfig{L: 8, Beta: 0.4407, J: 1}
	k, err := Kaufman(target.L, target.J, target.Beta)
	require.NoError(t, err)
	for _, steps := range []int{60, 400} {
		c := adapted(t, "quick", target)
		c.Training.Steps, c.Evaluation.Samples = steps, 1000
		trainer, err := engine.NewTrainer(c, workers)
		require.NoError(t, err)
		for range steps {
			require.NoError(t, trainer.Step())
		}
		var raw, size float64
		within := map[string]int{}
		for seed := range uint64(repetitions) {
			c.Training.Seed = 1000 + seed
			s := as[*hierarchical](t, c, workers)
			e := &measure.Evaluation{Samples: samples, Metrics: []measure.Metric{
				{Name: "energy", Exact: k.Energy, Relative: true}, {Name: "specific_heat", Exact: k.SpecificHeat, Relative: true},
			}}
			require.NoError(t, s.Reweigh(context.Background(), trainer.Params(), e, k.LogZ, 0, s.absMagnetisation))
			require.True(t, e.Weights.Trusted(), e.Weights.Warning)
			size += e.Weights.EffectiveSize / repetitions
			for _, m := range e.Metrics {
				interval := m.Interval
				if m.Reweighted != nil {
					interval = m.Reweighted.Interval
				}
				if interval[0] <= m.Exact && m.Exact <= interval[1] {
					within[m.Name]++
				}
			}
			draws := make([]uint64, samples)
			s.NewDraws(trainer.Params()).Generate(draws, nil, 0)
			energies := make([]float64, samples)
			s.target.Energies(energies, draws)
			var mean stat.Mean
			for _, v := range energies {
				mean.Add(v)
			}
			if i := stat.Interval(mean.Value(), mean.StandardError()); i[0] <= k.Energy && k.Energy <= i[1] {
				raw++
			}
		}
		t.Logf("%d steps, effective size %.4f: of %d intervals %d hold ln Z, %d the energy, %d the specific heat; without weights %.0f the energy",
			steps, size, repetitions, within["log_z"], within["energy"], within["specific_heat"], raw)
		for _, name := range []string{"log_z", "energy", "specific_heat"} {
			require.GreaterOrEqual(t, within[name], least, name)
		}
		if steps == 60 {
			require.Less(t, raw, float64(least), "a generator that is good without weights")
		}
	}
}

// TestRecipesLearn: the recipes of small lattices reach the target in a moment,
// with fields and couplings of either sign.
func TestRecipesLearn(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for long")
	}
	workers := pool.New(2)
	defer workers.Close()
	for _, target := range []TargetConfig{
		{L: 4, Beta: 0.4407, J: 1}, {L: 4, Beta: 1, J: 1, H: 0.1}, {L: 8, Beta: 0.6, J: -1}, {L: 5, Beta: 0.4, J: 1},
	} {
		c := adapted(t, "quick", target)
		c.Training.Steps = min(c.Training.Steps, 400)
		c.Evaluation.Samples = 20_000
		result, err := run.Train(context.Background(), c, workers, run.Options{})
		require.NoError(t, err)
		for _, m := range result.Evaluation.Metrics {
			if m.Name == "effective_sample_size" {
				require.Greater(t, m.Generated, 0.95, "%+v", target)
			}
		}
	}
}

// TestPredecessor: a generator that starts from that of half the side begins
// near the target, and a run that is stopped on the way ends with the same bits.
func TestPredecessor(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	small := func() *Config {
		c := adapted(t, "quick", TargetConfig{L: 32, Beta: 0.2, J: 1})
		require.Equal(t, "half", c.Generator.From)
		c.Training.Steps, c.Training.Batch, c.Training.LogEvery, c.Evaluation.Samples = 3, 64, 1, 64
		return c
	}
	before := small().Predecessor().(*Config)
	require.Equal(t, 16, before.Target.L)
	require.Equal(t, "scratch", before.Generator.From)
	require.Nil(t, before.Predecessor())
	require.NoError(t, before.Validate())
}

// TestInherit starts a lattice from the weights of half its side.
func TestInherit(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	at := func(l int) (*hierarchical, []float32) {
		c := adapted(t, "quick", TargetConfig{L: l, Beta: 0.3, J: 1})
		s := as[*hierarchical](t, c, workers)
		params := make([]float32, s.NumParams())
		s.Initialize(params)
		return s, params
	}
	small, theirs := at(8)
	for i := range theirs {
		theirs[i] += 1
	}
	large, params := at(16)
	fresh := append([]float32(nil), params...)
	require.NoError(t, large.Inherit(params, small, theirs))
	require.NotEqual(t, fresh, params)
	c, err := Preset("paper")
	require.NoError(t, err)
	other := as[*system](t, c, workers)
	require.ErrorContains(t, large.Inherit(params, other, nil), "cannot start from a perceptron")
}

// adapt applies the recipe for the target and returns what it says.
func adapt(t testing.TB, c *Config) string {
	why, err := c.Adapt(t.Context())
	require.NoError(t, err)
	return why
}

func TestAdapt(t *testing.T) {
	c, err := Preset("paper")
	require.NoError(t, err)
	fewer := c.Training.Steps
	for _, target := range []TargetConfig{{L: 3, Beta: 0.44, J: 1}, {L: 3, Beta: 0.22, J: -2}, {L: 3, Beta: 0.4407, J: 1}, {L: 16, Beta: 0.2, J: 1}} {
		c.Target = target
		require.NotEmpty(t, adapt(t, c))
		require.Equal(t, target.Beta == 0.4407, c.Training.Steps > fewer, "more steps in the ordered phase: %+v", target)
		require.Less(t, c.Training.Schedule.Milestones[2], c.Training.Steps)
		require.NoError(t, c.Validate())
	}
	require.Equal(t, []float64{8}, c.Loss.Kernel.Bandwidths, "of the side")
	require.Equal(t, 1024, c.Transition.Steps)
	c.Target.L = 1
	require.Empty(t, adapt(t, c), "Validate says why")
	for _, name := range []string{"quick", "paper", "best"} {
		c, err := Preset(name)
		require.NoError(t, err)
		before := *c
		require.NotEmpty(t, adapt(t, c))
		require.Equal(t, before, *c, "as it is for the target that presets have")
	}
	for want, target := range map[string]TargetConfig{
		"a hierarchy with a density for the 2^9 configurations of the 3×3 lattice":         {L: 3, Beta: 0.3, J: 1},
		"a hierarchy with a density for the 2^65536 configurations of the 256×256 lattice": {L: 256, Beta: 0.3, J: 1},
	} {
		c, err := Preset("best")
		require.NoError(t, err)
		c.Target, c.Loss.Partners = target, 0.1
		require.Equal(t, want, adapt(t, c))
		for p := engine.Config(c); p != nil; p = p.(*Config).Predecessor() {
			require.Equal(t, 0.75, p.(*Config).Loss.Partners)
		}
	}
	sweeps := func(l int) (steps []int) {
		for p := engine.Config(adapted(t, "best", TargetConfig{L: l, Beta: 0.44, J: 1})); p != nil; p = p.(*Config).Predecessor() {
			steps = append(steps, p.(*Config).Transition.Steps)
		}
		return steps
	}
	require.Equal(t, []int{16, 8, 4, 2}, sweeps(128))
	require.Equal(t, []int{1}, sweeps(3))
}

// TestPapersLattices: every preset but the paper's own learns them to many digits.
func TestPapersLattices(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for long")
	}
	workers := pool.New(2)
	defer workers.Close()
	for _, preset := range []string{"quick", "best"} {
		for _, beta := range []float64{0.2, 0.5} {
			c := adapted(t, preset, TargetConfig{L: 3, Beta: beta, J: 1})
			c.Training.Steps, c.Evaluation.Samples = 1000, 20_000
			result, err := run.Train(t.Context(), c, workers, run.Options{})
			require.NoError(t, err)
			for _, m := range result.Evaluation.Metrics {
				switch m.Name {
				case "effective_sample_size":
					require.Less(t, m.Error, 1e-6, "%s, β = %v", preset, beta)
				case "total_variation":
					require.Less(t, m.Error, 1.5*m.Floor, "%s, β = %v", preset, beta)
				}
			}
		}
	}
}

func TestHierarchyRefusals(t *testing.T) {
	for key, change := range map[string]func(*Config){
		"loss.kind":            func(c *Config) { c.Loss.Kind = "mmd" },
		"loss.partners":        func(c *Config) { c.Loss.Partners = 1.5 },
		"training.method":      func(c *Config) { c.Training.Method = "evolution" },
		"training.batch":       func(c *Config) { c.Training.Batch = 100 },
		"generator.kind":       func(c *Config) { c.Target.L = 34 },
		"generator.neighbours": func(c *Config) { c.Generator.Neighbours = 3 },
		"generator.units":      func(c *Config) { c.Generator.Units = 9 },
		"generator.from":       func(c *Config) { c.Generator.From, c.Target.L = "half", 12 },
	} {
		c := adapted(t, "best", TargetConfig{L: 8, Beta: 0.3, J: 1})
		change(c)
		require.ErrorContains(t, c.Validate(), key+":", key)
	}
	c, err := Preset("paper")
	require.NoError(t, err)
	c.Loss.Kind = "balance"
	require.ErrorContains(t, c.Validate(), "loss.kind: balance does not go with generator.kind, which is perceptron; set loss.kind to mmd or discriminator, or generator.kind to hierarchy")
}

// TestWeightedSamples: weights reweight a generator that is far off to the
// target.
func TestWeightedSamples(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	c := adapted(t, "quick", TargetConfig{L: 4, Beta: 0.3, J: 1})
	s := as[*hierarchical](t, c, workers)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	const n, row = 50_000, 16 + 8
	dst := make([]byte, n*row)
	require.NoError(t, s.Sample(dst, "weighted", params, 0, n, 0))
	plain := make([]byte, n*16)
	require.NoError(t, s.Sample(plain, "spins", params, 0, n, 0))
	target := s.target
	var weights, energies, uncorrected float64
	state := make([]uint64, 1)
	for i := range n {
		require.Equal(t, plain[i*16:(i+1)*16], dst[i*row:i*row+16])
		state[0] = 0
		for j, b := range dst[i*row : i*row+16] {
			if int8(b) > 0 {
				state[0] |= 1 << j
			}
		}
		w := math.Exp(math.Float64frombits(binary.LittleEndian.Uint64(dst[i*row+16:])))
		weights += w / n
		energies += w * s.target.Energy(state) / n
		uncorrected += s.target.Energy(state) / n
	}
	g, err := CountStates(4)
	require.NoError(t, err)
	exact := g.Observables(target)
	require.InEpsilon(t, math.Exp(exact.LogZ), weights, 0.05)
	require.InDelta(t, exact.Energy, energies/weights, 0.3)
	require.Greater(t, math.Abs(exact.Energy-uncorrected), 1.0)
}
