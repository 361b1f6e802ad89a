package ising

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCollapseIsReported trains without a symmetry below the critical
// temperature, with a seed for which a generator that meets the cold target at
// once loses a sector of the magnetisation. The evaluation says so, and an
// annealed generator keeps both.
func TestCollapseIsReported(t *testing.T) {
	warnings := func(anneal float64) []string {
		c := kfdConfig(t, "bernoulli", "none", true)
		c.Training.Seed, c.Target.Beta = 101, 0.5
		c.Generator.Latent, c.Generator.Hidden = 16, []int{64, 64}
		c.Training.Steps, c.Training.Batch, c.Training.Schedule.Warmup = 100, 256, 20
		c.Transition.Anneal = anneal
		trainer := newTrainer(t, c, 2)
		for range c.Training.Steps {
			require.NoError(t, trainer.Step())
		}
		e, err := trainer.System().(*system).Evaluate(context.Background(), trainer.Params(), 20000)
		require.NoError(t, err)
		return e.Warnings
	}
	collapsed := warnings(0)
	require.Len(t, collapsed, 1)
	require.Contains(t, collapsed[0], "one sector of the magnetisation prevails")
	require.Empty(t, warnings(0.5))
}
