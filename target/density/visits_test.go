package density

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVisits: a tail that chains leave again has the weight of their visits; where one stays it
// may have any.
func TestVisits(t *testing.T) {
	for _, c := range []struct {
		there  []bool
		chains int
		share  float64
		stayed bool
	}{
		{[]bool{false, false, false, false, false, false}, 0, 0, false},
		{[]bool{true, false, false, false, true, false}, 2, 2.0 / 6, false},
		{[]bool{false, false, false, true, true, false}, 1, 2.0 / 6, false},
		{[]bool{false, false, true, false, false, false}, 1, 1.0 / 6, true},
	} {
		chains, share, stayed := visits(c.there, 3)
		require.Equal(t, c.chains, chains)
		require.InDelta(t, c.share, share, 1e-12)
		require.Equal(t, c.stayed, stayed)
	}
}
