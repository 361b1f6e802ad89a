package vectors

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// testConfigs are small training runs that take every branch of a step.
func testConfigs() map[string]*testConfig {
	small := func(change func(c *testConfig)) *testConfig {
		c := &testConfig{paperConfig(), plane(0.6)}
		c.Training.Batch = 400
		c.Generator.Depth, c.Generator.Hidden = 3, []int{24, 24}
		change(c)
		return c
	}
	return map[string]*testConfig{
		"mmd": small(func(*testConfig) {}),
		"narrow": small(func(c *testConfig) {
			c.Loss.Kernel = mmd.Kernel{IMQ: []mmd.IMQ{{C: 0.2, Beta: 1.5, Weight: 1}}}
			c.Loss.Statistic = mmd.U
		}),
		"discriminator": small(func(c *testConfig) { c.judged("difference") }),
		"discriminator of pairs": small(func(c *testConfig) {
			c.judged("pair")
			c.target, c.Loss.Boundary.Weight = randomMixture(3, 2, 2), 0
			c.Generator = GeneratorConfig{Kind: "residual", Depth: 2, Hidden: []int{32}, Slope: 0.01, Gain: 1}
		}),
		"full":      small(func(c *testConfig) { c.Loss.Gradient = "full" }),
		"evolution": small(func(c *testConfig) { c.Training.Method, c.Training.Evolution.Pairs = "evolution", 2 }),
		"consensus": small(func(c *testConfig) {
			c.Training.Method, c.Training.Consensus.Particles, c.Training.Consensus.Spread = "consensus", 3, 0.01
		}),
		"five dimensions": small(func(c *testConfig) {
			c.target = randomMixture(5, 3, 1)
			c.Generator.Hidden, c.Generator.Clamp = []int{16}, 2
			c.Loss.Boundary.Center = []float64{1, 0, 0, 0, 1}
		}),
		"residual": small(func(c *testConfig) {
			c.target = randomMixture(3, 2, 2)
			c.Generator = GeneratorConfig{Kind: "residual", Depth: 2, Hidden: []int{32, 32}, Slope: 0.01, Gain: 1, Latent: 6}
		}),
		"balance":  small(func(c *testConfig) { c.Loss.Kind, c.Loss.Partners = "balance", 0.5 }),
		"moves":    small(func(c *testConfig) { c.Loss.Kind, c.Loss.Partners = "balance", 0 }),
		"partners": small(func(c *testConfig) { c.Loss.Kind, c.Loss.Partners = "balance", 1 }),
		"mixture": small(func(c *testConfig) {
			placed(c, 2)
			c.Transition.Annealing = engine.Annealing{Anneal: 0.5, AnnealFrom: 0.3}
		}),
		"mixture alone": small(func(c *testConfig) {
			placed(c, 4)
			c.target, c.Generator.Depth = randomMixture(5, 3, 1), 0
		}),
		"mixture that bends": small(func(c *testConfig) {
			placed(c, 2)
			c.target, c.Generator.Bent = randomMixture(5, 3, 1), true
			c.Generator.Partition, c.Generator.Changed = "listed", []int{4, 0}
		}),
		"mixture that bends by one": small(func(c *testConfig) {
			placed(c, 2)
			c.target, c.Generator.Bent = randomMixture(3, 2, 3), true
			c.Generator.Partition, c.Generator.Changed, c.Generator.Bend = "listed", []int{1, 2}, 0.3
		}),
		"mixture that bends one": small(func(c *testConfig) {
			placed(c, 2)
			c.target, c.Generator.Bent = randomMixture(3, 2, 3), true
			c.Generator.Partition, c.Generator.Changed = "listed", []int{1}
		}),
		"bent mixture alone": small(func(c *testConfig) {
			placed(c, 3)
			c.target, c.Generator.Depth, c.Generator.Bent = randomMixture(3, 2, 3), 0, true
		}),
		"mixture on the line": small(func(c *testConfig) {
			placed(c, 3)
			c.target, c.Generator.Depth = randomMixture(1, 2, 3), 0
		}),
		"product alone": small(func(c *testConfig) {
			placed(c, 3)
			c.target, c.Generator.Base, c.Generator.Depth = randomMixture(5, 3, 1), "product", 0
		}),
		"product that bends": small(func(c *testConfig) {
			placed(c, 2)
			c.target, c.Generator.Base, c.Generator.Bent = randomMixture(3, 2, 3), "product", true
		}),
		"one dimension": small(func(c *testConfig) {
			c.target = randomMixture(1, 2, 3)
			c.Generator = GeneratorConfig{Kind: "residual", Depth: 1, Hidden: []int{32}, Slope: 0.01, Gain: 1}
		}),
	}
}

