package density

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
)

// TestVisits: a tail that chains leave again has the weight of their visits; where one stays, or
// is at a state as likely as others, it may have any.
func TestVisits(t *testing.T) {
	const draws = 300
	for _, c := range []struct {
		there  []int
		chains int
		share  float64
		likely int // states that are less so
		mode   bool
	}{
		{nil, 0, 0, 0, false},
		{[]int{0, draws + 1}, 2, 2.0 / 600, 4, false},
		{[]int{draws, draws + 1}, 1, 2.0 / 600, 4, false},
		{[]int{draws - 1}, 1, 1.0 / 600, 5, true},
		{[]int{0, draws + 1}, 2, 2.0 / 600, 6, true},
	} {
		there, likelihood := make([]bool, 2*draws), make([]float64, 2*draws)
		for i := range likelihood {
			likelihood[i] = -1
		}
		for i := range c.likely { // others than these
			likelihood[100+i] = -3
		}
		for _, i := range c.there {
			there[i], likelihood[i] = true, -2
		}
		if len(c.there) > 1 {
			likelihood[c.there[0]] = -4 // less likely than all others
		}
		chains, share, mode := visits(there, likelihood, draws)
		require.Equal(t, c.chains, chains)
		require.InDelta(t, c.share, share, 1e-12)
		require.Equal(t, c.mode, mode)
	}
}

// TestPlaces: of each chain that was somewhere its states there, ln π with every mode, and how far
// it was from the samples in their standard deviations, but for ln π and weights. Its last state
// counts where it is as likely as nearly all samples.
func TestPlaces(t *testing.T) {
	const draws = 3
	s := &system{System: &vectors.System{Ensemble: &vectors.Ensemble{}}, names: []string{"x0", "log_density", engine.LogWeight}}
	s.Modes = 2
	samples := []float64{-1, -1, 0, 1, -2, 0, -1, -3, 0, 1, -4, 0}
	values, logPi, there := make([]float64, 3*ofReference*draws), make([]float64, ofReference*draws), make([]bool, ofReference*draws)
	states := vectors.States{X: make([]float32, 2*ofReference*draws), Dim: 2}
	for i := range there {
		states.X[2*i], logPi[i] = float32(i), float64(-i)
		copy(values[3*i:], []float64{float64(10 * i), -5, 99})
	}
	there[4], there[5] = true, true // of the second chain
	places := s.places(states, logPi, values, there, samples)
	require.Len(t, places, 1)
	require.Equal(t, []float64{4, 0, 5, 0}, places[0].X)
	require.InDeltaSlice(t, []float64{math.Ln2 - 4, math.Ln2 - 5}, places[0].LogPi, 1e-12)
	require.InDelta(t, 50/math.Sqrt(4./3), places[0].Away, 1e-12)
	values[3*5+1] = -4
	logs := s.likely(values, samples)
	require.Len(t, logs, ofReference)
	for c, l := range logs {
		require.Equal(t, map[bool]float64{true: 99, false: math.Inf(-1)}[c == 1], l)
	}
}
