package hybrid

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/systemtest"
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
	c.Generator.Scout = mixture.ScoutConfig{Population: 100, Moves: 2}
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

func TestContract(t *testing.T) {
	long.SkipShort(t)
	for _, preset := range Presets {
		c := small(t, preset)
		c.Evaluation.Samples = 1000
		t.Run(preset, func(t *testing.T) { systemtest.Run(t, c) })
	}
}

// TestTraining runs a few steps of a small problem with each loss.
func TestTraining(t *testing.T) {
	long.SkipShort(t)
	for _, preset := range []string{"paper", "quick"} {
		t.Run(preset, func(t *testing.T) { testTraining(t, preset) })
	}
}

func testTraining(t *testing.T, preset string) {
	c := small(t, preset)
	c.Target.Mu = []float64{0.5, 4}
	c.Training.Steps, c.Training.Optimizer.LearningRate = 300, 5e-3
	c.Generator.Gain, c.Generator.Components = 5, 2
	trainer := newTrainer(t, c, 2)
	require.NoError(t, trainer.Step())
	s := trainer.System().(*system)
	before, err := s.Evaluate(context.Background(), trainer.Params(), 20000)
	require.NoError(t, err)
	for trainer.Steps() < c.Training.Steps {
		require.NoError(t, trainer.Step())
	}
	after, err := s.Evaluate(context.Background(), trainer.Params(), 20000)
	require.NoError(t, err)
	i := slices.IndexFunc(after.Metrics, func(m measure.Metric) bool { return m.Name == "conditional_w1" })
	require.Less(t, after.Metrics[i].Error, before.Metrics[i].Error/2)
	require.Greater(t, s.Acceptance(), 0.2)
	require.NotEmpty(t, s.TensorName(0))
}
