package rng

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
)

// TestNormalsAreSlicesOfOneStream draws the same samples in one piece and in
// several, for widths with and without a remainder modulo a block.
func TestNormalsAreSlicesOfOneStream(t *testing.T) {
	for _, dim := range []int{1, 2, 3, 4, 5, 7, 8, 32, 33, 509, 515} {
		c := Stream(11, TrainLatent, 3)
		whole := make([]float32, 20*dim)
		Normals(whole, dim, &c, 100)
		for _, lo := range []int{0, 1, 7, 19} {
			part := make([]float32, (20-lo)*dim)
			Normals(part, dim, &c, uint64(100+lo))
			require.Equal(t, whole[lo*dim:], part, "dim %d", dim)
		}
		other := Stream(11, TrainLatent, 4)
		next := make([]float32, 20*dim)
		Normals(next, dim, &other, 100)
		require.NotEqual(t, whole, next)
		require.Zero(t, alloctest.PerRun(10, func() { Normals(whole, dim, &c, 0) }))
	}
}
