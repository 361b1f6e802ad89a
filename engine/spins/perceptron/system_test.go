package perceptron

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// testConfig is a configuration of a target that the kit knows nothing of.
type testConfig struct {
	Config
	target spins.Target
}

func (c *testConfig) Validate() error {
	chosen := conf.Chosen(&c.Config)
	if err := conf.First(conf.Check(chosen), c.Common.Validate()); err != nil {
		return err
	}
	return conf.First(chosen.ValidateChoices(c.target), engine.Afford(c.Demands(c.target.Spins())...))
}

func (c *testConfig) New(workers *pool.Pool) (engine.System, error) {
	return New(&c.Config, c.target, workers)
}

// torus is the l×l lattice as a graph.
func torus(t *testing.T, l int, beta float64) spins.Target {
	t.Helper()
	h := spins.Hamiltonian{Spins: l * l}
	for i := range h.Spins {
		row, column := i/l, i%l
		h.Edges = append(h.Edges,
			spins.Edge{I: i, J: row*l + (column+1)%l, Coupling: 1},
			spins.Edge{I: i, J: (row+1)%l*l + column, Coupling: 1})
	}
	g, err := spins.NewGraph(h)
	require.NoError(t, err)
	return spins.Boltzmann{Graph: g, Beta: beta}
}

// glass is a graph of 70 spins, which take two words, with couplings of both signs
// and fields.
func glass(t *testing.T) spins.Target {
	t.Helper()
	r := rand.New(rand.NewPCG(70, 1))
	h := spins.Hamiltonian{Spins: 70}
	for i := range h.Spins {
		h.Edges = append(h.Edges, spins.Edge{I: i, J: (i + 1) % h.Spins, Coupling: r.NormFloat64()})
		h.Fields = append(h.Fields, 0.3*r.NormFloat64())
	}
	g, err := spins.NewGraph(h)
	require.NoError(t, err)
	return spins.Boltzmann{Graph: g, Beta: 0.7}
}

// small is a configuration of 3×3 spins that runs in milliseconds.
func small(t *testing.T, kind, gradient string) *testConfig {
	c := &testConfig{target: torus(t, 3, 0.2), Config: Config{
		Common: engine.Common{
			Schema: engine.SchemaVersion, System: "test", Preset: "small",
			Training: engine.Training{
				Seed: 1, Steps: 4, Batch: 600, Methods: search.ByGradient(), LogEvery: 1,
				Optimizer: optim.AdamW{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-16},
				Schedule:  optim.Schedule{Kind: "cosine"},
			},
			Evaluation: engine.Evaluating{Samples: 500},
		},
		Transition: spins.TransitionConfig{Proposal: "mixture", GlobalFlip: 0.1, Steps: 2},
		Generator: GeneratorConfig{
			Latent: 5, Hidden: []int{16, 16}, Slope: 0.01, Gain: 10, Head: "bernoulli",
			Signs: SignsConfig{Size: 6}, Width: WidthConfig{Start: 1, Final: 1, Unit: "absolute"},
		},
		Loss: LossConfig{
			Kind: kind, Gradient: gradient,
			Discriminator: critic.Default(), Kernel: mmd.Kernel{Bandwidths: []float64{1.5}}, Statistic: mmd.V,
		},
	}}
	c.Loss.Discriminator.Hidden, c.Loss.Discriminator.Steps = []int{12}, 2
	return c
}

func newTrainer(t *testing.T, c *testConfig, threads int) (*engine.Trainer, *System) {
	t.Helper()
	workers := pool.New(threads)
	t.Cleanup(workers.Close)
	trainer, err := engine.NewTrainer(c, workers)
	require.NoError(t, err)
	return trainer, trainer.System().(*System)
}

// measure takes one step as far as the discrepancy.
func measure(trainer *engine.Trainer, s *System) float64 {
	loss, err := s.Loss(trainer.Params(), 1)
	if err != nil {
		panic(err)
	}
	return loss
}

