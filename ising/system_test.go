package ising

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/long"
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
	if c.Generator.Kind == "hierarchy" {
		c.Training.Batch = 640
	}
	return c
}

// mmdConfig is a small configuration of the maximum mean discrepancy with
// spins flipped one by one, a bernoulli head and the U-statistic.
func mmdConfig(t *testing.T) *Config {
	c := small(t, "paper")
	c.Generator.Head, c.Generator.Gain, c.Loss.Gradient, c.Transition.Steps = "bernoulli", 10, "difference", 2
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
		change(c)
		all[name] = c
	}
	for _, preset := range Presets {
		add(preset, preset, func(*Config) {})
	}
	for _, gradient := range conf.Values(new(Config), "loss.gradient") {
		add("mmd, "+gradient, "paper", func(c *Config) { c.Loss.Gradient, c.Generator.Head = gradient, "bernoulli" })
	}
	for _, gradient := range []string{"surrogate", "difference", "score"} {
		add("discriminator, "+gradient, "paper", func(c *Config) {
			c.Loss.Kind, c.Loss.Gradient, c.Generator.Head = "discriminator", gradient, "bernoulli"
			c.Loss.Discriminator.Hidden = []int{12}
		})
	}
	add("annealed", "paper", func(c *Config) { c.Transition.Anneal = 0.3 })
	for name, target := range map[string]TargetConfig{"sweeps": {L: 3, Beta: 0.3, J: 1}, "sweeps, 9×9": {L: 9, Beta: 0.4, J: 1, H: -0.1}} {
		add(name, "paper", func(c *Config) { c.Target, c.Transition.Proposal, c.Transition.Steps = target, spins.Sweeping, 2 })
	}
	// By counting, in a field, and beyond exact references.
	for name, target := range map[string]TargetConfig{
		"6×6": {L: 6, Beta: 0.4, J: 1}, "6×6 in a field": {L: 6, Beta: 0.4, J: -1, H: 0.3}, "9×9 in a field": {L: 9, Beta: 0.3, J: 1, H: 0.1},
	} {
		add(name, "paper", func(c *Config) { c.Target, c.Transition.Proposal = target, "single" })
	}
	add("signs, spread", "paper", func(c *Config) {
		c.Generator.Signs.Number = 2
		c.Generator.Head, c.Generator.Width.Unit, c.Generator.Width.Start, c.Generator.Width.Final = "sign", "spread", 0.3, 0.03
	})
	for _, method := range []string{"evolution", "consensus"} {
		add(method, "paper", func(c *Config) {
			c.Training.Method, c.Training.Evolution.Pairs, c.Training.Consensus.Particles = method, 2, 3
		})
	}
	return all
}

func TestContract(t *testing.T) {
	long.SkipShort(t)
	for name, c := range contractConfigs(t) {
		t.Run(name, func(t *testing.T) { systemtest.Run(t, c) })
	}
}

// TestFormats of the same samples say the same.
func TestFormats(t *testing.T) {
	trainer := newTrainer(t, small(t, "paper"), 3)
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
	long.SkipShort(t)
	c := small(t, "paper")
	c.Target.Beta = 0.5
	trainer := newTrainer(t, c, 1)
	s := trainer.System().(*system)
	reference, err := newReference(context.Background(), Target{s.target.Model, 0.5}, s.workers)
	require.NoError(t, err)
	const n = 200_000
	r := rand.New(rand.NewPCG(1, 1))
	got := newTally(s.target.Model)
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

	up := newTally(s.target.Model)
	up.count([]uint64{511, 511, 511, 255})
	require.Len(t, compare(reference, up, 4).Warnings, 1)
	ground := newTally(s.target.Model)
	ground.count([]uint64{511, 0, 511, 0})
	require.Contains(t, compare(reference, ground, 4).Warnings[0], "collapsed")
}

