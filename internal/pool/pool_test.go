package pool

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/alloctest"
)

func TestRunCallsEachPieceOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		p := New(threads)
		for n := range 40 {
			for rep := range 20 {
				counts := make([]atomic.Int32, n)
				p.Run(n, func(i int) { counts[i].Add(1) })
				for i := range counts {
					require.EqualValues(t, 1, counts[i].Load(), "threads %d, n %d, piece %d", threads, n, i)
				}
				if rep == 0 && n%10 == 0 {
					time.Sleep(2 * time.Millisecond) // let the workers block
				}
			}
		}
		p.Close()
		p.Close()
	}
}

func TestRunRaisesPanics(t *testing.T) {
	p := New(3)
	defer p.Close()
	require.PanicsWithError(t, "piece 5 (internal/pool/pool_test.go:41)", func() {
		p.Run(9, func(i int) {
			if i == 5 {
				panic("piece 5")
			}
		})
	})
	var n atomic.Int32
	p.Run(9, func(int) { n.Add(1) })
	require.EqualValues(t, 9, n.Load(), "the pool is usable after a panic")
}

// TestLoopsHaveNumbers: each loop of several pieces on several threads has the next one, and so
// has the end of the pool.
func TestLoopsHaveNumbers(t *testing.T) {
	p := New(2)
	for i, n := range []int{2, 3, 100, 1, 0, 7} {
		p.Run(n, func(int) {})
		require.Equal(t, []uint64{1, 2, 3, 3, 3, 4}[i]<<32, p.open.Load())
		require.Nil(t, p.body, "what it holds may be large")
	}
	p.Close()
	require.EqualValues(t, 5<<32, p.open.Load())
	p = New(1)
	defer p.Close()
	p.Run(9, func(int) {})
	require.Zero(t, p.open.Load())
}

// TestRunHeedsAContext: pieces that have not begun when it ends are left out, until it is
// heeded no longer; one within another heeds its own.
func TestRunHeedsAContext(t *testing.T) {
	for _, threads := range []int{1, 3} {
		p := New(threads)
		defer p.Close()
		ctx, cancel := context.WithCancel(context.Background())
		release := p.Heed(ctx)
		var n atomic.Int32
		p.Run(100, func(int) {
			cancel()
			for !p.Halted() {
				time.Sleep(time.Millisecond)
			}
			n.Add(1)
		})
		require.LessOrEqual(t, n.Load(), int32(threads))
		inner := p.Heed(context.Background())
		require.False(t, p.Halted())
		inner()
		require.True(t, p.Halted())
		release()
		require.False(t, p.Halted())
		n.Store(0)
		p.Run(100, func(int) { n.Add(1) })
		require.EqualValues(t, 100, n.Load())
	}
}

func TestRunDoesNotAllocate(t *testing.T) {
	p := New(2)
	defer p.Close()
	var n atomic.Int64
	body := func(int) { n.Add(1) }
	require.Zero(t, alloctest.PerRun(200, func() { p.Run(16, body) }))
}

func BenchmarkRun(b *testing.B) {
	p := New(2)
	defer p.Close()
	body := func(int) {}
	for b.Loop() {
		p.Run(8, body)
	}
}

// TestTools are made once for each thread, lent to one piece at a time, and come back.
func TestTools(t *testing.T) {
	p := New(3)
	defer p.Close()
	type tool struct{ busy, uses int }
	var all []*tool
	tools := NewTools(p, func() *tool {
		all = append(all, &tool{})
		return all[len(all)-1]
	})
	require.Len(t, all, 3)
	for _, rows := range []int{0, 1, 10, 11, 1000} {
		seen := make([]int, rows)
		tools.Rows(rows, 10, func(one *tool, lo, hi int) {
			one.busy++
			if one.busy != 1 {
				panic("lent twice")
			}
			for i := lo; i < hi; i++ {
				seen[i]++
			}
			one.uses++
			one.busy--
		})
		for i, n := range seen {
			require.Equal(t, 1, n, "row %d of %d", i, rows)
		}
	}
	uses := 0
	for _, one := range all {
		uses += one.uses
	}
	require.Equal(t, 0+1+1+2+100, uses)
	require.Panics(t, func() { tools.Lend(func(*tool) { panic("given back all the same") }) })
	require.Len(t, tools.free, 3)
}

func TestThreads(t *testing.T) {
	for threads, want := range map[int]int{-1: runtime.GOMAXPROCS(0), 0: runtime.GOMAXPROCS(0), 1: 1, 2: 2, 3: 3} {
		p := New(threads)
		require.Equal(t, want, p.Threads())
		p.Close()
	}
}

// TestLoopsWaitForSlowPieces: a loop whose caller has finished its pieces ends when those of other threads do,
// however long that takes.
func TestLoopsWaitForSlowPieces(t *testing.T) {
	p := New(2)
	defer p.Close()
	for loop := range 6 {
		var begun, ended atomic.Int32
		p.Run(2, func(i int) {
			begun.Add(1)
			for begun.Load() < 2 { // each thread has one
				runtime.Gosched()
			}
			if i == loop%2 {
				time.Sleep(10 * time.Millisecond)
			}
			ended.Add(1)
		})
		require.EqualValues(t, 2, ended.Load())
		require.False(t, p.waiting.Load())
		require.Empty(t, p.finished)
	}
}
