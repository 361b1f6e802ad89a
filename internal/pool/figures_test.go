package pool

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Rows and pieces are divided without gaps, in whole groups, as equally as these allow.
func TestRows(t *testing.T) {
	for _, n := range []int{0, 1, 5, 64, 100} {
		for _, together := range []int{1, 16} {
			for _, size := range []int{1, 2, 3, 7} {
				own := make([][2]int, size)
				eachRank(size, func(p *Pool) {
					lo, hi := p.Rows(n, together)
					own[p.Rank()] = [2]int{lo, hi}
				})
				at, groups := 0, []int{}
				for _, o := range own {
					require.Equal(t, at, o[0])
					require.True(t, o[1] == n || o[1]%together == 0)
					groups = append(groups, (o[1]-o[0]+together-1)/together)
					at = o[1]
				}
				require.Equal(t, n, at)
				require.LessOrEqual(t, slices.Max(groups)-slices.Min(groups), 1)
			}
		}
	}
}

// A told rank keeps what it is told of loops and messages.
type told struct {
	Ranks
	loops []int
	ends  [][]int
}

func (r *told) Loop(pieces int) { r.loops = append(r.loops, pieces) }

func (r *told) Gather(data []byte, ends []int) {
	r.ends = append(r.ends, slices.Clone(ends))
	r.Ranks.Gather(data, ends)
}

// Messages hold what the pieces own and no more: of seven, ranks of three have two, two
// and three.
func TestMessagesOfRanks(t *testing.T) {
	eachRank(3, func(p *Pool) {
		all := &told{Ranks: p.ranks}
		p.Join(all)
		rank, own := p.Rank(), [][2]int{{0, 2}, {2, 4}, {4, 7}}[p.Rank()]
		wide, late, uneven := make([]float64, 21), make([]uint16, 5), make([]byte, 28)
		ends := make([]int, 7) // piece i owns i+1 bytes
		for i := range ends {
			ends[i] = (i + 1) * (i + 2) / 2
		}
		whole := func() {
			for i := range wide {
				require.Equal(t, float64(i+1), wide[i])
			}
			require.Equal(t, []uint16{3, 4, 5, 6, 7}, late)
			for i := range uneven {
				require.Equal(t, byte(i+1), uneven[i])
			}
			clear(wide)
			clear(late)
			clear(uneven)
		}
		work := func(piece int) {
			require.True(t, own[0] <= piece && piece < own[1])
			for i := range 3 {
				wide[3*piece+i] = float64(3*piece + i + 1)
			}
			if piece >= 2 {
				late[piece-2] = uint16(piece + 1)
			}
			for i := ends[piece] - piece - 1; i < ends[piece]; i++ {
				uneven[i] = byte(i + 1)
			}
		}
		p.Share(7, work, SpanOf(wide, 3), SpanOf(late, 1).From(2), SpanOf(uneven, 1).Uneven(ends))
		whole()
		for piece := own[0]; piece < own[1]; piece++ {
			work(piece)
		}
		p.Gather(7, SpanOf(wide, 3))
		p.Gather(7, SpanOf(late, 1).From(2))
		p.Gather(7, SpanOf(uneven, 1).Uneven(ends))
		whole()
		p.Gather(7, SpanOf([]byte{}, 1)) // no message
		p.Tell([]byte{byte(rank), 1, 2})
		require.EqualValues(t, 7, p.Worst(byte([]int{3, 7, 5}[rank])))
		require.Equal(t, []int{7, 7, 7, 7, 7}, all.loops)
		require.Equal(t, [][]int{
			{2*24 + 3, 4*24 + 2*2 + 10, 7*24 + 5*2 + 28}, {48, 96, 168}, {0, 4, 10}, {3, 10, 28}, {3, 3, 3}, {1, 2, 3},
		}, all.ends)
		p.Sum(7, []byte{0}, 1, func(int, bool) {})
		require.Equal(t, 7, all.loops[5])
	})
}

// A sum asks for whole chunks and what is left, from the first rank that has pieces on.
func TestChunksOfSums(t *testing.T) {
	for length, want := range map[int][]int{0: nil, 2: {0}, 3: {0}, 4: {0, 1}, 6: {0, 1}, 7: {0, 1, 2}} {
		for _, size := range []int{1, 3} {
			eachRank(size, func(p *Pool) {
				var chunks []int
				data := make([]byte, length)
				p.Sum(2, data, 3, func(chunk int, first bool) {
					chunks = append(chunks, chunk)
					require.Equal(t, p.Rank() < 2, first || size == 3 && p.Rank() == 1)
					if first {
						clear(data[3*chunk : min(length, 3*chunk+3)])
					}
					for i := 3 * chunk; i < min(length, 3*chunk+3); i++ {
						data[i]++
					}
				})
				if lo, hi := Stretch(2, p.Rank(), size); lo < hi {
					require.Equal(t, want, chunks)
				} else {
					require.Nil(t, chunks)
				}
				for _, x := range data {
					require.EqualValues(t, min(size, 2), x)
				}
			})
		}
	}
}

// Local ranks that do not agree on lengths say so.
func TestLengthsOfRanks(t *testing.T) {
	eachRank(2, func(p *Pool) {
		n := 3 + p.Rank()
		require.PanicsWithValue(t, "pool: ranks gather different lengths", func() { p.ranks.Gather(make([]byte, n), []int{1, n}) })
	})
	eachRank(2, func(p *Pool) {
		require.PanicsWithValue(t, "pool: ranks gather different lengths", func() { p.ranks.Gather(make([]byte, 4), []int{1 + p.Rank(), 4 - p.Rank()}) })
	})
	for _, lengths := range [][2]int{{2, 3}, {3, 2}} {
		sent := make(chan bool, 1)
		ranks := Local(2)
		go func() {
			ranks[0].Send(1, make([]byte, lengths[0]))
			sent <- true
		}()
		require.PanicsWithValue(t, "pool: ranks send and receive different lengths", func() { ranks[1].Receive(0, make([]byte, lengths[1])) })
		<-sent
	}
	p := New(1)
	defer p.Close()
	require.Equal(t, []any{0, 1, false}, []any{p.Rank(), p.Size(), p.Joined()})
	p.Join(Local(1)[0])
	require.Equal(t, []any{0, 1, true}, []any{p.Rank(), p.Size(), p.Joined()})
	p.Join(nil)
	require.False(t, p.Joined())
	p.Gather(3)
	data := []byte{1}
	p.Tell(data)
	require.EqualValues(t, 9, p.Worst(9))
}
