package perceptron

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/pool"
)

// TestPaper: the settings of the paper for disordered and for ordered targets, and which of them
// follow the target.
func TestPaper(t *testing.T) {
	for _, c := range []struct {
		n, moves, steps int
		coupling        float64
		milestones      []int
		bandwidths      []float64
	}{
		{16, 64, 20_000, Coupled - 1e-9, []int{6000, 12_000, 17_000}, []float64{2}},
		{64, 256, 30_000, Coupled, []int{15_000, 22_500, 27_500}, []float64{4, 8}},
		{256, 1024, 20_000, 0, []int{6000, 12_000, 17_000}, []float64{8}},
		{400, 1024, 30_000, 2, []int{15_000, 22_500, 27_500}, []float64{10, 20}},
	} {
		got := Paper("toy", c.n, c.coupling)
		require.Equal(t, Config{
			Common: engine.Common{
				Schema: engine.SchemaVersion, System: "toy", Preset: "paper",
				Training: engine.Training{
					Seed: 1, Steps: c.steps, Batch: 2048, Methods: search.ByGradient(),
					Optimizer: optim.AdamW{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-16},
					Schedule:  optim.Schedule{Kind: "step", Milestones: c.milestones, Factor: 0.2}, CheckpointEvery: 1000, LogEvery: 50,
				},
				Evaluation: engine.Evaluating{Samples: 200_000},
			},
			Transition: spins.TransitionConfig{Proposal: "mixture", GlobalFlip: 0.1, Steps: c.moves},
			Generator: GeneratorConfig{
				Latent: 32, Signs: SignsConfig{Size: 6}, Hidden: []int{256, 256}, Slope: 0.01, Gain: 1, Head: "sign", Width: WidthConfig{Start: 0.3, Final: 0.03, Unit: "spread"},
			},
			Loss: LossConfig{
				Kind: "mmd", Balancing: engine.Balancing{Partners: 0.5}, Discriminator: critic.Default(), Kernel: mmd.Kernel{Bandwidths: c.bandwidths}, Statistic: mmd.V, Gradient: "surrogate",
			},
		}, got)
		var training engine.Training
		var moves spins.TransitionConfig
		var loss LossConfig
		why := got.Adapt(&training, &moves, &loss)
		require.Equal(t, []any{c.steps, c.milestones, c.moves, c.bandwidths}, []any{training.Steps, training.Schedule.Milestones, moves.Steps, loss.Kernel.Bandwidths})
		if c.n == 64 {
			require.Equal(t, "the paper's method in 30000 steps, with 256 proposals between s and s′ and Gaussians of bandwidth [4 8]", why)
			require.Equal(t, "a perceptron whose sign layer draws spins, trained by reversibility on pairs of samples; loss: MMD² between the laws of (s, s′) and (s′, s); s and s′ are 256 mixture Metropolis steps apart", got.Explain())
			got.Loss.Kind = "discriminator"
			require.Contains(t, got.Explain(), "; loss: a learned discriminator between")
		}
	}
}

