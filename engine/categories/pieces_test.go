package categories

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/pool"
)

// TestPieces: blocks are drawn four at a time, each with counts of its own,
// and the nets of a unit's states share what its gradient costs.
func TestPieces(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	for name, c := range small() {
		m, err := NewModel(c.Target, c.Network, workers)
		require.NoError(t, err)
		for _, of := range [][2]int{{1, 0}, {4, 4}, {5, 3}, {3, 9}} {
			b, err := m.NewBatch(64*of[0], 64*of[1], 1, workers)
			require.NoError(t, err)
			blocks, at := of[0]+of[1], 0
			require.Equal(t, []int{of[0], of[1], 4, blocks}, []int{b.SampleBlocks, b.ScoredBlocks, b.PieceBlocks, b.Blocks()})
			r := b.Workspace.(*workspace)
			require.Equal(t, []int{blocks * m.Sites() * 64, blocks, blocks, blocks * m.Learned() * c.MaxQ()}, []int{len(r.state), len(r.LogQs), len(r.Rs), len(r.Residual)}, name)
			for i := range m.Units {
				u := &m.Units[i]
				require.Equal(t, at, u.Kernel)
				for k := range u.Nets {
					require.Same(t, u, m.Owner(at))
					require.Same(t, u.Nets[k], m.Nets[at])
					at++
				}
			}
			require.Panics(t, func() { m.Owner(at) }, "there are no more")
			require.Len(t, m.Nets, at)
		}
	}
	require.Equal(t, 32, samplerBlocks)
}
