package ising

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
)

// TestCountsAreThoseOfEnumeration compares with visits of all configurations.
func TestCountsAreThoseOfEnumeration(t *testing.T) {
	for l := 2; l <= 5; l++ {
		want := mustEnumerate(t, l)
		got, err := CountStates(l)
		require.NoError(t, err)
		require.Equal(t, want.count, got.count)
	}
	for _, l := range []int{-1, 0, 1, 9} {
		_, err := CountStates(l)
		require.Error(t, err)
	}
}

// TestCountsGiveThePartitionFunction holds Z of larger lattices against the
// trace of the transfer matrix and, without a field, Kaufman's formula.
func TestCountsGiveThePartitionFunction(t *testing.T) {
	long.SkipShort(t)
	for _, l := range []int{6, 7, 8} {
		g, err := CountStates(l)
		require.NoError(t, err)
		var sum uint64
		for _, c := range g.count {
			sum += c
		}
		require.Equal(t, uint64(1)<<(l*l), sum, "up to a multiple of 2⁶⁴")
		require.Equal(t, uint64(1), g.of(2*l*l, l*l))
		require.Equal(t, uint64(l*l), g.of(2*l*l-8, l*l-2), "one spin down")
		require.Equal(t, uint64(2*l*l), g.of(2*l*l-12, l*l-4), "two neighbours down")
		for _, c := range []Target{
			mustTarget(t, l, 1, 0, 0.2), mustTarget(t, l, 1, 0, 0.6), mustTarget(t, l, 1, 0.3, 0.4), mustTarget(t, l, -1, 0.5, 0.7), mustTarget(t, l, 0.4, -2, 0.5),
		} {
			logZ := g.Observables(c).LogZ
			m, rows := rowMatrix(c), 1<<l
			a := make([]float64, rows*rows)
			for x := range rows {
				a[x*rows+x] = 1
			}
			for range l {
				a = m.Times(a)
			}
			var z float64
			for x := range rows {
				z += a[x*rows+x]
			}
			largest := math.Inf(-1)
			for x := range rows {
				up := 0
				for i := range l {
					up += x >> i & 1
				}
				largest = max(largest, -c.Beta*c.EnergyOf(rowCorrelation(l, x, 1), 2*up-l))
			}
			require.InEpsilon(t, math.Log(z)+float64(l)*(largest+math.Abs(c.Beta*c.J)*float64(l)), logZ, 1e-12, "%+v", c)
			if k, err := Kaufman(l, c.J, c.Beta); err == nil && c.H == 0 {
				require.InEpsilon(t, k.LogZ, logZ, 1e-12)
			}
		}
	}
}

// TestTransferAgainstEnumeration holds G(r) and the standard deviation of a
// configuration's mean against sums over all configurations.
func TestTransferAgainstEnumeration(t *testing.T) {
	for _, c := range []Target{
		mustTarget(t, 3, 1, 0, 0.4), mustTarget(t, 4, 1, 0, 0.5), mustTarget(t, 4, -1, 0, 0.5), mustTarget(t, 3, -0.7, 0, 0.9),
		mustTarget(t, 4, 1, 0.3, 0.4), mustTarget(t, 3, -1, -0.8, 0.6), mustTarget(t, 2, 1, 0.1, 0.3),
	} {
		pi, err := c.Probabilities()
		require.NoError(t, err)
		n := axialDistances(c.L)
		sum, squares, g, rows := make([]float64, n), make([]float64, n), make([]float64, n), make([]uint32, c.L)
		for s, p := range pi {
			axialCorrelations(g, []uint64{uint64(s)}, rows)
			for i, v := range g {
				sum[i] += p * v
				squares[i] += p * v * v
			}
		}
		got := exactCorrelations(c)
		require.Len(t, got, n)
		for i, e := range got {
			require.InDelta(t, sum[i], e.Value, 1e-12)
			require.InDelta(t, math.Sqrt(squares[i]-sum[i]*sum[i]), e.deviation, 1e-7)
			require.Zero(t, e.Uncertainty)
		}
	}
	require.Empty(t, exactCorrelations(mustTarget(t, 7, -1, 0, 100)), "Z underflows")
}