// judged makes the loss a small discriminator's.
func (c *testConfig) judged(form string) {
	c.Loss.Kind, c.Loss.Discriminator.Form, c.Loss.Discriminator.Hidden = "discriminator", form, []int{12}
}

// placed makes the generator a mixture.
func placed(c *testConfig, components int) {
	c.Generator.Kind, c.Generator.Base, c.Generator.Components, c.Loss.Kind = "mixture", "joint", components, "balance"
	c.Loss.Partners = 0.3
	c.Generator.Scout = mixture.ScoutConfig{Population: 100, Moves: 2}
	c.Training.Optimizer.WeightDecay = 0
}

// modalConfigs are those of every generator, loss and method with modes.
func modalConfigs() map[string]*modalConfig {
	all := map[string]*modalConfig{
		"modes by pairs in 1": small(modalPaper(), threeTwins(1)), "modes by pairs in 3": small(modalPaper(), threeTwins(3)),
		"modes by the form pair": judgedModes(1, "pair"), "modes by the difference": judgedModes(3, "difference"),
		"unplaced": small(modalBest(), unplaced{threeTwins(1)}),
	}
	for d, method := range map[int]string{1: "evolution", 3: "consensus"} {
		c := small(modalPaper(), threeTwins(d))
		c.Loss.Statistic, c.Training.ClipNorm = mmd.U, 0
		c.Training.Method, c.Training.Evolution.Pairs, c.Training.Consensus.Particles = method, 2, 3
		c.Training.Consensus.Spread = 0.01
		all["modes by "+method] = c
	}
	for partners, d := range map[float64]int{0: 1, 0.5: 3, 1: 3} {
		c := small(modalBest(), threeTwins(d))
		c.Loss.Partners, c.Generator.Bent = partners, d > 1
		c.Transition.Annealing = engine.Annealing{Anneal: 0.5, AnnealFrom: 0.3}
		all[fmt.Sprintf("modes by balance, partners %v", partners)] = c
	}
	return all
}

var configDims = []int{1, 3}

func TestContract(t *testing.T) {
	long.SkipShort(t)
	for name, c := range testConfigs() {
		t.Run(name, func(t *testing.T) { systemtest.Run(t, c) })
	}
	for name, c := range modalConfigs() {
		t.Run(name, func(t *testing.T) { systemtest.Run(t, c) })
	}
}

// BenchmarkParts times the parts of a step of the paper's settings.
func BenchmarkParts(b *testing.B) {
	workers := pool.New(0)
	defer workers.Close()
	c := paperConfig()
	s := New(&c, plane(0.6), workers)
	params, grad := make([]float32, s.NumParams()), make([]float32, s.NumParams())
	s.Initialize(params)
	p := s.form.(*pairs)
	for _, part := range []struct {
		name string
		run  func()
	}{
		{"draw", func() { p.Generator.Draw(p.S, params, 1) }},
		{"move", func() { require.NoError(b, p.Transition.Move(p.Next, p.S, 1)) }},
		{"loss", func() { p.Discrepancy.LossGradient(p.DS, p.S, p.Next) }},
		{"backward", func() { s.Backward(params, grad) }},
	} {
		b.Run(part.name, func(b *testing.B) {
			for b.Loop() {
				part.run()
			}
		})
	}
}

