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
	if testing.Short() {
		t.Skip("trains for long")
	}
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

// TestCollapseIsOfTheTarget: a target whose energies are all the same, or that is
// always in a ground state, has not collapsed to that.
func TestCollapseIsOfTheTarget(t *testing.T) {
	for name, target := range map[string]TargetConfig{"free": {L: 3, Beta: 0.2}, "cold": {L: 3, Beta: 30, J: 1}, "warm": {L: 3, Beta: 0.3, J: 1}} {
		c := small(t, "paper")
		c.Target = target
		s := newTrainer(t, c, 1).System().(*system)
		r, err := s.reference(context.Background())
		require.NoError(t, err)
		require.Empty(t, r.collapse(r.joint), name)
		up := newTally(s.target.Model) // all up and all down alike
		up.count([]uint64{0, 511})
		up.joint.normalise()
		require.Equal(t, name == "warm", len(r.collapse(up.joint)) == 1, name)
	}
}

// TestAnnealRaisesTheInverseTemperature wants the first steps to be taken at a
// fraction of β, the target's from the given step on, and the same acceptance
// whether the average is exact or sampled.
func TestAnnealRaisesTheInverseTemperature(t *testing.T) {
	for _, objective := range []string{"kfd", "mmd"} {
		acceptance := func(average string, step uint32) float64 {
			c := kfdConfig(t, "bernoulli", "z2", false)
			c.Target.Beta, c.Loss.Average, c.Loss.Kind = 0.6, average, objective
			c.Training.Steps, c.Training.Batch = 100, 2000
			c.Loss.Witness.Rank, c.Transition.Proposal, c.Transition.Steps = 130, "single", 1
			c.Transition.Anneal = 0.5
			require.NoError(t, c.Validate())
			trainer := newTrainer(t, c, 2)
			s := trainer.System()
			s.Generate(trainer.Params(), 1)
			s.Transition(step)
			s.Discrepancy(step)
			return s.Acceptance()
		}
		exact := map[uint32]float64{}
		for _, step := range []uint32{0, 25, 49, 50, 100} {
			exact[step] = acceptance("exact", step)
			require.InDelta(t, exact[step], acceptance("sampled", step), 0.06, "step %d", step)
		}
		require.Greater(t, exact[0], 0.95)
		require.Greater(t, exact[0], exact[25]+0.05)
		require.Greater(t, exact[25], exact[49]+0.05)
		require.Equal(t, exact[50], exact[100])
	}
}
