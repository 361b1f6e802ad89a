package hierarchy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/pool"
)

// TestPieces: a gradient is cut into pieces of about 2¹⁵ sites of one net, which cost their sites'
// products and what it takes to fold their tables; draws are cut into at most four blocks.
func TestPieces(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	m, err := NewSquare(Square{Side: 16, J: 1, Field: 0.1, Beta: 0.4, Neighbours: 6, Hidden: 2})
	require.NoError(t, err)
	for blocks, together := range map[int]int{1: 1, 15: 1, 16: 2, 24: 3, 31: 3, 32: 4, 40: 4} {
		b, err := m.NewBatch(64*(blocks-blocks/3), 64*(blocks/3), 1, workers)
		require.NoError(t, err)
		require.Equal(t, together, b.PieceBlocks)
		g, at, cost, partial, hist := b.Gradient, 0, 0, 0, 0
		for i := range m.Units {
			u := &m.Units[i]
			sites := len(u.Sites)
			for lo := 0; lo < blocks; {
				hi := min(blocks, lo+max(1, 512/sites))
				cost += ((hi-lo)*sites + 3) * (u.padded*u.lanes + 256)
				require.Equal(t, piece{i, lo, hi, partial, hist}, g.pieces[at])
				require.Equal(t, cost, g.costs[at])
				at, lo, partial, hist = at+1, hi, partial+u.Params(), hist+(1+5*u.padded)*u.lanes
			}
		}
		require.Len(t, g.pieces, at)
		require.Len(t, g.gradients, partial)
		require.Len(t, g.derivatives, hist)
	}
	require.Equal(t, []int{64, 8}, []int{samplerBlocks, bufferedSpins})
}