// TestFullGradient compares the full gradient of the discrepancy with central differences in which s′ moves with s.
func TestFullGradient(t *testing.T) {
	const n, dim = 30, 2
	workers := pool.New(1)
	defer workers.Close()
	c := paperConfig()
	c.Loss.Gradient = "full"
	c.Loss.Kernel = mmd.Kernel{Bandwidths: []float64{0.5, 1}}
	require.NoError(t, c.Validate(dim))
	loss := mmdLoss.make(&c.Loss, n, dim, 0, 1, workers)
	r := rand.New(rand.NewPCG(3, 4))
	s, moved := make([]float32, n*dim), make([]float32, n*dim)
	for i := range s {
		s[i] = float32(r.NormFloat64())
		moved[i] = s[i] + 0.3*float32(r.NormFloat64())
	}
	ds, other := newStateGradient(n, dim, 0), newStateGradient(n, dim, 0)
	from, to := states(s, dim), states(moved, dim)
	loss.LossGradient(ds, from, to)
	for i := range s {
		const h = 1. / 64
		x, y := s[i], moved[i]
		s[i], moved[i] = x+h, y+h
		up := loss.LossGradient(other, from, to)
		s[i], moved[i] = x-h, y-h
		down := loss.LossGradient(other, from, to)
		s[i], moved[i] = x, y
		require.InDelta(t, (up-down)/(2*h), ds.x[i], 1e-4, "coordinate %d", i)
	}
}

// TestFullGradientByTheParameters compares a step's gradient with central differences of the double
// sum, in which s′ moves with s, with the penalty and without.
func TestFullGradientByTheParameters(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	for _, weight := range []float64{0, 2} {
		c := testConfigs()["full"]
		c.Training.Batch, c.Loss.Boundary.Weight, c.Loss.Boundary.Radius, c.Transition.Sigma = 24, weight, 1.5, []float64{1}
		s := New(&c.Config, c.target, workers)
		params := make([]float32, s.NumParams())
		s.Initialize(params)
		worst, tensors := engine.GradientError(s, params, s.Backward)
		require.Less(t, worst, 1e-4)
		require.Greater(t, tensors, 5)
	}
}

// TestThePenaltyIsPartOfTheLoss: of every block of the batch, on top of the loss
// without it.
func TestThePenaltyIsPartOfTheLoss(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	c := testConfigs()["narrow"]
	c.Loss.Boundary = BoundaryConfig{Weight: 3, Sharpness: 0.5, Radius: 2, Center: []float64{0.5, 0}}
	loss := func(weight float64) (float64, *System) {
		d := *c
		d.Loss.Boundary.Weight = weight
		s := New(&d.Config, d.target, workers)
		params := make([]float32, s.NumParams())
		s.Initialize(params)
		value, err := s.Loss(params, 1)
		require.NoError(t, err)
		return value, s
	}
	with, s := loss(3)
	without, _ := loss(0)
	penalty := newBoundary(c.Loss.Boundary, 2).penalty64(number.Widen(s.form.(*pairs).S.X))
	require.Greater(t, penalty, 0.1)
	require.InEpsilon(t, penalty, with-without, 1e-4)
}

