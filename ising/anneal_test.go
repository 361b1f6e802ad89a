package ising

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCollapseIsReported: below the critical temperature a generator whose spins prefer
// one direction has lost a sector of the magnetisation. The evaluation says so.
func TestCollapseIsReported(t *testing.T) {
	warnings := func(bias float32) []string {
		c := mmdConfig(t)
		c.Target.Beta = 0.5
		trainer := newTrainer(t, c, 2)
		params := trainer.Params()
		for i := range 9 {
			params[len(params)-1-i] = bias
		}
		e, err := trainer.System().(*system).Evaluate(context.Background(), params, 20000)
		require.NoError(t, err)
		return e.Warnings
	}
	collapsed := warnings(2)
	require.Len(t, collapsed, 1)
	require.Contains(t, collapsed[0], "one sector of the magnetisation prevails")
	require.Empty(t, warnings(0))
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
// fraction of β, and the target's from the given step on.
func TestAnnealRaisesTheInverseTemperature(t *testing.T) {
	acceptance := func(step uint32) float64 {
		c := mmdConfig(t)
		c.Target.Beta = 0.6
		c.Training.Steps, c.Training.Batch = 100, 2000
		c.Transition.Proposal, c.Transition.Steps = "single", 1
		c.Transition.Anneal = 0.5
		require.NoError(t, c.Validate())
		trainer := newTrainer(t, c, 2)
		s := trainer.System().(*system)
		s.Generator.Draw(s.S, trainer.Params(), 1)
		require.NoError(t, s.Transition.Move(s.Next, s.S, step))
		return s.Acceptance()
	}
	of := map[uint32]float64{}
	for _, step := range []uint32{0, 25, 49, 50, 100} {
		of[step] = acceptance(step)
	}
	require.Greater(t, of[0], 0.95)
	require.Greater(t, of[0], of[25]+0.05)
	require.Greater(t, of[25], of[49]+0.05)
	require.InDelta(t, of[50], of[100], 0.06)
}
