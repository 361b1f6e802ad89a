package reals

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/pool"
)

// TestGradientOfTheDiscriminator compares a step's gradient with central differences of
// the states' with the discriminator's gradient, which package critic tests.
func TestGradientOfTheDiscriminator(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for _, name := range []string{"discriminator", "discriminator of pairs"} {
		c := testConfigs()[name]
		c.Training.Batch = 200
		s, err := New(&c.Config, c.target, workers)
		require.NoError(t, err)
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
			trainer.System().(*System).NewSampler(trainer.Params()).Draw(vectors.States{Dim: 2, X: x}, nil, 0, 0)
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
