package gmm

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNeighbours: every seed has a target that can be used, and seeds differ.
func TestNeighbours(t *testing.T) {
	dims := map[int]bool{}
	for seed := range uint64(100) {
		c := Neighbour(seed)
		target, err := NewTarget(c)
		require.NoError(t, err)
		require.Equal(t, c, Neighbour(seed))
		require.GreaterOrEqual(t, target.Components(), 2)
		require.LessOrEqual(t, target.Components(), 6)
		dims[target.Dim()] = true
	}
	require.Len(t, dims, 16)
}
