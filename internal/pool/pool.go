// Package pool runs loops over independent pieces of work on a fixed set of
// goroutines that live as long as the run.
//
// The pieces, not the threads, decide what is computed: a body receives the
// index of its piece, writes only to that piece's buffers, and reductions walk
// the pieces in order. Results are therefore the same bits for any number of
// threads. Run allocates nothing when its body is a function value that the
// caller keeps.
package pool

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/revgen/revgen/internal/crash"
)

// Idle threads poll before they block, because to be woken takes some fifty
// microseconds and on virtual machines much longer: patience bridges the serial
// phases of a training step and other threads' last pieces, but does not burn a
// core that nobody feeds. A thread that looks at its clock every few
// microseconds and finds that it stood still for as long as preempted had to
// leave its processor to somebody else. Where that happens polling takes time
// from those it waits for, so the thread hardly polls for crowded times as long
// as it stood still.
const (
	patience  = 250 * time.Microsecond
	polls     = 1 << 10 // between looks at the clock
	preempted = 200 * time.Microsecond
	crowded   = 10
)

// A Pool executes loops on a fixed number of threads. Its methods must be
// called from one goroutine at a time.
type Pool struct {
	threads int
	workers []worker
	ended   sync.WaitGroup
	closed  atomic.Bool

	heeded atomic.Pointer[atomic.Bool] // whether the context of Heed has ended; nil without

	caller patient
	body   func(piece int)
	first  int // number of the loop's first piece

	ranks   Ranks // nil for a process that stands alone
	ends    []int
	flags   []byte
	message []byte // of several spans

	// open holds the loop's number in its high half and the number of pieces
	// not yet handed out in its low half, so that taking a piece also checks
	// that its loop is still the present one.
	open     atomic.Uint64
	left     atomic.Int64 // pieces not yet finished
	waiting  atomic.Bool  // the caller blocks on finished
	finished chan struct{}
	raised   atomic.Pointer[crash.Panic] // first panic of the loop
}

// A worker is one of the pool's own goroutines.
type worker struct {
	idle atomic.Bool // it blocks on wake
	wake chan struct{}
	_    [64]byte // keeps workers on separate cache lines
}

// New returns a pool of the given number of threads, the caller's own
// goroutine included; 0 or less means one per available processor.
func New(threads int) *Pool {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	p := &Pool{threads: threads, workers: make([]worker, threads-1), finished: make(chan struct{}, 1)}
	for i := range p.workers {
		w := &p.workers[i]
		w.wake = make(chan struct{}, 1)
		p.ended.Go(func() { p.work(w) })
	}
	return p
}

// Threads returns the number of threads.
func (p *Pool) Threads() int { return p.threads }

// Run calls body(0) … body(n-1), each once, in any order and concurrently,
// and returns when all have returned. A panic in a body is raised again
// here, with its place.
func (p *Pool) Run(n int, body func(piece int)) { p.RunFrom(0, n, body) }

// RunFrom is Run for body(first) … body(first+n-1).
func (p *Pool) RunFrom(first, n int, body func(piece int)) {
	if n <= 0 {
		return
	}
	if p.threads == 1 || n == 1 {
		for i := 0; i < n && !p.Halted(); i++ {
			body(first + i)
		}
		return
	}
	p.body, p.first = body, first
	p.left.Store(int64(n))
	p.open.Store((p.open.Load()>>32+1)<<32 | uint64(n))
	p.rouse(n - 1)
	for p.step() {
	}
	p.wait()
	p.body = nil
	if v := p.raised.Swap(nil); v != nil {
		panic(v)
	}
}

// Heed lets loops hear the end of ctx until release is called: pieces that have not
// begun then are left out, and long ones ask Halted. What such loops leave is worth
// nothing, so whoever calls Heed looks at ctx after each.
func (p *Pool) Heed(ctx context.Context) (release func()) {
	ended := new(atomic.Bool)
	before := p.heeded.Swap(ended)
	stop := context.AfterFunc(ctx, func() { ended.Store(true) })
	return func() {
		stop()
		p.heeded.Store(before)
	}
}

// Halted reports, to any goroutine, whether the context that is heeded has ended.
func (p *Pool) Halted() bool {
	ended := p.heeded.Load()
	return ended != nil && ended.Load()
}

// wait returns when all pieces have finished.
func (p *Pool) wait() {
	if p.caller.wait(func() bool { return p.left.Load() == 0 }) {
		return
	}
	p.waiting.Store(true)
	if p.left.Load() == 0 && p.waiting.CompareAndSwap(true, false) {
		return
	}
	<-p.finished
}

// rouse wakes up to n workers that block.
func (p *Pool) rouse(n int) {
	for i := range p.workers {
		if w := &p.workers[i]; n > 0 && w.idle.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
			n--
		}
	}
}

// Close ends the pool's goroutines. The pool must not be used afterwards.
func (p *Pool) Close() {
	if p.closed.Swap(true) {
		return
	}
	p.open.Add(1 << 32) // a loop without pieces, for workers about to block
	p.rouse(len(p.workers))
	p.ended.Wait()
}

// A patient is a thread that waits.
type patient struct{ crowded time.Time } // until when it hardly polls

// wait polls until a condition holds, and reports whether it did before the
// thread's patience ended.
func (t *patient) wait(done func() bool) bool {
	limit := patience
	start := time.Now()
	if start.Before(t.crowded) {
		limit = patience / 32
	}
	for last := start; ; runtime.Gosched() {
		for range polls {
			if done() {
				return true
			}
		}
		now := time.Now()
		if still := now.Sub(last); still > preempted {
			t.crowded = now.Add(crowded * still)
			return false
		}
		if now.Sub(start) > limit {
			return false
		}
		last = now
	}
}

func (p *Pool) work(w *worker) {
	var t patient
	for {
		for p.step() {
		}
		v := p.open.Load()
		if v&math.MaxUint32 != 0 {
			continue
		}
		if p.closed.Load() {
			return
		}
		if t.wait(func() bool { return p.open.Load() != v }) {
			continue
		}
		// Announce the sleep before looking once more, so that a loop started in
		// between is either seen here or wakes the channel.
		w.idle.Store(true)
		if p.open.Load() == v || !w.idle.CompareAndSwap(true, false) {
			<-w.wake
		}
	}
}

// step takes one piece and runs it. It reports whether there was one.
func (p *Pool) step() bool {
	for {
		v := p.open.Load()
		if v&math.MaxUint32 == 0 {
			return false
		}
		// From here to the decrement of left the loop cannot end, so body is
		// that of the piece's own loop.
		if p.open.CompareAndSwap(v, v-1) {
			p.call(int(v&math.MaxUint32) - 1)
			return true
		}
	}
}

func (p *Pool) call(piece int) {
	defer func() {
		if v := recover(); v != nil {
			p.raised.CompareAndSwap(nil, crash.Recovered(v)) // only a panic allocates
		}
		if p.left.Add(-1) == 0 && p.waiting.CompareAndSwap(true, false) {
			p.finished <- struct{}{}
		}
	}()
	if !p.Halted() {
		p.body(p.first + piece)
	}
}
