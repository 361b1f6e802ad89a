package nn

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/pool"
)

// Every row belongs to one block, forward and backward; lanes are added up in
// order; and nothing depends on the number of threads. Wide blocks leave the lanes
// as they are.
func TestLanes(t *testing.T) {
	const params = 3*pieceLen + 5
	for _, rows := range []int{1, 2, 100, 127, 128, 129, 256, 300, 1000, 1024, 1100, 2048, 3000, 5000, 10_000} {
		var want []float32
		var wantLanes []int
		for _, c := range []struct {
			threads int
			lanes   func(rows, params int, workers *pool.Pool) *Lanes
			block   int
		}{{1, NewLanes, BlockRows()}, {2, NewLanes, BlockRows()}, {5, NewLanes, BlockRows()}, {1, NewWideLanes, WideBlockRows(rows)}, {5, NewWideLanes, WideBlockRows(rows)}} {
			workers := pool.New(c.threads)
			l := c.lanes(rows, params, workers)
			require.Equal(t, c.block, l.BlockRows())
			require.Equal(t, LanesOf(rows), l.Count())
			require.LessOrEqual(t, l.Count(), maxLanes)
			seen, count := make([]int, rows), make([]int, l.Blocks())
			l.Own(func(block, lo, hi int, _ []float32) {
				count[block]++
				require.Equal(t, block, lo/c.block)
				require.LessOrEqual(t, hi-lo, c.block)
				for r := lo; r < hi; r++ {
					seen[r]++
				}
			})
			for _, n := range slices.Concat(seen, count) {
				require.Equal(t, 1, n)
			}
			lanes := make([]int, rows)
			grad := make([]float32, params)
			for range 2 { // buffers are cleared
				l.Backward(grad, func(lane, lo, hi int, g []float32) {
					for r := lo; r < hi; r++ {
						lanes[r] = lane
						for i := range 5 { // in different pieces of the reduction
							g[i*pieceLen/2] += 1 / float32(1+r%7+i)
						}
					}
				})
			}
			require.True(t, slices.IsSorted(lanes))
			require.Equal(t, l.Count()-1, lanes[rows-1])
			if want == nil {
				want, wantLanes = slices.Clone(grad), slices.Clone(lanes)
				for i := range 5 {
					var sum float64
					for r := range rows {
						sum += 1 / float64(1+r%7+i)
					}
					require.InEpsilon(t, sum, grad[i*pieceLen/2], 1e-4)
				}
			}
			require.True(t, slices.Equal(want, grad), "%d rows, %d threads", rows, c.threads)
			require.Equal(t, wantLanes, lanes)
			workers.Close()
		}
	}
}

// speedup is that of threads that take pieces of equal length as they come.
func speedup(pieces, threads int) float64 { return float64(pieces) / float64(ceil(pieces, threads)) }

// The number of pieces limits the gain: small batches gain from a second thread, and the
// paper's from sixteen forward and eight backward.
func TestPiecesAllowThreads(t *testing.T) {
	for _, c := range []struct {
		rows, threads     int
		forward, backward float64
	}{{256, 2, 2, 2}, {512, 4, 4, 4}, {1024, 8, 8, 8}, {2048, 2, 2, 2}, {2048, 8, 8, 8}, {2048, 16, 16, 8}, {4096, 16, 16, 16}} {
		require.InDelta(t, c.forward, speedup(blocksOf(c.rows), c.threads), 1e-12, "%+v", c)
		require.InDelta(t, c.backward, speedup(LanesOf(c.rows), c.threads), 1e-12, "%+v", c)
	}
	require.Equal(t, []int{128, 128, 256, 256}, []int{WideBlockRows(256), WideBlockRows(1024), WideBlockRows(2048), WideBlockRows(4096)})
}