// TestLimits: each number of a generator on both sides of its limits.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		change func(c *testConfig)
		want   string
	}{
		{func(c *testConfig) { c.Generator.Latent = 1 }, ""},
		{func(c *testConfig) { c.Generator.Latent = 4096 }, ""},
		{func(c *testConfig) { c.Generator.Latent = 4097 }, "generator.latent: 4097 is not between 1 and 4096"},
		{func(c *testConfig) { c.Generator.Signs.Number = 5 }, ""},
		{func(c *testConfig) { c.Generator.Signs.Number = 6 }, "generator.signs.number: 6 is not between 0 and 5"},
		{func(c *testConfig) { c.Generator.Signs.Size = 0 }, "generator.signs.size: 0 is not a positive finite number"},
		{func(c *testConfig) { c.Generator.Gain = 0 }, "generator.gain: 0 is not a positive finite number"},
		{func(c *testConfig) { c.Generator.Width.Start = 0 }, ""}, // of another head
		{func(c *testConfig) { c.Generator.Head, c.Generator.Width.Start = "sign", 0 }, "generator.width.start: 0 is not a positive finite number"},
		{func(c *testConfig) { c.Generator.Head, c.Generator.Width.Final = "sign", 0 }, "generator.width.final: 0 is not a positive finite number"},
		{func(c *testConfig) { c.Generator.Head = "signs" }, `generator.head: "signs" is not one of sign, bernoulli`},
		{func(c *testConfig) { c.Training.LogEvery = 0 }, "training.log_every: 0 is not between 1 and 2147483647"},
		{func(c *testConfig) { c.Transition.Proposal = "none" }, `transition.proposal: "none" is not one of single, mixture, multi-spin, sweep`},
	} {
		config := small(t, "mmd", "surrogate")
		c.change(config)
		if c.want == "" {
			require.NoError(t, config.Validate())
		} else {
			require.EqualError(t, config.Validate(), c.want)
		}
	}
	// Memory: activations, what the head and the moves need, the backward pass and the loss.
	for gradient, more := range map[string]float64{"surrogate": 0, "full": 4 * 9} {
		config := small(t, "mmd", gradient)
		g := newGenerator(config.Generator, 9)
		width, widest := g.net.Widths()
		rows := float64(600 + nn.BlockRows())
		bytes := rows*(4*float64(width)+4*5*9+8*4+64+more) + float64(nn.LanesOf(600)*nn.BlockRows()*8*widest) + mmd.HammingBytes(600, 9)
		require.Equal(t, append(config.Training.Demands(g.net.NumParams()), engine.Demand{Key: "training.batch", Bytes: bytes}), config.Demands(9))
	}
	learned := small(t, "discriminator", "surrogate")
	plain, by := small(t, "mmd", "surrogate").Demands(9), learned.Demands(9)
	require.InDelta(t, learned.Loss.Discriminator.Bytes(600, 9)+4*3*600*9-mmd.HammingBytes(600, 9), by[1].Bytes-plain[1].Bytes, 1e-6)

	workers := pool.New(1)
	defer workers.Close()
	for _, c := range []struct {
		change func(c *testConfig)
		want   string
	}{
		{func(c *testConfig) { c.Loss.Kind, c.Loss.Discriminator.Form = "discriminator", "" }, "loss.discriminator."},
		{func(c *testConfig) { c.Transition.Proposal = "none" }, "transition.proposal: "},
	} {
		config := small(t, "mmd", "surrogate")
		c.change(config)
		_, err := config.Build(config.target, new(spins.Ensemble), workers)
		if err != nil {
			require.ErrorContains(t, err, c.want)
		}
		_, err = New(&config.Config, config.target, workers)
		if err != nil {
			require.ErrorContains(t, err, c.want)
		}
	}
	var e spins.Ensemble
	config := small(t, "mmd", "surrogate")
	system, err := config.Build(config.target, &e, workers)
	require.NoError(t, err)
	require.NotNil(t, e.Draws)
	require.Nil(t, e.Weigher)
	require.Equal(t, config.Generator.Latent*16+16+16*16+16+16*9+9, system.NumParams())
}

// TestGradientOfScores: that of the score function is the derivative of what its surrogate says,
// as are those of differences.
func TestGradientOfScores(t *testing.T) {
	for _, kind := range []string{"mmd", "discriminator"} {
		for _, gradient := range []string{"score", "difference"} {
			c := small(t, kind, gradient)
			c.Training.Batch = 60
			trainer, s := newTrainer(t, c, 1)
			worst, tensors := engine.GradientError(s, trainer.Params(), s.Backward)
			require.Less(t, worst, 2e-3, "%s, %s", kind, gradient)
			require.Equal(t, 6, tensors)
		}
	}
}

// A categorical target has sites of two, three and four states, a spin for each.
type categorical struct{ spins.Target }

func (categorical) States() []int { return []int{2, 3, 4} }

// TestGradientOfStates: where spins are states of sites, each site has one up, and the gradient is
// that of the softmax that stands for them.
func TestGradientOfStates(t *testing.T) {
	for _, gradient := range []string{"surrogate", "difference", "full"} {
		c := small(t, "mmd", gradient)
		c.target, c.Generator.Head, c.Generator.Width.Start, c.Training.Batch = categorical{c.target}, "sign", 0.5, 60
		trainer, s := newTrainer(t, c, 1)
		worst, tensors := engine.GradientError(s, trainer.Params(), s.Backward)
		require.Less(t, worst, 2e-3, gradient)
		require.Equal(t, 6, tensors)
		for _, state := range s.S {
			require.Equal(t, []int{1, 1, 1}, []int{bits.OnesCount64(state & 3), bits.OnesCount64(state >> 2 & 7), bits.OnesCount64(state >> 5)})
		}
	}
}