// TestRecipeLearnsTheTarget: of a target of which nothing is known but its density,
// the recipe finds what it is made of; and with couplings too, ln Z = 0 within the
// error that the weights say, once few weights matter more than others.
func TestRecipeLearnsTheTarget(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for long")
	}
	for name, c := range map[string]*testConfig{"alone": testConfigs()["mixture alone"], "with couplings": testConfigs()["mixture"]} {
		d := c.target.Dim()
		depth := c.Generator.Depth
		why, err := c.Recipe(t.Context(), c.target, Seen{}, true)
		require.NoError(t, err)
		require.Contains(t, why, "because ")
		require.GreaterOrEqual(t, c.Generator.Components, len(c.target.(gaussians)))
		c.Training.Steps, c.Training.Batch, c.Generator.Depth, c.Generator.Bent = 150, 512, depth, false
		if depth > 0 {
			c.Training.Steps, c.Training.Optimizer.LearningRate = 800, 0.003
		}
		require.NoError(t, c.Validate())
		workers := pool.New(2)
		trainer, err := engine.NewTrainer(c, workers)
		require.NoError(t, err)
		for range c.Training.Steps {
			require.NoError(t, trainer.Step())
		}
		s := trainer.System().(*System)
		r, x := make([]float64, 20_000), make([]float32, 20_000*d)
		s.NewSampler(trainer.Params()).Weigh(r, states(x, s.Dim), 0)
		e := measure.Weigh(r)
		require.Greater(t, e.EffectiveSize, 0.9, name)
		require.InDelta(t, 0, e.LogZ, 5.5*e.LogZError+1e-6, name)
		workers.Close()
	}
}

// wells is ln π = Σ_i −x_i⁴ + 4x_i² + tilt x_i + coupling x_i x_{i+1} of six coordinates.
type wells struct{ tilt, coupling float64 }

func (wells) Dim() int { return 6 }

func (w wells) LogDensity(dst, x []float32, _ []uint8) {
	for r := range dst {
		var sum float64
		for i, v := range x[r*6 : (r+1)*6] {
			u := float64(v)
			sum += -u*u*u*u + 4*u*u + w.tilt*u
			if i > 0 {
				sum += w.coupling * u * float64(x[r*6+i-1])
			}
		}
		dst[r] = float32(sum)
	}
}

// TestRecipeOfWells: coordinates that have two wells each have mixtures of their own,
// which learn what both weigh; with couplings only where coordinates are tied.
func TestRecipeOfWells(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for long")
	}
	workers := pool.New(2)
	defer workers.Close()
	c := &testConfig{paperConfig(), wells{0.4, 0.1}}
	c.Generator.Kind = "mixture"
	why, err := c.Recipe(t.Context(), c.target, Seen{}, true)
	require.NoError(t, err)
	require.Equal(t, "product", c.Generator.Base, why)
	require.Positive(t, c.Generator.Depth, why)
	c.target = wells{tilt: 0.4}
	why, err = c.Recipe(t.Context(), c.target, Seen{}, true)
	require.NoError(t, err)
	require.Equal(t, "product", c.Generator.Base, why)
	require.Zero(t, c.Generator.Depth, why)
	c.Training.Steps = 200
	trainer, err := engine.NewTrainer(c, workers)
	require.NoError(t, err)
	for range c.Training.Steps {
		require.NoError(t, trainer.Step())
	}
	r, x := make([]float64, 20_000), make([]float32, 6*20_000)
	trainer.System().(*System).NewSampler(trainer.Params()).Weigh(r, states(x, 6), 0)
	var one float64
	for u := -4.0; u < 4; u += 1e-3 {
		one += 1e-3 * math.Exp(-u*u*u*u+4*u*u+0.4*u)
	}
	e := measure.Weigh(r)
	require.Greater(t, e.EffectiveSize, 0.95)
	require.InDelta(t, 6*math.Log(one), e.LogZ, 5.5*e.LogZError)
}

// grid is a target of 42 Gaussians in the plane, of deviation 1 and ten apart.
type grid struct{}

func (grid) Dim() int { return 2 }

func (grid) LogDensity(dst, x []float32, _ []uint8) {
	for r := range dst {
		var sum float64
		for k := range 42 {
			u, v := float64(x[2*r])-10*float64(k%6), float64(x[2*r+1])-10*float64(k/6)
			sum += math.Exp(-(u*u + v*v) / 2)
		}
		dst[r] = float32(math.Log(max(sum, 1e-300)))
	}
}