// TestDeviationsAreThoseOfTheInfluence holds the standard deviations behind
// intervals and floors against how each observable changes when the law is mixed
// with a single state, by differences.
func TestDeviationsAreThoseOfTheInfluence(t *testing.T) {
	for _, target := range []Target{mustTarget(t, 3, 1, 0, 0.2), mustTarget(t, 3, 1, 0, 0.5), mustTarget(t, 4, -0.5, 0.3, 1.7)} {
		p, _ := mustEnumerate(t, target.L).jointLaw(target)
		got := p.observables(target.Beta)
		var want [4]float64
		for i, w := range p.weight {
			const step = 1e-6
			mixed := func(share float64) [4]estimate {
				q := newJointLaw(target.Model)
				for k, v := range p.weight {
					v *= 1 - share
					if k == i {
						v += share
					}
					q.add(p.sums[k].bonds, p.sums[k].magnetisation, v)
				}
				// Unlike p, q may have a negative weight, which each leaves out.
				return q.observables(target.Beta)
			}
			above := mixed(step)
			for k := range want {
				influence := (above[k].Value - got[k].Value) / step
				want[k] += w * influence * influence
			}
		}
		for k, name := range observableNames {
			require.InEpsilon(t, math.Sqrt(want[k]), got[k].deviation, 1e-3, "%s, %+v", name, target)
		}
	}
}

// TestFloorsAndIntervalsOfTables draws tables of exact samples: the mean error of
// each observable is its floor, and the exact value lies in 95 % of its intervals,
// within 5 standard errors of 2,000 tables.
func TestFloorsAndIntervalsOfTables(t *testing.T) {
	long.SkipShort(t)
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

func TestValidateRefusesWhatDoesNotCompose(t *testing.T) {
	for key, change := range map[string]func(*Config){
		"system":                    func(c *Config) { c.System = "gmm" },
		"preset":                    func(c *Config) { c.Preset = "mine" },
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
		"loss.kernel.bandwidths[0]": func(c *Config) { c.Loss.Kernel.Bandwidths = []float64{-1} },
		"loss.gradient":             func(c *Config) { c.Loss.Gradient = "half" },
		"loss.kind":                 func(c *Config) { c.Loss.Kind = "gan" },
		"training.batch":            func(c *Config) { c.Training.Batch = 0 },
	} {
		c := mmdConfig(t)
		require.NoError(t, c.Validate())
		change(c)
		if !strings.Contains(key, ":") {
			key += ":"
		}
		require.ErrorContains(t, c.Validate(), key)
	}
	// Steps that a stream has random numbers for.
	c := small(t, "paper")
	c.Target.L, c.Transition.Proposal, c.Transition.Steps = 256, "multi-spin", 8193
	require.ErrorContains(t, c.Validate(), "transition.steps: 8193 is not between 1 and ")
	reach := newTrainer(t, small(t, "paper"), 1).System().(engine.Sampler).Reach
	require.ErrorContains(t, reach(0, 1, 5_000_000), "refine: 5000000 is not between 0 and ")
	require.ErrorContains(t, reach(999_999_000_000_000_000, 1_000_000, 1), "number: samples 999999")
}

// TestErrorsOfZero compares with observables whose exact value is 0, which
// enumeration gives up to rounding: their errors are absolute.
func TestErrorsOfZero(t *testing.T) {
	long.SkipShort(t)
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

// BenchmarkStart is what a run computes before its first step, in a process that has
// had runs of the same lattice: ms of processor time, which other work on the machine
// disturbs less than the clock.
func BenchmarkStart(b *testing.B) {
	workers := pool.New(1)
	defer workers.Close()
	processor := func() time.Duration {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for _, l := range []int{3, 4, 8, 16} {
		b.Run(fmt.Sprintf("L=%d", l), func(b *testing.B) {
			begun, i := processor(), 0
			for ; b.Loop(); i++ {
				cfg, err := catalogue.Systems{Definition}.Configure("ising", "quick", fmt.Sprint("target.l=", l), fmt.Sprint("target.beta=", 0.2+float64(i%100)/1000))
				require.NoError(b, err)
				_, err = engine.NewTrainer(cfg, workers)
				require.NoError(b, err)
			}
			b.ReportMetric((processor()-begun).Seconds()*1e3/float64(i), "processor-ms/op")
		})
	}
}
