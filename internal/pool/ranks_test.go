package pool

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/alloctest"
)

// eachRank calls f on every one of size local ranks and returns what they panic
// with.
func eachRank(size int, f func(p *Pool)) {
	var all sync.WaitGroup
	for _, r := range Local(size) {
		all.Go(func() {
			p := New(2)
			defer p.Close()
			p.Join(r)
			f(p)
		})
	}
	all.Wait()
}

func TestShare(t *testing.T) {
	for _, size := range []int{1, 2, 3, 5} {
		for _, n := range []int{0, 1, 2, 3, 7, 16} {
			t.Run(fmt.Sprint(size, " ranks, ", n), func(t *testing.T) {
				var ran sync.Map
				eachRank(size, func(p *Pool) {
					const each, total = 3, 40
					wide, narrow := make([]float64, total), make([]uint8, n)
					uneven, ends := make([]uint16, n*(n+1)/2), make([]int, n) // piece i owns i+1
					for i := range ends {
						ends[i] = (i + 1) * (i + 2) / 2
					}
					for range 2 {
						p.Share(n, func(piece int) {
							before, _ := ran.LoadOrStore(piece, p.Rank())
							require.Equal(t, before, p.Rank(), "a piece stays with its rank")
							for i := piece * each; i < min(total, (piece+1)*each); i++ {
								wide[i] = float64(i) + 0.5
							}
							narrow[piece] = uint8(piece + 1)
							for i := ends[piece] - piece - 1; i < ends[piece]; i++ {
								uneven[i] = uint16(i + 1)
							}
						}, SpanOf(wide, each), SpanOf(narrow, 1), SpanOf(uneven, 1).Uneven(ends))
					}
					for i, v := range wide {
						if i < n*each {
							require.Equal(t, float64(i)+0.5, v)
						} else {
							require.Zero(t, v)
						}
					}
					for i, v := range uneven {
						require.Equal(t, uint16(i+1), v)
					}
					for i, v := range narrow {
						require.Equal(t, uint8(i+1), v)
					}
				})
			})
		}
	}
}

// Pieces of unequal cost are divided by it, in order and each to one rank.
func TestShareBy(t *testing.T) {
	costs := []int{1, 2, 3, 4, 14, 24, 64, 104} // 1, 1, 1, 1, 10, 10, 40, 40
	for size, want := range map[int][]int{1: {8}, 2: {7, 1}, 3: {6, 1, 1}, 5: {6, 0, 1, 0, 1}} {
		done := make([]int, size)
		eachRank(size, func(p *Pool) {
			s, wide := make([]int, len(costs)), make([]byte, costs[7])
			var ran atomic.Int64
			p.ShareBy(costs, func(piece int) {
				ran.Add(1)
				s[piece] = piece + 1
				for i := range wide[:costs[piece]] {
					if piece == 0 || i >= costs[piece-1] {
						wide[i] = byte(piece + 1)
					}
				}
			}, SpanOf(s, 1), SpanOf(wide, 1).Uneven(costs))
			done[p.Rank()] = int(ran.Load())
			require.Equal(t, []int{1, 2, 3, 4, 5, 6, 7, 8}, s)
			require.Equal(t, []byte{1, 2, 3, 4, 5, 5}, wide[:6])
			require.Equal(t, []byte{7, 7, 8, 8}, wide[62:66])
		})
		require.Equal(t, want, done)
	}
}

// A sum along the ranks has the bits of one rank's, whatever terms they have.
func TestSum(t *testing.T) {
	const pieces, length = 7, 1000
	terms := make([][]float32, pieces)
	want := make([]float32, length)
	r := rand.New(rand.NewPCG(1, 2))
	for k := range terms {
		terms[k] = make([]float32, length)
		for i := range terms[k] {
			terms[k][i] = float32(r.NormFloat64())
			want[i] += terms[k][i]
		}
	}
	for _, size := range []int{1, 2, 3, 7, 16} {
		eachRank(size, func(p *Pool) {
			lo, hi := Stretch(pieces, p.Rank(), size)
			sum := make([]float32, length)
			for range 2 {
				p.Sum(pieces, asm.Bytes(sum), 4*300, func(chunk int, first bool) {
					part := sum[300*chunk : min(length, 300*(chunk+1))]
					if first {
						clear(part)
					}
					for _, t := range terms[lo:hi] {
						for i := range part {
							part[i] += t[300*chunk+i]
						}
					}
				})
				require.Equal(t, want, sum)
			}
		})
	}
}

func TestTellAndAny(t *testing.T) {
	eachRank(3, func(p *Pool) {
		data := []byte{byte(p.Rank()), 7}
		p.Tell(data)
		require.Equal(t, []byte{0, 7}, data)
		require.Equal(t, "same", string(p.Text([]byte([]string{"same", "", "longer than that"}[p.Rank()]))))
		for holder := range 3 {
			require.True(t, p.Any(p.Rank() == holder))
		}
		require.False(t, p.Any(false))
		p.Alone(func() {
			require.Equal(t, 1, p.Size())
			require.False(t, p.Any(false))
		})
		require.Equal(t, 3, p.Size())
	})
	p := New(1)
	defer p.Close()
	require.True(t, p.Any(true))
	require.Equal(t, 1, p.Size())
}

func TestShareAllocatesNothing(t *testing.T) {
	p := New(1)
	defer p.Close()
	p.Join(Local(1)[0])
	data := make([]float32, 64)
	span := SpanOf(data, 8)
	body := func(piece int) { data[8*piece]++ }
	require.Zero(t, alloctest.PerRun(100, func() {
		p.Share(8, body, span)
		p.Any(false)
	}))
}

// TestPoolsAlone: a pool that was not joined runs all pieces, and is told nothing.
func TestPoolsAlone(t *testing.T) {
	p := New(2)
	defer p.Close()
	x := make([]byte, 50)
	for _, run := range []func(body func(int)){func(body func(int)) { p.Share(50, body, SpanOf(x, 1)) }, func(body func(int)) { p.ShareBy(make([]int, 50), body, SpanOf(x, 1)) }} {
		clear(x)
		run(func(i int) { x[i]++ })
		for _, n := range x {
			require.EqualValues(t, 1, n)
		}
	}
	p.Gather(50, SpanOf(x, 1))
	p.Tell(x)
	require.Equal(t, []any{0, 1, false, true, false, byte(7)}, []any{p.Rank(), p.Size(), p.Joined(), p.Any(true), p.Any(false), p.Worst(7)})
	lo, hi := p.Rows(53, 10)
	require.Equal(t, []int{0, 53}, []int{lo, hi})
	var order []int
	p.Sum(3, x[:7], 3, func(chunk int, first bool) {
		require.True(t, first)
		order = append(order, chunk)
	})
	require.Equal(t, []int{0, 1, 2}, order)
	eachRank(1, func(p *Pool) { require.True(t, p.Joined()) })
}

// TestExchange: each rank has what all say.
func TestExchange(t *testing.T) {
	eachRank(3, func(p *Pool) {
		mine := []byte{byte(10 * p.Rank()), byte(10*p.Rank() + 1)}
		require.Equal(t, [][]byte{{0, 1}, {10, 11}, {20, 21}}, Exchange(p.ranks, mine))
	})
}