// TestRecipeOfManyModes: more modes have more members to begin with.
func TestRecipeOfManyModes(t *testing.T) {
	long.SkipShort(t)
	c := paperConfig()
	why, err := c.Recipe(t.Context(), plane(0.6), Seen{}, true)
	require.NoError(t, err)
	require.Equal(t, []int{8, 1000}, []int{c.Generator.Depth, c.Training.Steps}, "a RealNVP stays one: %s", why)
	c.Generator.Kind = "mixture"
	why, err = c.Recipe(t.Context(), plane(0.6), Seen{}, true)
	require.NoError(t, err)
	few := c.Generator.Scout.Population
	require.Equal(t, 1024, few, why)
	why, err = c.Recipe(t.Context(), grid{}, Seen{}, true)
	require.NoError(t, err)
	require.Greater(t, c.Generator.Components, 32, why)
	require.Equal(t, 4*few, c.Generator.Scout.Population)
}

// TestGradientOfBalance compares a step's gradient with central differences of the loss at
// fixed pairs: of local moves, of independent partners and of both.
func TestGradientOfBalance(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	for name, c := range testConfigs() {
		if c.Loss.Kind != "balance" {
			continue
		}
		each := []float64{0.5}
		if name == "balance" {
			each = []float64{0, 0.5, 1}
		}
		for _, c.Loss.Partners = range each {
			c.Training.Batch = 16
			s := New(&c.Config, c.target, workers)
			params := make([]float32, s.NumParams())
			s.Initialize(params)
			away(s, params)
			worst, tensors := engine.GradientError(s, params, s.Backward)
			require.Less(t, worst, 1e-3, "%s, partners %v", name, c.Loss.Partners)
			require.Greater(t, tensors, 5, name)
		}
	}
}

// TestGradientOfModalBalance does it with modes.
func TestGradientOfModalBalance(t *testing.T) {
	long.SkipShort(t)
	for name, c := range modalConfigs() {
		if c.Loss.Kind != "balance" {
			continue
		}
		trainer := newTrainer(t, c, 2)
		s, params := trainer.System().(*System), trainer.Params()
		away(s, params)
		worst, tensors := engine.GradientError(s, params, s.Backward)
		t.Logf("%s: %.1e", name, worst)
		require.Less(t, worst, 1e-3, name)
		require.Greater(t, tensors, 5)
		require.Equal(t, c.Loss.Partners == 1, s.transition.total().Proposed == 0, name)
		require.Equal(t, c.Loss.Partners == 1, s.form.(*balance).Generator.(*weigher).nextPasses == nil, name)
	}
}

// away moves a mixture from where it was placed.
func away(s *System, params []float32) {
	if s.generator.nets.base == nil {
		return
	}
	r := rand.New(rand.NewPCG(5, 6))
	for i := s.generator.nets.learnedStart(); i < len(params); i++ {
		params[i] += float32(0.2 * r.NormFloat64())
	}
}

// TestModalRecipeLearnsTheTarget: of a target of which nothing is known but its density,
// the recipe finds all modes, and so little is left of the divergence that the
// weights of modes are those of the target.
func TestModalRecipeLearnsTheTarget(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for long")
	}
	target := threeTwins(2)
	c := small(modalBest(), unplaced{target})
	why, err := c.Recipe(t.Context(), c.target, Seen{}, true)
	require.NoError(t, err)
	require.Contains(t, why, "for each of 3 modes")
	c.Training.Steps, c.Generator.Scout.Population = 150, 512
	require.NoError(t, c.Validate())
	trainer := newTrainer(t, c, 2)
	for range c.Training.Steps {
		require.NoError(t, trainer.Step())
	}
	s := trainer.System().(*System)
	const n = 20_000
	r, samples := make([]float64, n), s.NewStates(n)
	s.NewSampler(trainer.Params()).Weigh(r, samples, 0)
	e := measure.Weigh(r)
	require.Greater(t, e.EffectiveSize, 0.98)
	require.Less(t, target.deviation(samples.X, samples.K), 12.0)
}
