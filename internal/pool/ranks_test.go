package pool

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

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
						}, SpanOf(wide, each), SpanOf(narrow, 1), Uneven(uneven, ends))
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

func TestTellAndAny(t *testing.T) {
	eachRank(3, func(p *Pool) {
		data := []byte{byte(p.Rank()), 7}
		p.Tell(data)
		require.Equal(t, []byte{0, 7}, data)
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
