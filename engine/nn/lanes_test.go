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

// TestLanesOfRanks: each rank takes its own lanes and has the bits of one process that takes all.
func TestLanesOfRanks(t *testing.T) {
	const rows, params = 1500, pieceLen + 3
	backward := func(_, lo, hi int, g []float32) {
		for r := lo; r < hi; r++ {
			for i := r % 5; i < params; i += 97 {
				g[i] += 1 / float32(1+r%13+i%3)
			}
		}
	}
	alone := pool.New(1)
	defer alone.Close()
	for name, lanes := range map[string]func(rows, params int, workers *pool.Pool) *Lanes{"narrow": NewLanes, "wide": NewWideLanes} {
		want := make([]float32, params)
		lanes(rows, params, alone).Backward(want, backward)
		const size = 3
		ran := make([][]int, size) // rows, by rank
		done := make(chan int)
		for _, rank := range pool.Local(size) {
			go func() {
				workers := pool.New(1 + rank.Rank()%2)
				workers.Join(rank)
				l := lanes(rows, params, workers)
				own := make([]int, rows)
				l.Own(func(block, lo, hi int, _ []float32) {
					if block != lo/l.BlockRows() || hi > rows {
						panic("of another block")
					}
					for r := lo; r < hi; r++ {
						own[r]++
					}
				})
				ran[rank.Rank()] = own
				values, sums := make([]int32, 2*rows), make([]float64, l.Blocks())
				l.Share(func(block, lo, hi int, _ []float32) {
					for r := lo; r < hi; r++ {
						values[2*r], values[2*r+1] = int32(r), int32(-r)
						sums[block] += float64(r)
					}
				}, RowSpan(l, values, 2), BlockSpan(l, sums))
				total := 0.0
				for r := range rows {
					if values[2*r] != int32(r) || values[2*r+1] != int32(-r) {
						total = -1e9
					}
				}
				for _, s := range sums {
					total += s
				}
				visited := make([]int, rows)
				l.Each(func(_, lo, hi int, _ []float32) {
					for r := lo; r < hi; r++ {
						visited[r]++
					}
				})
				grad := slices.Repeat([]float32{7}, params)
				l.Backward(grad, backward)
				workers.Close()
				switch {
				case total != rows*(rows-1)/2:
					panic("values of other ranks are missing")
				case !slices.Equal(visited, own):
					panic("forward and backward have rows of their own")
				case !slices.Equal(want, grad):
					panic("other bits")
				}
				done <- 0
			}()
		}
		for range size {
			<-done
		}
		for r := range rows {
			require.Equal(t, 1, ran[0][r]+ran[1][r]+ran[2][r], "%s: row %d", name, r)
		}
		for _, own := range ran {
			require.Contains(t, own, 1)
			require.Contains(t, own, 0)
		}
	}
}

// TestPerLane: what lanes need there is once for each, or once where one thread takes them in turns.
func TestPerLane(t *testing.T) {
	for threads, want := range map[int]int{1: 1, 2: 8} {
		workers := pool.New(threads)
		l := NewLanes(1024, 1, workers)
		made := 0
		all := PerLane(l, func() *int { made++; return new(int) })
		require.Len(t, all, 8)
		require.Equal(t, want, made)
		require.Equal(t, threads == 1, all[7] == all[0])
		require.Len(t, l.buffers, want)
		require.Equal(t, 8, l.Count())
		workers.Close()
	}
}
