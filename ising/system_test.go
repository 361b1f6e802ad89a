package ising

import (
	"context"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// small returns a preset cut down to run in milliseconds.
func small(t *testing.T, preset string) *Config {
	t.Helper()
	c, err := Preset(preset)
	require.NoError(t, err)
	c.Training.Batch, c.Training.Steps = 600, 4
	c.Generator.Hidden, c.Generator.Latent = []int{16, 16}, 5
	c.Training.Schedule.Milestones = nil
	return c
}

// mmdConfig is a small configuration of the maximum mean discrepancy with
// spins flipped one by one, a bernoulli head and the U-statistic.
func mmdConfig(t *testing.T) *Config {
	c := small(t, "quick")
	c.Loss.Kind, c.Loss.Average, c.Loss.RaoBlackwell = "mmd", "sampled", false
	c.Loss.Kernel.Bandwidths, c.Loss.Statistic = []float64{1.5}, mmd.U
	return c
}

func newTrainer(t *testing.T, c *Config, threads int) *engine.Trainer {
	t.Helper()
	workers := pool.New(threads)
	t.Cleanup(workers.Close)
	trainer, err := engine.NewTrainer(c, workers)
	require.NoError(t, err)
	return trainer
}

func TestPresetsAreValid(t *testing.T) {
	for _, name := range Presets {
		c, err := Preset(name)
		require.NoError(t, err)
		require.NoError(t, c.Validate())
		require.Equal(t, name, c.Preset)
	}
	_, err := Preset("fast")
	require.ErrorContains(t, err, "quick, paper, best")
}

// contractConfigs take every road from s to a gradient.
func contractConfigs(t *testing.T) map[string]*Config {
	all := map[string]*Config{}
	add := func(name, preset string, change func(c *Config)) {
		c := small(t, preset)
		c.Evaluation.Samples = 500
		c.Transition.Steps = min(c.Transition.Steps, 2) // each doubling is a product of 512×512 matrices
		change(c)
		all[name] = c
	}
	for _, preset := range Presets {
		add(preset, preset, func(*Config) {})
	}
	for _, symmetry := range symmetries {
		for _, head := range conf.Values(new(Config), "generator.head") {
			add("witness, "+symmetry+", "+head, "best", func(c *Config) {
				c.Generator.Symmetry, c.Generator.Head, c.Loss.Witness.Every = symmetry, head, 2
				c.Loss.RaoBlackwell = head == "bernoulli"
			})
		}
	}
	for _, objective := range []string{"mmd", "stationarity"} {
		for _, gradient := range conf.Values(new(Config), "loss.gradient") {
			add(objective+", "+gradient, "paper", func(c *Config) {
				c.Loss.Kind, c.Loss.Gradient, c.Generator.Head = objective, gradient, "bernoulli"
			})
		}
	}
	for _, gradient := range []string{"surrogate", "difference", "score"} {
		add("discriminator, "+gradient, "paper", func(c *Config) {
			c.Loss.Kind, c.Loss.Gradient, c.Generator.Head = "discriminator", gradient, "bernoulli"
			c.Loss.Discriminator.Hidden = []int{12}
		})
	}
	for _, gradient := range []string{"difference", "score"} {
		add("Walsh functions, "+gradient, "best", func(c *Config) {
			c.Loss.Average, c.Loss.RaoBlackwell, c.Loss.Gradient, c.Loss.Witness.Rank = "sampled", false, gradient, 40
		})
	}
	add("exact MMD, annealed", "quick", func(c *Config) { c.Loss.Kind = "mmd" })
	add("4×4", "best", func(c *Config) {
		c.Target.L, c.Transition.Proposal, c.Transition.Steps, c.Loss.Witness.Bandwidth = 4, "single", 1, 0
	})
	add("invariants", "best", func(c *Config) {
		c.Target.L, c.Generator.Symmetry = 4, "z2+lattice"
		c.Loss.Average, c.Loss.RaoBlackwell, c.Loss.Witness.Features = "sampled", false, "invariant"
	})
	for name, target := range map[string]TargetConfig{"sweeps": {L: 3, Beta: 0.3, J: 1}, "sweeps, 9×9": {L: 9, Beta: 0.4, J: 1, H: -0.1}} {
		add(name, "paper", func(c *Config) { c.Target, c.Transition.Proposal, c.Transition.Steps = target, sweeping, 2 })
	}
	// By counting, in a field, and beyond exact references.
	for name, target := range map[string]TargetConfig{
		"6×6": {L: 6, Beta: 0.4, J: 1}, "6×6 in a field": {L: 6, Beta: 0.4, J: -1, H: 0.3}, "9×9 in a field": {L: 9, Beta: 0.3, J: 1, H: 0.1},
	} {
		add(name, "paper", func(c *Config) { c.Target, c.Transition.Proposal = target, "single" })
	}
	add("learned signs, spread", "best", func(c *Config) {
		c.Generator.Signs.Number, c.Generator.Signs.Weights = 2, "learned"
		c.Generator.Head, c.Generator.Width.Unit, c.Generator.Width.Start, c.Generator.Width.Final = "sign", "spread", 0.3, 0.03
		c.Loss.RaoBlackwell = false
	})
	for _, method := range []string{"evolution", "consensus"} {
		add(method, "paper", func(c *Config) {
			c.Training.Method, c.Training.Evolution.Pairs, c.Training.Consensus.Particles = method, 2, 3
		})
	}
	return all
}

func TestContract(t *testing.T) {
	for name, c := range contractConfigs(t) {
		t.Run(name, func(t *testing.T) { systemtest.Run(t, c) })
	}
}

// TestFormats of the same samples say the same.
func TestFormats(t *testing.T) {
	trainer := newTrainer(t, small(t, "best"), 3)
	s := trainer.System().(*system)
	const n = 700
	whole, bits := make([]byte, n*9), make([]byte, n*8)
	require.NoError(t, s.Sample(whole, "spins", trainer.Params(), 1000, n, 2))
	require.NoError(t, s.Sample(bits, "bits", trainer.Params(), 1000, n, 2))
	for r := range n {
		for i := range 9 {
			up := bits[r*8+i/8] >> (i % 8) & 1
			require.Equal(t, int8(2*int(up)-1), int8(whole[r*9+i]))
		}
	}
}

// fixed is an objective whose ∂L/∂s is what grad holds already.
type fixed struct{ s *system }

func (f fixed) transition(uint32)          {}
func (f fixed) discrepancy(uint32) float64 { return 0 }
func (f fixed) headGradient(lo, hi int)    { f.s.straightThrough(lo, hi) }
func (f fixed) acceptance() float64        { return 0 }
func (f fixed) state() []engine.Section    { return nil }

// TestBackwardMatchesCentralDifferences keeps ∂L/∂s fixed at random numbers c.
// Straight-through then makes Backward the gradient of Σ c·tanh(h/τ), which
// is differentiated in float64.
func TestBackwardMatchesCentralDifferences(t *testing.T) {
	for i, head := range []string{"sign", "bernoulli", "sign", "bernoulli"} {
		c := small(t, "paper")
		c.Training.Batch = 300
		c.Generator.Head, c.Generator.Symmetry = head, symmetries[i]
		if head == "sign" {
			c.Generator.Width.Start, c.Generator.Width.Final = 0.7, 0.3
		}
		trainer := newTrainer(t, c, 2)
		s, net := trainer.System().(*system), trainer.System().(*system).generator.net
		params := trainer.Params()
		s.Generate(params, 1)
		r := rand.New(rand.NewPCG(5, 6))
		seeds := make([]float64, len(s.grad))
		for i := range s.grad {
			s.grad[i] = float32(r.NormFloat64())
			seeds[i] = float64(s.grad[i])
		}
		latent := make([]float64, len(s.activations[0]))
		for i, z := range s.activations[0] {
			latent[i] = float64(z)
		}
		grad := make([]float32, len(params))
		s.objective = fixed{s}
		s.Backward(params, grad)

		p := make([]float64, len(params))
		for i, v := range params {
			p[i] = float64(v)
		}
		objective := func() float64 {
			var sum float64
			for row := range c.Training.Batch {
				for d, h := range net.Forward64(p, latent[row*net.In():(row+1)*net.In()]) {
					e := s.moves[row]
					if e.flipped {
						h = -h
					}
					sum += seeds[row*9+destination(3, d, e)] * math.Tanh(h/s.width)
				}
			}
			return sum
		}
		for i := 0; i < len(p); i += 7 {
			const h = 1e-5
			keep := p[i]
			p[i] = keep + h
			up := objective()
			p[i] = keep - h
			down := objective()
			p[i] = keep
			want := (up - down) / (2 * h)
			require.InDelta(t, want, float64(grad[i]), 1e-4*(1+math.Abs(want)), "%s: parameter %d", head, i)
		}
	}
}

// TestDifferenceIsThatOfTheLoss flips single spins of a batch and computes the
// loss again.
func TestDifferenceIsThatOfTheLoss(t *testing.T) {
	c := mmdConfig(t)
	c.Training.Batch = 64
	trainer := newTrainer(t, c, 1)
	s := trainer.System().(*system)
	next := s.objective.(*pairObjective).next
	s.Generate(trainer.Params(), 1)
	s.Transition(1)
	naive := func() float64 {
		loss, _ := mmd.HammingNaive(s.spins, next, 64, 9, c.Loss.Kernel, mmd.Difference, mmd.U)
		return loss
	}
	base := naive()
	require.InDelta(t, base, s.Discrepancy(1), 1e-6)
	for _, i := range []int{0, 17, 63} {
		for d := range 9 {
			s.spins[i] ^= 1 << d
			flipped := naive()
			s.spins[i] ^= 1 << d
			require.InDelta(t, flipped-base, float64(s.grad[i*9+d]), 1e-6)
		}
	}
	g := append([]float32(nil), s.grad...)
	halveDifferences(g, s.spins, 9, 1)
	for i := range g {
		sign := float32(2*(s.spins[i/9]>>(i%9)&1)) - 1
		require.Equal(t, -sign*s.grad[i]/2, g[i])
	}
}

// TestWidthFollowsItsSchedule from its start to its final value, geometrically, in both
// units.
func TestWidthFollowsItsSchedule(t *testing.T) {
	for _, unit := range conf.Values(new(Config), "generator.width.unit") {
		c := small(t, "paper")
		c.Training.Steps = 10
		c.Generator.Width.Start, c.Generator.Width.Final, c.Generator.Width.Unit = 0.8, 0.05, unit
		require.NoError(t, c.Validate())
		trainer := newTrainer(t, c, 2)
		s := trainer.System().(*system)
		for _, at := range []struct {
			step uint32
			want float64
		}{{1, 0.8 * math.Pow(1.0/16, 0.1)}, {5, 0.2}, {10, 0.05}} {
			step, want := at.step, at.want
			s.Generate(trainer.Params(), step)
			if unit == "spread" {
				var sum, squares float64
				for _, h := range s.activations.Output() {
					sum += float64(h)
				}
				mean := sum / float64(len(s.grad))
				for _, h := range s.activations.Output() {
					squares += (float64(h) - mean) * (float64(h) - mean)
				}
				want *= math.Sqrt(squares / float64(len(s.grad)))
			}
			require.InEpsilon(t, want, s.width, 1e-9, "%s, step %d", unit, step)
		}
	}
}

func TestBernoulliHeadHasTheRightMean(t *testing.T) {
	c := small(t, "quick")
	c.Training.Batch = 1 << 14
	trainer := newTrainer(t, c, 2)
	s := trainer.System().(*system)
	s.Generate(trainer.Params(), 1)
	for d := range 9 {
		var up, expected, variance float64
		for r, spins := range s.spins {
			p := 1 / (1 + math.Exp(-2*float64(s.activations.Output()[r*9+d])))
			up += float64(spins >> d & 1)
			expected += p
			variance += p * (1 - p)
		}
		require.InDelta(t, expected, up, 6*math.Sqrt(variance), "spin %d", d)
	}
}

// TestSignsReplaceNormals wants the first components of z to be the signs of
// the normals that they would be otherwise, and the others as they were.
func TestSignsReplaceNormals(t *testing.T) {
	c := small(t, "quick")
	latent := func(signs int) []float32 {
		c.Generator.Signs.Number = signs
		trainer := newTrainer(t, c, 2)
		s := trainer.System().(*system)
		s.Generate(trainer.Params(), 1)
		return slices.Clone(s.activations[0])
	}
	normals, mixed := latent(0), latent(3)
	for i, x := range normals {
		if i%c.Generator.Latent < 3 {
			require.Equal(t, math.Copysign(c.Generator.Signs.Size, float64(x)), float64(mixed[i]))
		} else {
			require.Equal(t, x, mixed[i])
		}
	}
}

// TestThresholdGradient compares the gradient by the thresholds of two signs with
// how the mean of a function of the spins changes with them.
func TestThresholdGradient(t *testing.T) {
	c := small(t, "quick")
	c.Training.Batch = 1 << 16
	c.Generator.Signs.Number, c.Generator.Signs.Weights = 2, "learned"
	trainer := newTrainer(t, c, 2)
	s := trainer.System().(*system)
	params := slices.Clone(trainer.Params())
	thresholds := s.generator.thresholds(params)
	require.Len(t, thresholds, 2)
	require.Equal(t, "thresholds of signs", s.TensorName(len(params)-1))
	size := float32(c.Generator.Signs.Size)
	copy(thresholds, []float32{0.7 / size, -0.4 / size})
	values := make([]float32, c.Training.Batch)
	mean := func() (sum float64) {
		s.Generate(params, 1)
		for i, spins := range s.spins {
			values[i] = float32(bits.OnesCount64(spins&0x1f)) - 2
			sum += float64(values[i])
		}
		return sum / float64(len(values))
	}
	grad := make([]float32, 2)
	m := mean()
	for i := range values {
		values[i] -= float32(m)
	}
	s.generator.thresholdGradient(grad, thresholds, s.activations[0], values)
	var plus int
	for i := range values {
		if s.activations[0][i*c.Generator.Latent] > 0 {
			plus++
		}
	}
	require.InDelta(t, 0.758, float64(plus)/float64(len(values)), 0.01, "Φ(0.7)")
	for j := range grad {
		h := 0.1 / size
		at := thresholds[j]
		thresholds[j] = at + h
		above := mean()
		thresholds[j] = at - h
		below := mean()
		thresholds[j] = at
		require.Greater(t, math.Abs(above-below), 0.02)
		require.InEpsilon(t, (above-below)/float64(2*h), grad[j], 0.1)
	}
}

// TestThresholdsLearn trains the weight of a sign on a target whose sectors
// weigh differently, with every objective that gives samples a value.
func TestThresholdsLearn(t *testing.T) {
	for _, objective := range []string{"mmd", "stationarity", "kfd", "discriminator"} {
		c := roadConfig(t, objective, "sampled", "difference", "none")
		c.Generator.Signs.Number, c.Generator.Signs.Weights = 1, "learned"
		require.NoError(t, c.Validate())
		a, b := newTrainer(t, c, 1), newTrainer(t, c, 3)
		for range 3 {
			require.NoError(t, a.Step())
			require.NoError(t, b.Step())
		}
		require.Equal(t, a.Params(), b.Params())
		require.NotZero(t, a.System().(*system).generator.thresholds(a.Params())[0], objective)
		require.Zero(t, alloctest.PerRun(5, func() {
			if err := a.Step(); err != nil {
				panic(err)
			}
		}), objective)
	}
}

func TestEvaluateKnowsTheFloor(t *testing.T) {
	trainer := newTrainer(t, small(t, "paper"), 2)
	e, err := trainer.System().(engine.Evaluator).Evaluate(context.Background(), trainer.Params(), 200_000)
	require.NoError(t, err)
	require.Len(t, e.Metrics, 6)
	require.InDelta(t, 511.0/400_000, e.Metrics[5].Floor, 2e-5, "the divergence of exact samples is chi-square to first order")
	tv := e.Metrics[4]
	require.InDelta(t, 0.0179, tv.Floor, 5e-5, "the floor of 200 000 exact samples at β = 0.2")
	require.InDelta(t, 0.0331, *tv.Paper, 0)
	require.InDelta(t, -4.842892000871, e.Metrics[0].Exact, 1e-10)
	require.InDelta(t, 0.148598666041, e.Metrics[3].Exact, 1e-10)
}

// TestMetricsOfExactSamples feeds the metrics exact samples: every error is
// near its floor and inside its interval's reach.
func TestMetricsOfExactSamples(t *testing.T) {
	c := small(t, "paper")
	c.Target.Beta = 0.5
	trainer := newTrainer(t, c, 1)
	s := trainer.System().(*system)
	reference, err := newReference(context.Background(), Target{s.model, 0.5}, s.workers)
	require.NoError(t, err)
	const n = 200_000
	r := rand.New(rand.NewPCG(1, 1))
	got := newTally(s.model)
	for range n {
		u := r.Float64()
		state := 0
		for u > reference.states[state] && state < 511 {
			u -= reference.states[state]
			state++
		}
		got.count([]uint64{uint64(state)})
	}
	e := compare(reference, got, n)
	for _, m := range e.Metrics {
		require.Less(t, m.Error, 6*m.Floor, m.Name)
		require.Greater(t, m.Floor, 0.0)
		if m.Exact != 0 { // not a distance
			half := (m.Interval[1] - m.Interval[0]) / 2
			require.Less(t, math.Abs(m.Generated-m.Exact), 3*half, m.Name)
		}
	}
	// The normal approximation of each binomial count would give 0.00645.
	require.InDelta(t, 0.00632, e.Metrics[4].Floor, 1e-5)
	require.Empty(t, e.Warnings)

	up := newTally(s.model)
	up.count([]uint64{511, 511, 511, 255})
	require.Len(t, compare(reference, up, 4).Warnings, 1)
	ground := newTally(s.model)
	ground.count([]uint64{511, 0, 511, 0})
	require.Contains(t, compare(reference, ground, 4).Warnings[0], "collapsed")
}

// TestDeviationsAreThoseOfTheInfluence holds the standard deviations behind
// intervals and floors against how each observable changes when the law is mixed
// with a single state, by differences.
func TestDeviationsAreThoseOfTheInfluence(t *testing.T) {
	for _, target := range []Target{mustTarget(t, 3, 1, 0, 0.2), mustTarget(t, 3, 1, 0, 0.5), mustTarget(t, 4, -0.5, 0.3, 1.7)} {
		p, _ := mustEnumerate(t, target.L).distribution(target)
		got := p.moments(target.Beta)
		var want [4]float64
		for i, w := range p.weight {
			const step = 1e-6
			mixed := func(share float64) [4]float64 {
				q := newJoint(target.Model)
				for k, v := range p.weight {
					v *= 1 - share
					if k == i {
						v += share
					}
					q.add(p.sums[k].bonds, p.sums[k].magnetisation, v)
				}
				// Unlike p, q may have a negative weight, which each leaves out.
				return q.moments(target.Beta).value
			}
			above := mixed(step)
			for k := range want {
				influence := (above[k] - got.value[k]) / step
				want[k] += w * influence * influence
			}
		}
		for k, name := range observableNames {
			require.InEpsilon(t, math.Sqrt(want[k]), got.deviation[k], 1e-3, "%s, %+v", name, target)
		}
	}
}

// TestFloorsAndIntervalsOfTables draws tables of exact samples: the mean error of
// each observable is its floor, and the exact value lies in 95 % of its intervals,
// within 5 standard errors of 2,000 tables.
func TestFloorsAndIntervalsOfTables(t *testing.T) {
	const tables, n = 2000, 3000
	for _, target := range []Target{mustTarget(t, 3, 1, 0, 0.2), mustTarget(t, 4, 1, 0.1, 0.6)} {
		r, err := newReference(context.Background(), target, nil)
		require.NoError(t, err)
		var cumulative []float64
		var sum float64
		for _, w := range r.joint.weight {
			sum += w
			cumulative = append(cumulative, sum)
		}
		random := rand.New(rand.NewPCG(8, 9))
		var errs, squares, floors, covered [4]float64
		r.states = nil // the table of observables alone
		for range tables {
			drawn := newTally(target.Model)
			for range n {
				at, _ := slices.BinarySearch(cumulative, random.Float64()*sum)
				drawn.joint.add(r.joint.sums[at].bonds, r.joint.sums[at].magnetisation, 1)
			}
			for k, m := range compare(r, drawn, n).Metrics {
				errs[k] += m.Error
				squares[k] += m.Error * m.Error
				floors[k] = m.Floor
				if m.Interval[0] <= m.Exact && m.Exact <= m.Interval[1] {
					covered[k]++
				}
			}
		}
		for k, name := range observableNames {
			mean := errs[k] / tables
			se := math.Sqrt((squares[k]/tables - mean*mean) / tables)
			require.InDelta(t, floors[k], mean, 5*se+0.01*floors[k], name)
			require.InDelta(t, 0.95, covered[k]/tables, 5*math.Sqrt(0.95*0.05/tables)+0.005, name)
		}
	}
}

func TestMeanLogarithmIsTheSum(t *testing.T) {
	for _, c := range []struct {
		n int
		p float64
	}{{1, 0.3}, {2, 0.5}, {7, 0.01}, {40, 0.9}, {300, 0.2}} {
		var want float64
		for x := 1; x <= c.n; x++ {
			choose, _ := new(big.Float).SetInt(new(big.Int).Binomial(int64(c.n), int64(x))).Float64()
			weight := choose * math.Pow(c.p, float64(x)) * math.Pow(1-c.p, float64(c.n-x))
			mean := float64(c.n) * c.p
			want += weight * float64(x) / mean * math.Log(float64(x)/mean)
		}
		require.InEpsilon(t, want, meanLogarithm(c.n, c.p), 1e-10, "%v", c)
	}
	require.InEpsilon(t, 1/(2e6*1e-3), meanLogarithm(1e6, 1e-3), 1e-3, "many samples")
}

// kfdConfig is a small configuration of the least-squares witness.
func kfdConfig(t *testing.T, head, symmetry string, raoBlackwell bool) *Config {
	c := small(t, "quick")
	c.Loss.Kind, c.Loss.Average, c.Loss.Statistic = "kfd", "exact", mmd.V
	c.Generator.Head, c.Generator.Symmetry, c.Loss.RaoBlackwell = head, symmetry, raoBlackwell
	return c
}

func TestExactAverageOfMMDIsItsPopulationValue(t *testing.T) {
	c := mmdConfig(t)
	c.Loss.Average, c.Loss.Statistic = "exact", mmd.V
	trainer := newTrainer(t, c, 2)
	o := trainer.System().(*system).objective.(*enumeratedObjective)
	for _, level := range []int{annealLevels / 4, annealLevels} {
		o.f.anneal(c.annealed(level))
		target, err := NewTarget(3, 1, 0, c.annealed(level))
		require.NoError(t, err)
		pi, err := target.Probabilities()
		require.NoError(t, err)
		p := [2][]float32{narrow(pi), narrow(pi)}
		loss, ok := o.f.discrepancy(p, o.g)
		require.True(t, ok)
		require.InDelta(t, 0, loss, 1e-7, "the loss vanishes at the target")
		p[0][511], p[1][511] = p[0][511]+0.1, p[1][511]+0.1
		loss, _ = o.f.discrepancy(p, o.g)
		require.Greater(t, loss, 1e-4)
	}
}

// TestWitnessPointsAtTheLogRatio perturbs the target's law a little: the
// witness is then log(p/π) up to a constant.
func TestWitnessPointsAtTheLogRatio(t *testing.T) {
	c := kfdConfig(t, "sign", "none", false)
	c.Loss.Witness.Ridge = 1e-6
	trainer := newTrainer(t, c, 1)
	o := trainer.System().(*system).objective.(*enumeratedObjective)
	target, err := NewTarget(3, 1, 0, 0.2)
	require.NoError(t, err)
	pi, err := target.Probabilities()
	require.NoError(t, err)
	p, ratio := make([]float32, 512), make([]float64, 512)
	var z, mean float64
	for s := range p {
		ratio[s] = 0.02 * math.Sin(float64(s))
		p[s] = float32(pi[s] * math.Exp(ratio[s]))
		z += float64(p[s])
	}
	for s := range p {
		p[s] /= float32(z)
	}
	loss, ok := o.f.discrepancy([2][]float32{p, p}, o.g)
	require.True(t, ok)
	require.Positive(t, loss)
	for s := range p {
		mean += pi[s] * (float64(o.g[0][s]) - ratio[s])
	}
	var off, size float64
	for s := range p {
		off += pi[s] * math.Pow(float64(o.g[0][s])-ratio[s]-mean, 2)
		size += pi[s] * ratio[s] * ratio[s]
	}
	require.Less(t, off, 1e-2*size, "up to what the ridge takes away")
}

// TestSymmetryBalancesTheSectors draws from an untrained generator, whose
// samples have no symmetry of their own.
func TestSymmetryBalancesTheSectors(t *testing.T) {
	c := small(t, "paper")
	c.Generator.Symmetry = "z2"
	trainer := newTrainer(t, c, 2)
	net := trainer.System().(*system).generator.net
	for i := range 9 {
		net.Biases(trainer.Params(), net.Layers()-1)[i] = 3
	}
	const n = 10000
	spins := make([]byte, n*9)
	require.NoError(t, trainer.System().(engine.Sampler).Sample(spins, "spins", trainer.Params(), 0, n, 0))
	up := 0
	for r := range n {
		for i := range 9 {
			require.Equal(t, spins[r*9], spins[r*9+i])
		}
		if int8(spins[r*9]) > 0 {
			up++
		}
	}
	require.InDelta(t, n/2, up, 6*math.Sqrt(n)/2)
	require.NoError(t, trainer.Step())
	require.NoError(t, trainer.Step())
}

func TestValidateRefusesWhatDoesNotCompose(t *testing.T) {
	for key, change := range map[string]func(*Config){
		"system":                    func(c *Config) { c.System = "gmm" },
		"target.l":                  func(c *Config) { c.Target.L = 1 },
		"target.beta":               func(c *Config) { c.Target.Beta = math.NaN() },
		"target.j":                  func(c *Config) { c.Target.J = math.Inf(1) },
		"target.h":                  func(c *Config) { c.Target.H = math.NaN() },
		"transition.steps":          func(c *Config) { c.Transition.Steps = 0 },
		"transition.proposal":       func(c *Config) { c.Transition.Proposal = "cluster" },
		"transition.global_flip":    func(c *Config) { c.Transition.Proposal, c.Transition.GlobalFlip = "mixture", 1.5 },
		"transition.anneal":         func(c *Config) { c.Transition.Anneal = 1.5 },
		"generator.latent":          func(c *Config) { c.Generator.Latent = 0 },
		"generator.hidden[1]":       func(c *Config) { c.Generator.Hidden = []int{4, 0} },
		"generator.signs.number":    func(c *Config) { c.Generator.Signs.Number = c.Generator.Latent + 1 },
		"generator.slope":           func(c *Config) { c.Generator.Slope = 0 },
		"generator.gain":            func(c *Config) { c.Generator.Gain = -1 },
		"generator.head":            func(c *Config) { c.Generator.Head = "softmax" },
		"generator.width.start":     func(c *Config) { c.Generator.Head, c.Generator.Width.Start = "sign", -2 },
		"generator.width.final":     func(c *Config) { c.Generator.Head, c.Generator.Width.Final = "sign", 0 },
		"generator.width.unit":      func(c *Config) { c.Generator.Head, c.Generator.Width.Unit = "sign", "cm" },
		"generator.symmetry":        func(c *Config) { c.Generator.Symmetry, c.Target.H = "z2", 0.1 },
		"loss.kernel.bandwidths[0]": func(c *Config) { c.Loss.Kernel.Bandwidths = []float64{-1} },
		"loss.gradient":             func(c *Config) { c.Loss.Gradient = "half" },
		"loss.kind":                 func(c *Config) { c.Loss.Kind = "gan" },
		"loss.witness.features":     func(c *Config) { c.Loss.Kind, c.Target.L = "kfd", 9 },
		"loss.witness.rank":         func(c *Config) { c.Loss.Kind, c.Loss.Witness.Rank = "kfd", 0 },
		"loss.witness.bandwidth": func(c *Config) {
			c.Target.L, c.Generator.Symmetry = 4, "lattice"
			c.Loss.Kind, c.Loss.Average, c.Loss.Statistic = "kfd", "exact", mmd.V
		},
		"loss.average": func(c *Config) { c.Loss.Average, c.Loss.Gradient, c.Target.L = "exact", "difference", 4 },
		"loss.kernel":  func(c *Config) { c.Loss.Average = "exact" },
		"loss.rao_blackwell": func(c *Config) {
			c.Loss.Average, c.Loss.Statistic, c.Loss.RaoBlackwell, c.Generator.Head = "exact", mmd.V, true, "sign"
		},
		"training.batch": func(c *Config) { c.Training.Batch = 0 },
	} {
		c := mmdConfig(t)
		require.NoError(t, c.Validate())
		change(c)
		require.ErrorContains(t, c.Validate(), key+":", key)
	}
	c := small(t, "best")
	c.Transition.Proposal = sweeping
	require.ErrorContains(t, c.Validate(), "loss.average: exact averages over Metropolis steps")
}

// TestWalshGradientIsTheDifferenceOfTheWitness recomputes the witness from its
// definition and flips single spins.
func TestWalshGradientIsTheDifferenceOfTheWitness(t *testing.T) {
	for _, symmetry := range symmetries {
		c := kfdConfig(t, "sign", symmetry, false)
		c.Target.L, c.Loss.Average, c.Loss.Witness.Rank = 4, "sampled", 150
		c.Training.Batch = 601
		trainer := newTrainer(t, c, 2)
		s := trainer.System().(*system)
		o := s.objective.(*walshObjective)
		s.Generate(trainer.Params(), 1)
		s.Transition(1)
		loss := s.Discrepancy(1)
		logits := slices.Clone(s.activations.Output())
		o.headGradient(0, c.Training.Batch)
		require.Len(t, o.masks, 150)

		witness := func(half int, spins uint64) (g float64) {
			for a, m := range o.masks {
				g += float64(o.c[half][a]) * (1 - 2*float64(bits.OnesCount64(m&^spins)%2))
			}
			return g
		}
		var want float64
		n := c.Training.Batch
		for i, spins := range s.spins {
			half := 2 * i / n
			want += (witness(half, spins) - witness(half, o.next[i])) / []float64{602, 600}[half]
			for d := range 16 {
				to := destination(4, d, s.moves[i])
				change := witness(half, spins^1<<to) - witness(half, spins)
				sign := float64(2*(spins>>to&1)) - 1
				th := math.Tanh(float64(logits[i*16+d]) / s.width)
				dh := -0.5 * sign * change * (1 - th*th) / s.width / float64(n)
				if s.moves[i].flipped {
					dh = -dh
				}
				require.InDelta(t, dh, float64(s.grad[i*16+d]), 1e-5*(1+math.Abs(dh)))
			}
		}
		require.InDelta(t, want, loss, 1e-4*(1+math.Abs(want)))
		require.Zero(t, alloctest.PerRun(5, func() {
			if err := trainer.Step(); err != nil {
				panic(err)
			}
		}))
	}
}

// TestFullGradient compares the full gradient with central differences of the
// loss continued to real spins, s′ = f s with the flips f fixed.
func TestFullGradient(t *testing.T) {
	for i, stat := range []mmd.Statistic{mmd.V, mmd.U, mmd.V, mmd.U} {
		objective, naive := "mmd", mmd.Naive
		if i > 1 {
			objective, naive = "stationarity", mmd.StationarityNaive
		}
		c := mmdConfig(t)
		c.Training.Batch = 40
		c.Loss.Kind, c.Loss.Gradient, c.Loss.Statistic = objective, "full", stat
		c.Transition.Proposal, c.Transition.Steps = "mixture", 4
		require.NoError(t, c.Validate())
		trainer := newTrainer(t, c, 1)
		s := trainer.System().(*system)
		s.Generate(trainer.Params(), 1)
		s.Transition(1)
		loss := s.Discrepancy(1)
		n := s.model.N
		states, next := make([]float64, len(s.grad)), make([]float64, len(s.grad))
		for i := range states {
			states[i] = float64(2*int(s.spins[i/n]>>(i%n)&1) - 1)
			next[i] = float64(2*int(s.objective.(*pairObjective).next[i/n]>>(i%n)&1) - 1)
		}
		value := func() float64 { return naive(&c.Loss.Kernel, stat, states, next, c.Training.Batch, n, nil) }
		require.InEpsilon(t, value(), loss, 1e-4)
		for i := range 5 * n {
			flips := next[i] * states[i]
			at := func(h float64) float64 {
				x := states[i]
				states[i], next[i] = x+h, flips*(x+h)
				v := value()
				states[i], next[i] = x, flips*x
				return v
			}
			require.InDelta(t, (at(1e-5)-at(-1e-5))/2e-5, s.grad[i], 1e-7, "%v, spin %d", stat, i)
		}
	}
}

// TestErrorsOfZero compares with observables whose exact value is 0, which
// enumeration gives up to rounding: their errors are absolute.
func TestErrorsOfZero(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"hot":     func(c *Config) { c.Target.Beta, c.Target.L = 0, 4 },
		"free":    func(c *Config) { c.Target.J = 0 },
		"cold":    func(c *Config) { c.Target.Beta = 30 },
		"nothing": func(c *Config) { c.Target.L, c.Target.H, c.Target.Beta = 4, 1, 0 },
	} {
		t.Run(name, func(t *testing.T) {
			c := small(t, "paper")
			change(c)
			trainer := newTrainer(t, c, 2)
			e, err := trainer.System().(engine.Evaluator).Evaluate(context.Background(), trainer.Params(), 1000)
			require.NoError(t, err)
			absolute := 0
			for _, m := range e.Metrics {
				if m.Relative {
					require.Less(t, m.Error, 1e6, m.Name)
				} else if absolute++; !math.IsInf(m.Error, 1) {
					require.InDelta(t, math.Abs(m.Generated-m.Exact), m.Error, 1e-12, m.Name)
				}
			}
			require.Greater(t, absolute, 1, "the magnetisation, and what is 0")
		})
	}
}