// TestInitialize: a gain multiplies the weights of the last layer and clears its biases, and a
// gain of 1 leaves all as it is.
func TestInitialize(t *testing.T) {
	c := small(t, "mmd", "surrogate").Generator
	of := func(gain float64) (*generator, []float32) {
		c.Gain = gain
		g := newGenerator(c, 9)
		params := make([]float32, g.net.NumParams())
		g.initialize(params, 3)
		return g, params
	}
	g, plain := of(1)
	_, wide := of(10)
	last := len(plain) - 9 - 16*9
	require.Equal(t, plain[:last], wide[:last])
	require.NotEqual(t, make([]float32, 9), g.net.Biases(plain, 2))
	require.Equal(t, make([]float32, 9), g.net.Biases(wide, 2))
	for i, w := range g.net.Weights(plain, 2) {
		require.Equal(t, 10*w, g.net.Weights(wide, 2)[i])
	}
}

// TestHeads: the largest logit of a site is up, the first of equal ones, and the estimator of a
// site's states is that of a softmax.
func TestHeads(t *testing.T) {
	g := &generator{states: []int{2, 3, 64}, spins: 69, words: 2}
	const rows = 3
	r := rand.New(rand.NewPCG(2, 3))
	logits, grad := make([]float32, rows*g.spins), make([]float32, rows*g.spins)
	for i := range logits {
		logits[i], grad[i] = float32(r.IntN(5)), float32(r.NormFloat64())
	}
	out := []uint64{9, 9, 9, 9, 9, 9}
	g.raiseLargest(out, logits)
	want := make([]uint64, len(out))
	const width = 0.7
	slopes := make([]float64, len(grad))
	for row := range rows {
		at := 0
		for _, q := range g.states {
			h, d := logits[row*69+at:][:q], grad[row*69+at:][:q]
			up := at + slices.Index(h, slices.Max(h))
			want[2*row+up/64] |= 1 << (up % 64)
			p, sum := make([]float64, q), 0.0
			for c, x := range h {
				p[c] = math.Exp(float64(x) / width)
				sum += p[c]
			}
			for c := range p {
				for b := range p { // 2 p_b (δ − p_c)/τ
					is := 0.0
					if b == c {
						is = 1
					}
					slopes[row*69+at+c] += float64(d[b]) * 2 * p[b] / sum * (is - p[c]/sum) / width
				}
			}
			at += q
		}
	}
	require.Equal(t, want, out)
	g.straightThrough(grad, slices.Clone(logits), width)
	for i, x := range slopes {
		require.InDelta(t, x, grad[i], 1e-5)
	}

	// A bernoulli head is up where a uniform number is below its probability.
	b := &generator{spins: 70, words: 2}
	scratch := b.newHeadScratch(rows)
	h := make([]float32, rows*70)
	for i := range h {
		h[i] = float32(r.NormFloat64())
	}
	counter := asm.Counter{Seed: 4}
	out = slices.Repeat([]uint64{9}, 6)
	b.bernoulli(out, h, &counter, 5, scratch)
	u := make([]float32, 72*rows)
	asm.Uniforms(u, &counter, 5*18)
	for i, x := range h {
		p := 1 / (1 + math.Exp(-2*float64(x)))
		if d := float64(u[i/70*72+i%70]) - p; math.Abs(d) > 1e-5 {
			require.Equal(t, d < 0, out[i/70*2+i%70/64]>>(i%70%64)&1 == 1)
		}
	}
	require.Zero(t, out[1]>>6)

	// Widths: none is below 10⁻¹² of a spread, nor divided by no steps.
	s := &generator{config: GeneratorConfig{Head: "sign", Width: WidthConfig{Start: 2, Final: 0.5, Unit: "spread"}}}
	for _, c := range []struct {
		step, steps  int
		spread, want float64
	}{{0, 4, 3, 6}, {2, 4, 3, 3}, {4, 4, 3, 1.5}, {4, 4, 0, 0.5e-12}, {1, 0, 1, 0.5}} {
		require.InEpsilon(t, c.want, s.width(c.step, c.steps, c.spread), 1e-12)
	}
	s.config.Width.Unit = "absolute"
	require.Equal(t, 1.0, s.width(2, 4, 3))
	s.config.Head = "bernoulli"
	require.Equal(t, 1.0, s.width(4, 4, 3))
}
