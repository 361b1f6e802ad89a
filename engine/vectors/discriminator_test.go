package vectors

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// TestGradientOfTheDiscriminator compares a step's gradient with central differences of
// the states' with the discriminator's gradient, which package critic tests.
func TestGradientOfTheDiscriminator(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	for _, name := range []string{"discriminator", "discriminator of pairs"} {
		c := testConfigs()[name]
		c.Training.Batch = 200
		s := New(&c.Config, c.target, workers)
		require.NotEmpty(t, s.State(), "a checkpoint must hold the discriminator")
		params := make([]float32, s.NumParams())
		s.Initialize(params)
		worst, _ := engine.GradientError(s, params, s.Backward)
		require.Less(t, worst, 1e-4, name)
	}
}

// TestDiscriminatorLearnsAMixture trains both generators that need no density by a
// discriminator, and compares the weight of a mode and the moments with exact samples.
func TestDiscriminatorLearnsAMixture(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for long")
	}
	const n = 1 << 15
	statistics := func(x []float32) (sum [6]float64) {
		for i := range n {
			u, v := float64(x[2*i]), float64(x[2*i+1])
			above := 0.0
			if u+v > 0 {
				above = 1
			}
			for j, s := range [6]float64{above, u, v, u * u, v * v, u * v} {
				sum[j] += s / n
			}
		}
		return sum
	}
	target := plane(0.6)
	want := statistics(exact(target, n, 3))
	for _, kind := range []string{"realnvp", "residual"} {
		c := testConfigs()["discriminator"]
		c.Training.Batch, c.Training.Steps, c.Training.EMA = 512, 600, 0.99
		c.Training.Optimizer = optim.AdamW{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-16}
		c.Training.Schedule = optim.Schedule{Kind: "cosine", Final: 0.01}
		c.Transition = TransitionConfig{Sigma: []float64{0.3, 1, 2}, Steps: 10}
		c.Generator.Kind, c.Generator.Hidden, c.Loss.Boundary.Weight = kind, []int{32, 32}, 0
		c.Loss.Discriminator.Hidden = []int{32, 32}
		workers := pool.New(2)
		trainer, err := engine.NewTrainer(c, workers)
		require.NoError(t, err)
		off := func() (worst float64) {
			x := make([]float32, 2*n)
			trainer.System().(*System).NewSampler(trainer.Params()).Draw(states(x, 2), nil, 0)
			for j, s := range statistics(x) {
				worst = max(worst, math.Abs(s-want[j]))
			}
			return worst
		}
		before := off()
		for trainer.Steps() < c.Training.Steps {
			require.NoError(t, trainer.Step())
		}
		require.Less(t, off(), min(0.06, before/10), kind)
		workers.Close()
	}
}

// judgedModes returns a small run with a discriminator for its loss.
func judgedModes(d int, form string) *modalConfig {
	c := small(modalPaper(), threeTwins(d))
	c.Loss = ModalLoss{Kind: "discriminator", Discriminator: critic.Default()}
	c.Loss.Discriminator.Form, c.Loss.Discriminator.Hidden = form, []int{12}
	return c
}

// TestGradientOfTheModalDiscriminator compares a step's gradient with central differences of
// what the loss says of x and of every mode, and that with the critic's own values.
func TestGradientOfTheModalDiscriminator(t *testing.T) {
	for _, form := range []string{"pair", "difference"} {
		c := judgedModes(2, form)
		s := newTrainer(t, c, 2).System().(*System)
		params := make([]float32, s.NumParams())
		s.Initialize(params)
		worst, _ := engine.GradientError(s, params, s.Backward)
		require.Less(t, worst, 1e-4)

		const n, d, modes, width = 300, 2, 3, 5
		o := newDiscriminator(n, d, modes, c.Loss.Discriminator, 3, s.Workers)
		from, next := exactTwins(threeTwins(d), n, 1), exactTwins(threeTwins(d), n, 2)
		evaluate := func(k []uint8) (loss float64, f []float32) {
			o.embed(o.s, States{d, from.X, k})
			o.embed(o.next, next)
			loss = o.Evaluate(o.s, o.next)
			return loss, slices.Clone(o.Values())
		}
		var ofMode [modes][]float32
		for mode := range ofMode {
			_, ofMode[mode] = evaluate(slices.Repeat([]uint8{uint8(mode)}, n))
		}
		loss, f := evaluate(from.K)
		grad := make([]float32, n*width)
		o.Critic.Gradient(grad)

		ds := newStateGradient(n, d, modes)
		require.Equal(t, loss, o.LossGradient(ds, from, next))
		for i := range n {
			require.Equal(t, grad[i*width:][:d], ds.x[i*d:][:d])
			for mode := range modes {
				require.InDelta(t, ofMode[mode][i]-f[i], n*ds.k[i*modes+mode], 1e-5)
			}
		}
		after, _ := evaluate(from.K)
		require.Greater(t, after, loss, "it learns from the batch")
	}
}

// lineError returns by how much the statistics of samples are off, at most.
func lineError(t *engine.Trainer) (worst float64) {
	const n = 1 << 15
	s := t.System().(*System)
	samples := s.NewStates(n)
	s.NewSampler(t.Params()).Draw(samples, nil, 0)
	var got [lineStatistics]float64
	for i, k := range samples.K {
		addLine(&got, 1./n, float64(samples.X[2*i]), float64(samples.X[2*i+1]), int(k))
	}
	for i, v := range (lineFit{}).exact() {
		worst = max(worst, math.Abs(got[i]-v))
	}
	return worst
}

// TestDiscriminatorFindsAPosterior trains a perceptron by a discriminator and compares
// the modes' probabilities and moments with quadrature.
func TestDiscriminatorFindsAPosterior(t *testing.T) {
	long.Only(t)
	c := judgedModes(1, "difference")
	c.target = lineFit{}
	c.Training.Batch, c.Training.Steps, c.Training.EMA = 512, 800, 0.99
	c.Training.Optimizer = optim.AdamW{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-16}
	c.Training.Schedule = optim.Schedule{Kind: "cosine", Final: 0.01}
	c.Transition = ModalTransition{Order: "random", Across: 0.5, Sigma: []float64{0.1, 0.4}, Flip: 0.5, Steps: 10}
	c.Generator.Hidden, c.Generator.Gain = []int{32, 32}, 2
	c.Loss.Discriminator.Hidden = []int{32, 32}
	trainer := newTrainer(t, c, 2)
	before := lineError(trainer)
	for trainer.Steps() < c.Training.Steps {
		require.NoError(t, trainer.Step())
	}
	require.Less(t, lineError(trainer), min(0.05, before/5))
}
