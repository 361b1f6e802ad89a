package mixed

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/engine/vectors"
)

// judged returns a small run with a discriminator for its loss.
func judged(d int, form string) *testConfig {
	c := small(paperConfig(), threeTwins(d))
	c.Loss = LossConfig{Kind: "discriminator", Discriminator: critic.Default()}
	c.Loss.Discriminator.Form, c.Loss.Discriminator.Hidden = form, []int{12}
	return c
}

func TestContractOfTheDiscriminator(t *testing.T) {
	for _, d := range configDims {
		for _, form := range []string{"pair", "difference"} {
			t.Run(fmt.Sprintf("%s in %d", form, d), func(t *testing.T) { systemtest.Run(t, judged(d, form)) })
		}
	}
	trainer := newTrainer(t, judged(1, "pair"), 1)
	require.NotEmpty(t, trainer.System().(*System).State(), "a checkpoint must hold the discriminator")
}

// TestGradientOfTheDiscriminator compares a step's gradient with central differences of
// what the loss says of x and of every mode, and that with the critic's own values.
func TestGradientOfTheDiscriminator(t *testing.T) {
	for _, form := range []string{"pair", "difference"} {
		c := judged(2, form)
		s := newTrainer(t, c, 2).System().(*System)
		params := make([]float32, s.NumParams())
		s.Initialize(params)
		worst, _ := engine.GradientError(s, params, s.Backward)
		require.Less(t, worst, 1e-4)

		const n, d, modes, width = 300, 2, 3, 5
		o, err := newDiscriminator(n, d, modes, c.Loss.Discriminator, 3, s.workers)
		require.NoError(t, err)
		x, k := exact(threeTwins(d), n, 1)
		y, l := exact(threeTwins(d), n, 2)
		evaluate := func(k []uint8) (loss float64, f []float32) {
			o.embed(o.from, x, k)
			o.embed(o.to, y, l)
			loss = o.Evaluate(o.from, o.to)
			return loss, slices.Clone(o.Values())
		}
		var ofMode [modes][]float32
		for mode := range ofMode {
			_, ofMode[mode] = evaluate(slices.Repeat([]uint8{uint8(mode)}, n))
		}
		loss, f := evaluate(k)
		grad := make([]float32, n*width)
		o.Critic.Gradient(grad)

		gradX, witness := make([]float32, n*d), make([]float32, n*modes)
		require.Equal(t, loss, o.LossGradient(x, y, k, l, gradX, witness))
		for i := range n {
			require.Equal(t, grad[i*width:][:d], gradX[i*d:][:d])
			for mode := range modes {
				require.InDelta(t, ofMode[mode][i]-f[i], n*witness[i*modes+mode], 1e-5)
			}
		}
		after, _ := evaluate(k)
		require.Greater(t, after, loss, "it learns from the batch")
	}
}

// lineError returns by how much the statistics of samples are off, at most.
func lineError(t *engine.Trainer) (worst float64) {
	const n = 1 << 15
	x, k := make([]float32, 2*n), make([]uint8, n)
	t.System().(*System).NewSampler(t.Params()).Draw(vectors.States{Dim: 2, X: x, K: k}, nil, 0, 0)
	var got [lineStatistics]float64
	for i := range k {
		addLine(&got, 1./n, float64(x[2*i]), float64(x[2*i+1]), int(k[i]))
	}
	for i, v := range (lineFit{}).exact() {
		worst = max(worst, math.Abs(got[i]-v))
	}
	return worst
}

// TestDiscriminatorFindsAPosterior trains a perceptron by a discriminator and compares
// the modes' probabilities and moments with quadrature.
func TestDiscriminatorFindsAPosterior(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for long")
	}
	c := judged(1, "difference")
	c.target = lineFit{}
	c.Training.Batch, c.Training.Steps, c.Training.EMA = 512, 800, 0.99
	c.Training.Optimizer = optim.AdamW{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-16}
	c.Training.Schedule = optim.Schedule{Kind: "cosine", Final: 0.01}
	c.Transition = TransitionConfig{Order: "random", Across: 0.5, Sigma: []float64{0.1, 0.4}, Flip: 0.5, Steps: 10}
	c.Generator.Hidden, c.Generator.Gain = []int{32, 32}, 2
	c.Loss.Discriminator.Hidden = []int{32, 32}
	trainer := newTrainer(t, c, 2)
	before := lineError(trainer)
	for trainer.Steps() < c.Training.Steps {
		require.NoError(t, trainer.Step())
	}
	require.Less(t, lineError(trainer), min(0.05, before/5))
}