// TestContract holds for any target, objective and gradient.
func TestContract(t *testing.T) {
	long.SkipShort(t)
	all := map[string]*testConfig{}
	for _, kind := range []string{"mmd", "discriminator"} {
		for _, gradient := range conf.Values(new(Config), "loss.gradient") {
			if c := small(t, kind, gradient); c.Validate() == nil {
				all[kind+", "+gradient] = c
			}
		}
	}
	require.Len(t, all, 4+3)
	for name, change := range map[string]func(c *testConfig){
		"glass":        func(c *testConfig) { c.target = glass(t) },
		"glass, full":  func(c *testConfig) { c.target, c.Loss.Gradient = glass(t), "full" },
		"sweeps":       func(c *testConfig) { c.target, c.Transition.Proposal = glass(t), spins.Sweeping },
		"single":       func(c *testConfig) { c.Transition.Proposal = "single" },
		"annealed":     func(c *testConfig) { c.Transition.Anneal, c.Transition.AnnealFrom = 0.5, 0.3 },
		"sign, spread": func(c *testConfig) { c.Generator.Head, c.Generator.Width.Unit = "sign", "spread" },
		"signs":        func(c *testConfig) { c.Generator.Signs.Number = 2 },
		"U-statistic":  func(c *testConfig) { c.Loss.Statistic = mmd.U },
		"evolution":    func(c *testConfig) { c.Training.Method, c.Training.Evolution.Pairs = "evolution", 2 },
	} {
		c := small(t, "mmd", "surrogate")
		change(c)
		all[name] = c
	}
	for name, c := range all {
		t.Run(name, func(t *testing.T) { systemtest.Run(t, c) })
	}
}

func TestRefusals(t *testing.T) {
	for message, change := range map[string]func(*testConfig){
		"transition.proposal: \"multi-spin\" is for lattices": func(c *testConfig) { c.Transition.Proposal = "multi-spin" },
		"transition.global_flip:":                             func(c *testConfig) { c.Transition.GlobalFlip = 1.5 },
		"transition.steps:":                                   func(c *testConfig) { c.Transition.Steps = 0 },
		"transition.anneal:":                                  func(c *testConfig) { c.Transition.Anneal = -1 },
		"transition.anneal_from:":                             func(c *testConfig) { c.Transition.AnnealFrom = math.NaN() },
		"generator.latent:":                                   func(c *testConfig) { c.Generator.Latent = 0 },
		"generator.width.start:":                              func(c *testConfig) { c.Generator.Head, c.Generator.Width.Start = "sign", 0 },
		"loss.kind: balance does not go with generator.kind, which is not there; set loss.kind to mmd or discriminator, or generator.kind to hierarchy":             func(c *testConfig) { c.Loss.Kind = "balance" },
		"loss.gradient: score does not go with generator.head, which is sign; set loss.gradient to surrogate or difference or full, or generator.head to bernoulli": func(c *testConfig) { c.Loss.Gradient, c.Generator.Head = "score", "sign" },
		"loss.gradient: full does not go with loss.kind, which is discriminator; set loss.gradient to surrogate or difference or score, or loss.kind to mmd":        func(c *testConfig) { c.Loss.Gradient, c.Loss.Kind = "full", "discriminator" },
		"loss.kernel.bandwidths":   func(c *testConfig) { c.Loss.Kernel.Bandwidths = []float64{-1} },
		"loss.discriminator.form:": func(c *testConfig) { c.Loss.Kind, c.Loss.Discriminator.Form = "discriminator", "" },
		"GiB":                      func(c *testConfig) { c.Training.Batch, c.Generator.Hidden = 1<<24, slices.Repeat([]int{1024}, 64) },
	} {
		c := small(t, "mmd", "surrogate")
		require.NoError(t, c.Validate())
		change(c)
		require.ErrorContains(t, c.Validate(), message)
	}
}

