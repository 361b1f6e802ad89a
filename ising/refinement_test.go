package ising

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/long"
)

// TestRefinementFollowsTheMatrix refines samples of an untrained generator,
// which are far from the target; with the wrong chain the checks fail.
func TestRefinementFollowsTheMatrix(t *testing.T) {
	long.SkipShort(t)
	c := small(t, "paper")
	c.Target.Beta = 0.3
	trainer := newTrainer(t, c, 2)
	s := trainer.System().(*system)
	run := func() (failed []string) {
		names := 0
		require.NoError(t, s.VerifyModel(context.Background(), trainer.Params(), 20_000, func(c engine.Check) {
			names++
			if !c.OK {
				failed = append(failed, c.Name)
			}
		}))
		require.Equal(t, len(refinements)+1, names)
		return failed
	}
	require.Empty(t, run())

	rows, rate, err := s.refine(context.Background(), trainer.Params(), 20_000)
	require.NoError(t, err)
	require.Equal(t, rows[0].predicted, rows[0].measured)
	for i := range rows[1:] {
		require.Less(t, rows[i+1].predicted, rows[i].predicted, "refinement never takes a law away from the target")
	}
	require.Less(t, rows[6].predicted, 0.1*rows[0].predicted)
	require.InDelta(t, 0.9, rate, 0.09)

	s.Kernel, err = bitspin.NewMetropolis(s.target.Model, 0.4, bitspin.MultiSpin())
	require.NoError(t, err)
	require.Contains(t, run(), "refinement/5", "steps at another temperature")
}

// TestRefinementOfFastAndFrozenChains: where λ^50 lies below rounding, and where
// the target's probabilities do, correct models pass. Every other combination is long.
func TestRefinementOfFastAndFrozenChains(t *testing.T) {
	if testing.Short() {
		t.Skip("TestRefinementFollowsTheMatrix refines on this path")
	}
	for i, proposal := range []string{"single", "mixture", "multi-spin", "sweep"} {
		for k, target := range []TargetConfig{
			{L: 3, Beta: 0, J: 1}, {L: 3, Beta: 0.01, J: 1}, {L: 3, Beta: 0.02, J: 1}, {L: 2, Beta: 0.01, J: 1}, {L: 3, Beta: 0.5},
			{L: 3, Beta: 100, J: 1}, {L: 3, Beta: 30, J: -1, H: 0.5},
		} {
			if (i+k)%2 == 1 && !long.Tests() {
				continue
			}
			c := small(t, "paper")
			c.Target, c.Transition.Proposal = target, proposal
			require.NoError(t, c.Validate())
			trainer := newTrainer(t, c, 2)
			require.NoError(t, trainer.System().(*system).VerifyModel(context.Background(), trainer.Params(), 5000, func(c engine.Check) {
				require.True(t, c.OK, "%s, %+v: %+v", proposal, target, c)
			}))
		}
	}
}

// TestDecayCanFail halves the eigenvalue that bounds the decay.
func TestDecayCanFail(t *testing.T) {
	c := small(t, "paper")
	trainer := newTrainer(t, c, 1)
	rows, _, err := trainer.System().(*system).refine(context.Background(), trainer.Params(), 20_000)
	require.NoError(t, err)
	require.Less(t, decay(rows), 1.0)
	require.Greater(t, decay(rows), 0.1)
	for i := range rows {
		rows[i].bound *= math.Pow(0.5, float64(rows[i].steps))
	}
	require.Greater(t, decay(rows), 10.0)
}

// TestSecondEigenvalue compares with what is known in closed form:
// at β = 0 every proposal is accepted, and Walsh functions are eigenvectors.
func TestSecondEigenvalue(t *testing.T) {
	target, err := NewTarget(2, 1, 0, 0)
	require.NoError(t, err)
	m, err := NewTransitionMatrix(target, bitspin.SingleSpin())
	require.NoError(t, err)
	// A single flip of four spins takes χ_A to (1 − |A|/2) χ_A.
	require.InDelta(t, 1, m.secondEigenvalue(), 1e-12)
	lazy := m.Power(2)
	for i, p := range m.P {
		lazy.P[i] = p / 2
	}
	for s := range lazy.States {
		lazy.Row(s)[s] += 0.5
	}
	require.InDelta(t, 0.75, lazy.secondEigenvalue(), 1e-12)
}
