package stat_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/stat"
)

// TestLogMass: the integral of a Gaussian with correlations is found to a fifth by 400 of its
// states; by fewer, of which scales alone are known, it is at most overestimated by what
// correlations are worth. What does not vary, is on its way or too few, tells nothing.
func TestLogMass(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	states := func(n, d int, slope float64) (x, logs []float64) {
		for range n {
			sum, last := 0.0, 0.0
			for range d {
				u := random.NormFloat64()
				last = slope*last + u // determinant 1
				x = append(x, 3+last)
				sum -= u * u / 2
			}
			logs = append(logs, sum-7)
		}
		return x, logs
	}
	for _, d := range []int{1, 2, 5, 10} {
		want := float64(d)/2*math.Log(2*math.Pi) - 7
		x, logs := states(400, d, 0.8)
		require.InDelta(t, want, stat.LogMass(x, logs), 0.2, d)
	}
	x, logs := states(60, 20, 0)
	require.InDelta(t, 10*math.Log(2*math.Pi)-7, stat.LogMass(x, logs), 1)
	few, of := states(15, 2, 0)
	require.True(t, math.IsNaN(stat.LogMass(few, of)))
	still := make([]float64, 100)
	require.True(t, math.IsNaN(stat.LogMass(still, still)))
	for i := range still {
		still[i] = float64(i)
	}
	require.True(t, math.IsNaN(stat.LogMass(still, make([]float64, 100))), "on its way")
}
