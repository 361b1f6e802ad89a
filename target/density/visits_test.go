package density

import (
	"testing"

	"github.com/stretchr/testify/require"
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
