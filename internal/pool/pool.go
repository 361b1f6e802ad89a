// Package pool runs loops over independent pieces of work on a fixed set of
// goroutines that live as long as the run.
//
// A loop's body receives the index of a piece and writes only to that piece's
// buffers, and reductions walk the pieces in order. Results are therefore the same
// bits for any number of threads. Run allocates nothing when its body is a function
// value that the caller keeps.
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

// Idle threads poll before they block, because waking a thread takes some fifty
// microseconds, and on virtual machines much longer. They poll for as long as the
// serial phases of a training step and other threads' last pieces take, and then
// leave the core. A thread that polls looks at the clock every few microseconds. If
// much more time has passed, it was preempted. Then the processors are crowded, and
// polling takes time from the threads that it waits for, so the thread hardly polls
// for a multiple of the time that it stood still.
const (
	pollTime        = 250 * time.Microsecond
	crowdedPollTime = pollTime / 32          // to poll where processors are crowded
	polls           = 1 << 10                // between looks at the clock
	preempted       = 200 * time.Microsecond // between looks at the clock of a thread that was preempted
	crowdedFactor   = 10                     // how long processors count as crowded, in times that a thread stood still
)

// A Pool executes loops on a fixed number of threads. Its methods must be
// called from one goroutine at a time.
type Pool struct {
	threads     int
	workers     []worker
	workersDone sync.WaitGroup
	closed      atomic.Bool

	contextEnded atomic.Pointer[atomic.Bool] // of the context of Heed; nil without one

	caller poller
	body   func(piece int)
	first  int // index of the loop's first piece

	ranks   Ranks  // nil for a process that stands alone
	ends    []int  // of the ranks' parts of a message
	flags   []byte // buffer of Worst
	message []byte // buffer for several spans

	// open holds the loop's number in its high half and the number of pieces
	// not yet handed out in its low half, so that taking a piece also checks
	// that its loop is still the present one.
	open       atomic.Uint64
	unfinished atomic.Int64 // number of pieces
	waiting    atomic.Bool  // whether the caller blocks on finished
	finished   chan struct{}
	raised     atomic.Pointer[crash.Panic] // first panic of the loop
}

// A worker is one of the pool's own goroutines.
type worker struct {
	idle atomic.Bool // whether it blocks on wake
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
		p.workersDone.Go(func() { p.work(w) })
	}
	return p
}

// Threads returns the number of threads.
func (p *Pool) Threads() int { return p.threads }

// Run calls body(0) … body(n-1), each once, in any order and concurrently,
// and returns when all calls have returned. It raises a panic in a body again,
// with its place.
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
	p.unfinished.Store(int64(n))
	p.open.Store((p.open.Load()>>32+1)<<32 | uint64(n))
	p.wake(n - 1)
	for p.step() {
	}
	p.wait()
	p.body = nil
	if v := p.raised.Swap(nil); v != nil {
		panic(v)
	}
}

// Heed halts loops when ctx ends, until release is called. A halted loop skips the
// pieces that have not begun, and long pieces ask Halted. Its results are of no use,
// so the caller of Heed checks ctx after each loop.
func (p *Pool) Heed(ctx context.Context) (release func()) {
	ended := new(atomic.Bool)
	outer := p.contextEnded.Swap(ended)
	stop := context.AfterFunc(ctx, func() { ended.Store(true) })
	return func() {
		stop()
		p.contextEnded.Store(outer)
	}
}

// Halted reports, to any goroutine, whether the context of Heed has ended.
func (p *Pool) Halted() bool {
	ended := p.contextEnded.Load()
	return ended != nil && ended.Load()
}

// wait returns when all pieces have finished.
func (p *Pool) wait() {
	if p.caller.poll(func() bool { return p.unfinished.Load() == 0 }) {
		return
	}
	p.waiting.Store(true)
	if p.unfinished.Load() == 0 && p.waiting.CompareAndSwap(true, false) {
		return
	}
	<-p.finished
}

// wake wakes up to n workers that block.
func (p *Pool) wake(n int) {
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
	p.wake(len(p.workers))
	p.workersDone.Wait()
}

// A poller is a thread that waits.
type poller struct{ crowdedUntil time.Time }

// poll polls until a condition holds. It reports false if that takes too long.
func (t *poller) poll(done func() bool) bool {
	limit := pollTime
	start := time.Now()
	if start.Before(t.crowdedUntil) {
		limit = crowdedPollTime
	}
	for last := start; ; runtime.Gosched() {
		for range polls {
			if done() {
				return true
			}
		}
		now := time.Now()
		if still := now.Sub(last); still > preempted {
			t.crowdedUntil = now.Add(crowdedFactor * still)
			return false
		}
		if now.Sub(start) > limit {
			return false
		}
		last = now
	}
}

func (p *Pool) work(w *worker) {
	var t poller
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
		if t.poll(func() bool { return p.open.Load() != v }) {
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
		// From here to the decrement of unfinished the loop cannot end, so
		// p.body is the body of the piece's loop.
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
		if p.unfinished.Add(-1) == 0 && p.waiting.CompareAndSwap(true, false) {
			p.finished <- struct{}{}
		}
	}()
	if !p.Halted() {
		p.body(p.first + piece)
	}
}
