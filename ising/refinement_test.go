package ising

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
)

// TestRefinementFollowsTheMatrix refines samples of an untrained generator,
// which are far from the target; with the wrong chain the checks fail.
func TestRefinementFollowsTheMatrix(t *testing.T) {
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

	s.metropolis, err = bitspin.NewMetropolis(s.model, 0.4, bitspin.MultiSpin())
	require.NoError(t, err)
	require.Contains(t, run(), "refinement/5", "steps at another temperature")
}

// TestSecondEigenvalue compares with what is known in closed form:
// at β = 0 every proposal is accepted, and Walsh functions are eigenvectors.
func TestSecondEigenvalue(t *testing.T) {
	target, err := NewTarget(2, 1, 0, 0)
	require.NoError(t, err)
	m, err := NewTransitionMatrix(target, bitspin.SingleSpin())
	require.NoError(t, err)
	pi, err := target.Probabilities()
	require.NoError(t, err)
	// A single flip of four spins takes χ_A to (1 − |A|/2) χ_A.
	require.InDelta(t, 1, m.secondEigenvalue(pi), 1e-12)
	lazy := m.Power(2)
	for i, p := range m.P {
		lazy.P[i] = p / 2
	}
	for s := range lazy.States {
		lazy.Row(s)[s] += 0.5
	}
	require.InDelta(t, 0.75, lazy.secondEigenvalue(pi), 1e-12)
}
