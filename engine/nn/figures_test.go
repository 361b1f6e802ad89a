package nn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/pool"
)

// The reduction over lanes reaches every parameter, also the only one of its last piece.
func TestReductionReachesEveryParameter(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	for _, params := range []int{1, pieceLen - 1, pieceLen, pieceLen + 1, 2*pieceLen + 1} {
		l := NewLanes(300, params, workers)
		require.Greater(t, l.Count(), 1)
		grad := make([]float32, params)
		l.Backward(grad, func(_, lo, hi int, g []float32) {
			for i := range g {
				g[i] += float32(hi-lo) * float32(i%7+1)
			}
		})
		for i, v := range grad {
			require.Equal(t, 300*float32(i%7+1), v)
		}
	}
}