// TestBackwardMatchesCentralDifferences keeps ∂L/∂s fixed at random numbers c.
// Straight-through then makes Backward the gradient of Σ c·tanh(h/τ), which
// is differentiated in float64.
func TestBackwardMatchesCentralDifferences(t *testing.T) {
	for _, head := range []string{"sign", "bernoulli"} {
		c := small(t, "mmd", "surrogate")
		c.Training.Batch, c.Generator.Gain = 300, 1
		c.Generator.Head = head
		c.Generator.Width.Start, c.Generator.Width.Final = 0.7, 0.3
		trainer, s := newTrainer(t, c, 2)
		net, grad, params := s.learner.net, s.DS.bySpin, trainer.Params()
		s.learner.Draw(s.S, params, 1)
		r := rand.New(rand.NewPCG(5, 6))
		seeds := make([]float64, len(grad))
		for i := range grad {
			grad[i] = float32(r.NormFloat64())
			seeds[i] = float64(grad[i])
		}
		latent := number.Widen(s.learner.activations[0])
		got := make([]float32, len(params))
		s.Backward(params, got)

		p := number.Widen(params)
		objective := func() (sum float64) {
			for row := range c.Training.Batch {
				for d, h := range net.Forward64(p, latent[row*net.In():(row+1)*net.In()]) {
					sum += seeds[row*9+d] * math.Tanh(h/s.learner.width)
				}
			}
			return sum
		}
		for i := 0; i < len(p); i += 7 {
			want := number.CentralDifference(&p[i], 1e-5, objective)
			require.InDelta(t, want, float64(got[i]), 1e-4*(1+math.Abs(want)), "%s: parameter %d", head, i)
		}
	}
}

// TestDifferenceIsThatOfTheLoss flips single spins of a batch and computes the
// loss again.
func TestDifferenceIsThatOfTheLoss(t *testing.T) {
	c := small(t, "mmd", "difference")
	c.Training.Batch, c.Loss.Statistic = 64, mmd.U
	trainer, s := newTrainer(t, c, 1)
	loss := measure(trainer, s)
	naive := func() float64 {
		loss, _ := mmd.HammingNaive(s.S, s.Next, 64, 9, c.Loss.Kernel, mmd.Difference, mmd.U)
		return loss
	}
	base := naive()
	require.InDelta(t, base, loss, 1e-6)
	change := make([]float32, len(s.DS.bySpin))
	s.Discrepancy.(*differences).loss.LossGradient(lossGradient{bySpin: change}, s.S, s.Next)
	for _, i := range []int{0, 17, 63} {
		for d := range 9 {
			s.S[i] ^= 1 << d
			flipped := naive()
			s.S[i] ^= 1 << d
			require.InDelta(t, flipped-base, float64(change[i*9+d]), 1e-6)
		}
	}
	for i, g := range s.DS.bySpin {
		sign := float32(2*(s.S[i/9]>>(i%9)&1)) - 1
		require.Equal(t, -sign*change[i]/2, g)
	}
}

// TestWidthFollowsItsSchedule from its start to its final value, geometrically, in both
// units.
func TestWidthFollowsItsSchedule(t *testing.T) {
	for _, unit := range conf.Values(new(Config), "generator.width.unit") {
		c := small(t, "mmd", "surrogate")
		c.Training.Steps, c.Generator.Head = 10, "sign"
		c.Generator.Width = WidthConfig{Start: 0.8, Final: 0.05, Unit: unit}
		trainer, s := newTrainer(t, c, 2)
		for _, at := range []struct {
			step uint32
			want float64
		}{{1, 0.8 * math.Pow(1.0/16, 0.1)}, {5, 0.2}, {10, 0.05}} {
			want := at.want
			s.learner.Draw(s.S, trainer.Params(), at.step)
			if unit == "spread" {
				var sum, squares float64
				for _, h := range s.Logits() {
					sum += float64(h)
				}
				n := float64(len(s.Logits()))
				for _, h := range s.Logits() {
					squares += (float64(h) - sum/n) * (float64(h) - sum/n)
				}
				want *= math.Sqrt(squares / n)
			}
			require.InEpsilon(t, want, s.learner.width, 1e-9, "%s, step %d", unit, at.step)
		}
	}
}

