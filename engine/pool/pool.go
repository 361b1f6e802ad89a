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
	"runtime"
	"sync"
	"sync/atomic"
)

// spins bounds how long an idle worker polls for the next loop before it
// blocks: long enough to bridge the serial gaps between the phases of one
// training step, short enough not to burn a core that nobody feeds.
const spins = 10000

// A Pool executes loops on a fixed number of threads. Its methods must be
// called from one goroutine at a time.
type Pool struct {
	threads int
	wake    []chan struct{}
	done    sync.WaitGroup

	generation atomic.Uint32 // incremented once per loop
	next       atomic.Int64  // next piece to hand out
	pending    atomic.Int32  // workers that have not finished the loop
	idle       []atomic.Bool // worker blocks on its channel

	n      int64
	body   func(piece int)
	closed bool
	panicv atomic.Pointer[any]
}

// New returns a pool of the given number of threads, the caller's own
// goroutine included; 0 or less means one per available processor.
func New(threads int) *Pool {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	p := &Pool{
		threads: threads,
		wake:    make([]chan struct{}, threads-1),
		idle:    make([]atomic.Bool, threads-1),
	}
	for w := range p.wake {
		p.wake[w] = make(chan struct{}, 1)
		p.done.Add(1)
		go p.work(w)
	}
	return p
}

// Threads returns the number of threads.
func (p *Pool) Threads() int { return p.threads }

// Run calls body(0) … body(n-1), each once, in any order and concurrently,
// and returns when all have returned. A panic in a body is raised again here.
func (p *Pool) Run(n int, body func(piece int)) {
	if n <= 0 {
		return
	}
	if p.threads == 1 || n == 1 {
		for i := range n {
			body(i)
		}
		return
	}
	p.n, p.body = int64(n), body
	p.next.Store(0)
	p.pending.Store(int32(len(p.wake)))
	p.generation.Add(1)
	for w := range p.wake {
		if p.idle[w].CompareAndSwap(true, false) {
			p.wake[w] <- struct{}{}
		}
	}
	p.drain()
	for i := 0; p.pending.Load() > 0; i++ {
		if i > spins {
			runtime.Gosched()
		}
	}
	if v := p.panicv.Swap(nil); v != nil {
		panic(*v)
	}
}

// Close ends the pool's goroutines. The pool must not be used afterwards.
func (p *Pool) Close() {
	if p.closed {
		return
	}
	p.closed = true
	p.body = nil
	p.generation.Add(1)
	for w := range p.wake {
		if p.idle[w].CompareAndSwap(true, false) {
			p.wake[w] <- struct{}{}
		}
	}
	p.done.Wait()
}

func (p *Pool) work(w int) {
	defer p.done.Done()
	var seen uint32
	for {
		for i := 0; p.generation.Load() == seen; i++ {
			if i < spins {
				continue
			}
			// Announce the sleep before looking once more, so that a loop
			// started in between is either seen here or wakes the channel.
			p.idle[w].Store(true)
			if p.generation.Load() != seen {
				if !p.idle[w].CompareAndSwap(true, false) {
					<-p.wake[w] // the token is under way: take it
				}
				break
			}
			<-p.wake[w]
			i = 0
		}
		seen = p.generation.Load()
		if p.body == nil {
			return
		}
		p.drain()
		p.pending.Add(-1)
	}
}

// drain runs pieces until none is left.
func (p *Pool) drain() {
	defer func() {
		if v := recover(); v != nil {
			raised := v // only a panic allocates
			p.panicv.CompareAndSwap(nil, &raised)
			p.next.Store(p.n)
		}
	}()
	for {
		i := p.next.Add(1) - 1
		if i >= p.n {
			return
		}
		p.body(int(i))
	}
}
