package rng

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/alloctest"
)

// TestNormalsAreSlicesOfOneStream draws the same samples in one piece and in
// several, for widths with and without a remainder modulo a block.
func TestNormalsAreSlicesOfOneStream(t *testing.T) {
	for _, dim := range []int{1, 2, 3, 4, 5, 7, 8, 32, 33, 509, 511, 513, 515, 516} {
		c := Stream(11, TrainLatent, 3)
		whole := make([]float32, 20*dim)
		Normals(whole, dim, &c, 100)
		for _, lo := range []int{0, 1, 7, 19} {
			part := make([]float32, (20-lo)*dim)
			Normals(part, dim, &c, uint64(100+lo))
			require.Equal(t, whole[lo*dim:], part, "dim %d", dim)
		}
		// A sample's numbers are those of its own blocks, which begin where the last one's end.
		blocks := (dim + 3) / 4
		own := make([]float32, 4*blocks)
		for i := range 20 {
			asm.Normals(own, &asm.Counter{Seed: 11, Purpose: 2, Step: 3}, uint64((100+i)*blocks))
			require.Equal(t, own[:dim], whole[i*dim:(i+1)*dim], "sample %d of dim %d", i, dim)
		}
		other := Stream(11, TrainLatent, 4)
		next := make([]float32, 20*dim)
		Normals(next, dim, &other, 100)
		require.NotEqual(t, whole, next)
		require.Zero(t, alloctest.PerRun(10, func() { Normals(whole, dim, &c, 0) }))
	}
}