func TestBernoulliHeadHasTheRightMean(t *testing.T) {
	c := small(t, "mmd", "surrogate")
	c.Training.Batch = 1 << 14
	trainer, s := newTrainer(t, c, 2)
	s.learner.Draw(s.S, trainer.Params(), 1)
	for d := range 9 {
		var up, expected, variance float64
		for r, config := range s.S {
			p := 1 / (1 + math.Exp(-2*float64(s.Logits()[r*9+d])))
			up += float64(config >> d & 1)
			expected += p
			variance += p * (1 - p)
		}
		require.InDelta(t, expected, up, 6*math.Sqrt(variance), "spin %d", d)
	}
}

// TestSignsReplaceNormals wants the first components of z to be the signs of
// the normals that they would be otherwise, and the others as they were.
func TestSignsReplaceNormals(t *testing.T) {
	c := small(t, "mmd", "surrogate")
	latent := func(signs int) []float32 {
		c.Generator.Signs.Number = signs
		trainer, s := newTrainer(t, c, 2)
		s.learner.Draw(s.S, trainer.Params(), 1)
		return slices.Clone(s.learner.activations[0])
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

// TestFullGradient compares the full gradient with central differences of the
// loss continued to real spins, s′ = f s with the flips f fixed.
func TestFullGradient(t *testing.T) {
	for _, stat := range []mmd.Statistic{mmd.V, mmd.U} {
		c := small(t, "mmd", "full")
		c.Training.Batch, c.Loss.Statistic, c.Transition.Steps = 40, stat, 4
		trainer, s := newTrainer(t, c, 1)
		loss, n := measure(trainer, s), s.learner.spins
		states, next := s.unpacked(s.S), s.unpacked(s.Next)
		value := func() float64 { return mmd.Naive(&c.Loss.Kernel, stat, states, next, 40, n, nil) }
		require.InEpsilon(t, value(), loss, 1e-4)
		require.InEpsilon(t, value(), s.Surrogate()(number.Widen(trainer.Params())), 1e-6, "the surrogate is the loss, not linear in what is checked")
		for i := range 5 * n {
			flips := next[i] * states[i]
			at := func(h float64) float64 {
				x := states[i]
				states[i], next[i] = x+h, flips*(x+h)
				v := value()
				states[i], next[i] = x, flips*x
				return v
			}
			require.InDelta(t, (at(1e-5)-at(-1e-5))/2e-5, s.DS.bySpin[i], 1e-7, "%v, spin %d", stat, i)
		}
	}
}

// TestGradientsAreChecked breaks gradients in ways that the contract test must see.
func TestGradientsAreChecked(t *testing.T) {
	long.SkipShort(t)
	for name, spoil := range map[string]func(s *System, params, grad []float32){
		"nothing":                          func(*System, []float32, []float32) {},
		"the last bias has the wrong sign": func(_ *System, _, grad []float32) { grad[len(grad)-1] *= -1 },
		"the gradient is a hundredth off": func(_ *System, _, grad []float32) {
			for i := range grad {
				grad[i] *= 1.01
			}
		},
	} {
		c := small(t, "mmd", "surrogate")
		c.Training.Batch = 150
		trainer, s := newTrainer(t, c, 1)
		worst, tensors := engine.GradientError(s, trainer.Params(), func(params, grad []float32) {
			s.Backward(params, grad)
			spoil(s, params, grad)
		})
		require.Equal(t, 6, tensors)
		require.Equal(t, name == "nothing", worst < 2e-3, "%s: %g", name, worst)
	}
	// A loss of the wrong sign.
	c := small(t, "mmd", "full")
	c.Training.Batch = 150
	trainer, s := newTrainer(t, c, 1)
	worst, _ := engine.GradientError(s, trainer.Params(), s.Backward)
	require.Less(t, worst, 2e-3)
	trainer, s = newTrainer(t, c, 1)
	worst, _ = engine.GradientError(s, trainer.Params(), func(params, grad []float32) {
		for i, g := range s.Discrepancy.(fullGradient).nextGradient {
			s.DS.bySpin[i] -= g // s′ fixed, where it follows s
		}
		s.Backward(params, grad)
	})
	require.Greater(t, worst, 1e-2)
}
