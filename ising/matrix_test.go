package ising

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/internal/long"
)

func mustProposal(t testing.TB, name string) bitspin.Proposal {
	p, err := bitspin.ParseProposal(name, 0.1)
	require.NoError(t, err)
	return p
}

func mustMatrix(t testing.TB, target Target, proposal string) *TransitionMatrix {
	m, err := NewTransitionMatrix(target, mustProposal(t, proposal))
	require.NoError(t, err)
	return m
}

// TestSpectralGaps compares the second largest eigenvalue and the acceptance
// in equilibrium with values computed independently.
func TestSpectralGaps(t *testing.T) {
	long.SkipShort(t)
	for _, c := range []struct {
		proposal              string
		beta, gap, acceptance float64
	}{
		{"mixture", 0.2, 0.111, 0.680},
		{"mixture", 0.5, 0.0509, 0.170},
		{"multi-spin", 0.2, 0.0734, 0.605},
		{"multi-spin", 0.5, 0.0197, 0.154},
	} {
		target := mustTarget(t, 3, 1, 0, c.beta)
		m := mustMatrix(t, target, c.proposal)
		pi, err := target.Probabilities()
		require.NoError(t, err)
		// In detailed balance √(π(s)/π(s′)) P(s, s′) is symmetric.
		symmetric := mat.NewSymDense(m.States, nil)
		var stay float64
		for s := range m.States {
			stay += pi[s] * m.P[s*m.States+s]
			for j := range s + 1 {
				symmetric.SetSym(s, j, math.Sqrt(pi[s]/pi[j])*m.P[s*m.States+j])
			}
		}
		var eigen mat.EigenSym
		require.True(t, eigen.Factorize(symmetric, false))
		values := eigen.Values(nil)
		require.InDelta(t, 1, values[len(values)-1], 1e-12)
		require.InDelta(t, c.gap, 1-values[len(values)-2], 6e-4*math.Max(0.1, c.gap*10))
		require.InDelta(t, c.acceptance, 1-stay, 5e-4)
	}
}

func TestPowersKeepTheTarget(t *testing.T) {
	long.SkipShort(t)
	for name, h := range map[string]float64{"single": 0, "mixture": 0.4, "multi-spin": 0.4} {
		target := mustTarget(t, 3, -1, h, 0.3)
		pi, err := target.Probabilities()
		require.NoError(t, err)
		one := mustMatrix(t, target, name)
		require.LessOrEqual(t, one.detailedBalanceError(pi), 1e-15)
		require.LessOrEqual(t, one.rowSumError(), 1e-15)
		require.Zero(t, one.unreachable())
		five := one.Power(5)
		require.LessOrEqual(t, five.detailedBalanceError(pi), 1e-14)
		require.LessOrEqual(t, five.rowSumError(), 1e-14)
		require.LessOrEqual(t, TotalVariation(pi, five.Apply(pi)), 1e-14)
		start := make([]float64, 512)
		start[3] = 1
		stepwise := start
		for range 5 {
			stepwise = one.Apply(stepwise)
		}
		require.InDeltaSlice(t, stepwise, five.Apply(start), 1e-14)
	}
	zero := mustMatrix(t, mustTarget(t, 2, 1, 0, 1), "single").Power(0)
	require.Equal(t, []float64{0, 1, 0}, zero.Row(1)[:3])
}

func TestSweepsKeepTheTarget(t *testing.T) {
	for _, l := range []int{2, 3} {
		target := mustTarget(t, l, -1, 0.2, 0.3)
		pi, err := target.Probabilities()
		require.NoError(t, err)
		m, err := NewSweepMatrix(target)
		require.NoError(t, err)
		require.LessOrEqual(t, m.detailedBalanceError(pi), 1e-14)
		require.LessOrEqual(t, m.rowSumError(), 1e-14)
		require.Zero(t, m.unreachable())
	}
	_, err := NewSweepMatrix(mustTarget(t, 4, 1, 0, 0.2))
	require.ErrorContains(t, err, "4×4")
}

// TestMatrixEntry spells out one row on the 2×2 lattice, where flipping one
// spin of the ground state breaks four bonds.
func TestMatrixEntry(t *testing.T) {
	row := mustMatrix(t, mustTarget(t, 2, 1, 0, 0.3), "single").Row(0)
	for s, p := range row {
		switch s {
		case 1, 2, 4, 8:
			require.InDelta(t, math.Exp(-0.3*8)/4, p, 1e-17)
		case 0:
			require.InDelta(t, 1-math.Exp(-0.3*8), p, 1e-16)
		default:
			require.Zero(t, p)
		}
	}
}

func TestMatrixTooLarge(t *testing.T) {
	_, err := NewTransitionMatrix(mustTarget(t, 4, 1, 0, 0.2), bitspin.MultiSpin())
	require.ErrorContains(t, err, "4×4")
}

func TestUnreachableIsSeen(t *testing.T) {
	m := mustMatrix(t, mustTarget(t, 2, 1, 0, 1), "single")
	for s := range m.States {
		if s != 5 {
			m.P[s*m.States+5] = 0
		}
	}
	require.Equal(t, 1, m.unreachable(), "5 cannot be entered but can be left")
}
