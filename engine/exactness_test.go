package engine

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/measure"
)

// TestFiguresOfExactness: runs of 5, 3 and 2 draws and one of 3 that goes on, of 16
// proposals of which 4 were accepted.
func TestFiguresOfExactness(t *testing.T) {
	e := &Exact{firstR: make([]float64, 200), numProposed: 16, numAccepted: 4}
	for _, run := range []uint64{5, 3, 2} {
		e.runLength = run
		e.endRun()
	}
	e.runLength = 3
	x := e.Exactness()
	require.Equal(t, 47.0/13, x.Time)
	require.True(t, x.AtLeast, "25 of 47 are one run's")
	require.Equal(t, 0.25, x.Acceptance)
	require.EqualValues(t, 5, x.Longest)
	require.Equal(t, []int{1 << 12, 1 << 16}, []int{x.BurnIn, x.Length})
	require.Equal(t, measure.NewWeights(e.firstR), x.Weights)
	require.Zero(t, x.Bias, "equal weights")
	e.runLength = 512
	require.Empty(t, e.Exactness().Warning)
	e.runLength = 513
	require.EqualValues(t, 513, e.Exactness().Longest)
	require.Equal(t, "a chain stayed at one state for 513 draws, for which 4096 discarded ones are few: the chains' starts may leave a bias", e.Exactness().Warning)
	require.Equal(t, Exactness{BurnIn: 1 << 12, Length: 1 << 16, Weights: x.Weights}, (&Exact{firstR: e.firstR}).Exactness())

	// A run of ten draws is a tenth of 900 others and itself, and more of 899.
	for others, want := range map[float64]bool{900: false, 899: true} {
		require.Equal(t, want, (&Exact{firstR: e.firstR, sumRuns: 910, sumSquares: 100 + others, longestRun: 10}).Exactness().AtLeast)
	}

	// One weight is far above the mean of light tails.
	e = &Exact{}
	sum := 0.0
	for i := range 50_000 {
		r := 0.2 * math.Log((float64(i)+0.5)/50_000)
		e.firstR = append(e.firstR, r)
		sum += math.Exp(-r)
	}
	e.firstR[0] = -math.Log(800 * sum / 50_000)
	x = e.Exactness()
	w := x.Weights.Largest
	require.InDelta(t, 790, w, 10)
	require.True(t, x.Weights.Trusted(), x.Weights.Warning)
	require.InEpsilon(t, math.Pow(1-1/w, 4096), x.Bias, 1e-9)
	require.Contains(t, x.Warning, "times the mean weight, for which 4096 discarded draws are too few: the chains' starts may leave a bias")
	e.firstR[0] = -math.Log(500 * sum / 50_000) // (1 − 1/500)^4096 = 0.0003
	require.Empty(t, e.Exactness().Warning)
}
