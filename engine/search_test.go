package engine_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/alloctest"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/ising"
)

// methodConfig is a small run by the given method, with a discriminator for the gradient
// and a loss without memory for the others.
func methodConfig(t *testing.T, method string) *ising.Config {
	c := config(t)
	c.Training.Method = method
	c.Training.Evolution.Pairs, c.Training.Consensus.Particles = 3, 5
	if method != "gradient" {
		c.Loss.Kind = "mmd"
	}
	return c
}

func config(t *testing.T) *ising.Config {
	t.Helper()
	c, err := ising.Preset("paper")
	require.NoError(t, err)
	c.Training.Steps, c.Training.Batch, c.Training.EMA = 12, 300, 0.998
	c.Training.Schedule.Kind, c.Transition.Anneal = "cosine", 0.3
	c.Target.L = 2
	c.Loss.Kind = "discriminator" // which has state beyond the parameters
	c.Loss.Discriminator.Hidden, c.Loss.Discriminator.Steps = []int{8}, 1
	c.Training.LogEvery, c.Training.CheckpointEvery = 1, 5
	c.Generator.Hidden = []int{16}
	c.Evaluation.Samples, c.Evaluation.Every = 1000, 4
	return c
}

// TestEvolutionEstimatesTheGradient: of a quadratic loss the antithetic
// difference is the derivative in the direction of ε exactly, so that the
// estimate is (1/P) Σ_p (∇L·ε_p) ε_p. Its norm and the first step of AdamW,
// whose length is the learning rate, are compared with that.
func TestEvolutionEstimatesTheGradient(t *testing.T) {
	const size = 5000 // three chunks, the last cut
	b := systemtest.NewBowl(size, "evolution")
	b.Training.Optimizer.LearningRate = 1e-3
	b.Training.Evolution = search.Evolution{Pairs: 6, Sigma: 0.05, Fitness: "plain"}
	workers := pool.New(2)
	defer workers.Close()
	trainer, err := engine.NewTrainer(b, workers)
	require.NoError(t, err)
	require.NoError(t, trainer.Step())

	stream := rng.Stream(b.Training.Seed, rng.Perturbation, 1)
	want := make([]float64, size)
	for pair := range 6 {
		epsilon := make([]float32, 3*2048)
		asm.Normals(epsilon, &stream, uint64(pair*3*2048/4))
		var slope float64
		for i := range size {
			slope -= float64(i+1) * float64(epsilon[i])
		}
		for i := range want {
			want[i] += slope * float64(epsilon[i]) / 6
		}
	}
	var norm float64
	for _, v := range want {
		norm += v * v
	}
	require.InEpsilon(t, math.Sqrt(norm), trainer.Record().GradientNorm, 1e-3)
	agree := 0
	for i, p := range trainer.Params() {
		require.InDelta(t, 1e-3, math.Abs(float64(p)), 1e-6)
		if (p < 0) == (want[i] > 0) {
			agree++
		}
	}
	require.Greater(t, agree, size*99/100, "all but those that are 0 within rounding")
}

func TestMethodsDescend(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for long")
	}
	for _, fitness := range []string{"plain", "rank"} {
		for _, method := range []string{"gradient", "evolution", "consensus"} {
			b := systemtest.NewBowl(8, method)
			b.Training.Steps, b.Training.Optimizer.LearningRate = 300, 0.03
			b.Training.Evolution.Fitness = fitness
			b.Training.Consensus = search.Consensus{Particles: 64, Spread: 1, Sharpness: 20, Noise: 0.5, TimeStep: 0.02}
			workers := pool.New(1)
			trainer, err := engine.NewTrainer(b, workers)
			require.NoError(t, err)
			for range 300 {
				require.NoError(t, trainer.Step())
			}
			loss, _ := b.Loss(trainer.Params(), 0)
			require.Less(t, loss, 0.1*18, "%s, %s: of 18 at the start", method, fitness)
			workers.Close()
		}
	}
}

func TestMethodsAreReproducible(t *testing.T) {
	for _, method := range []string{"gradient", "evolution", "consensus"} {
		for _, ema := range []float64{0, 0.9} {
			var want []float32
			for _, threads := range []int{1, 2, 3} {
				c := methodConfig(t, method)
				c.Generator.Hidden = []int{128} // more than one chunk
				c.Training.EMA, c.Loss.Kernel, c.Loss.Statistic = ema, mmd.Kernel{Bandwidths: []float64{2}}, mmd.V
				workers := pool.New(threads)
				trainer, err := engine.NewTrainer(c, workers)
				require.NoError(t, err)
				for range 3 {
					require.NoError(t, trainer.Step())
				}
				if want == nil {
					want = append(want, trainer.Params()...)
				}
				require.Equal(t, want, trainer.Params(), "%s, %d threads", method, threads)
				require.Zero(t, alloctest.PerRun(3, func() {
					if err := trainer.Step(); err != nil {
						panic(err)
					}
				}), method)
				workers.Close()
			}
		}
	}
}

// TestMethodsRefuse what they cannot do.
func TestMethodsRefuse(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	c := methodConfig(t, "evolution")
	c.Loss.Kind = "discriminator"
	_, err := engine.NewTrainer(c, workers)
	var refused *engine.MethodError
	require.ErrorAs(t, err, &refused)
	require.ErrorContains(t, err, "training.method: evolution compares the losses")

	for key, change := range map[string]func(*engine.Training){
		"training.evolution.pairs":     func(t *engine.Training) { t.Evolution.Pairs = 0 },
		"training.evolution.sigma":     func(t *engine.Training) { t.Evolution.Sigma = math.NaN() },
		"training.evolution.fitness":   func(t *engine.Training) { t.Evolution.Fitness = "beauty" },
		"training.consensus.particles": func(t *engine.Training) { t.Consensus.Particles = 1 },
		"training.consensus.spread":    func(t *engine.Training) { t.Consensus.Spread = 0 },
		"training.consensus.sharpness": func(t *engine.Training) { t.Consensus.Sharpness = math.Inf(1) },
		"training.consensus.noise":     func(t *engine.Training) { t.Consensus.Noise = 1.5 },
		"training.consensus.time_step": func(t *engine.Training) { t.Consensus.TimeStep = 0 },
		"training.clip_norm":           func(t *engine.Training) { t.Method, t.ClipNorm = "consensus", 1 },
	} {
		b := systemtest.NewBowl(3, "evolution")
		if key[9] == 'c' {
			b.Training.Method = "consensus"
		}
		require.NoError(t, b.Validate())
		change(&b.Training)
		require.ErrorContains(t, b.Validate(), key+":")
	}
}
