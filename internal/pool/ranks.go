package pool

import (
	"slices"

	"github.com/revgen/revgen/asm"
)

// Ranks are processes that go through the same program side by side, each with a
// pool of its own, and have no memory in common. A loop that is shared leaves
// every rank with the same bits as if it had run all pieces itself, which it does
// of all other loops.
type Ranks interface {
	// Rank returns this process's number, 0 … Size−1.
	Rank() int
	// Size returns the number of processes.
	Size() int
	// Gather fills data on every rank with what the ranks have of it: rank r has
	// bytes ends[r−1] … ends[r]−1, rank 0 those from 0 on. All ranks call it with
	// the same lengths.
	Gather(data []byte, ends []int)
}

// A Watcher is Ranks that are told the number of pieces of each loop before its results
// are gathered: for measurements.
type Watcher interface{ Loop(pieces int) }

// A Span is where the pieces of a loop leave results: piece first+i in bytes i·each
// … (i+1)·each−1, or as many of them as there are, and those before first nothing.
type Span struct {
	data        []byte
	first, each int
	ends        []int // of each piece's bytes, if they are not equally many
}

// SpanOf returns the span of a slice of which every piece owns each elements. T
// holds no pointers.
func SpanOf[T any](s []T, each int) Span {
	data := asm.Bytes(s)
	if len(s) == 0 {
		return Span{}
	}
	return Span{data: data, each: each * (len(data) / len(s))}
}

// From is the span of a slice of which piece first+i owns part i.
func (s Span) From(first int) Span {
	s.first = first
	return s
}

// Uneven returns the span of a slice of which piece i owns elements ends[i−1] …
// ends[i]−1.
func Uneven[T any](s []T, ends []int) Span {
	data := asm.Bytes(s)
	in := make([]int, len(ends))
	for i, end := range ends {
		in[i] = end * (len(data) / max(1, len(s)))
	}
	return Span{data: data, ends: in}
}

// before returns how many bytes the pieces before a piece own.
func (s *Span) before(piece int) int {
	switch {
	case s.ends == nil:
		return min(len(s.data), max(0, piece-s.first)*s.each)
	case piece == 0:
		return 0
	}
	return s.ends[piece-1]
}

// Join makes the pool one of several ranks', or with nil one that stands alone.
func (p *Pool) Join(r Ranks) {
	if p.ranks = r; r != nil {
		p.ends = make([]int, r.Size())
	}
}

// Rank returns the number of the pool's process, 0 where it stands alone.
func (p *Pool) Rank() int {
	if p.ranks == nil {
		return 0
	}
	return p.ranks.Rank()
}

// Size returns the number of ranks, 1 for a process that stands alone.
func (p *Pool) Size() int {
	if p.ranks == nil {
		return 1
	}
	return p.ranks.Size()
}

// Alone calls f, in which loops that are shared are not: for what one rank does
// while others wait or have left.
func (p *Pool) Alone(f func()) {
	r := p.ranks
	p.ranks = nil
	defer func() { p.ranks = r }()
	f()
}

// Stretch returns the pieces lo … hi−1 of n that are a rank's own.
func Stretch(n, rank, size int) (lo, hi int) { return n * rank / size, n * (rank + 1) / size }

// Share is Run where each rank runs its own stretch of the pieces and has the
// others' results from them. The spans are all that the loop writes and anybody
// reads, but for what the same rank's pieces read in a later loop of as many.
func (p *Pool) Share(n int, body func(piece int), results ...Span) {
	if p.ranks == nil {
		p.Run(n, body)
		return
	}
	lo, hi := Stretch(n, p.ranks.Rank(), p.ranks.Size())
	p.RunFrom(lo, hi-lo, body)
	p.Gather(n, results...)
}

// Gather gives every rank the others' results of a loop of n pieces.
func (p *Pool) Gather(n int, results ...Span) {
	if p.ranks == nil {
		return
	}
	if w, ok := p.ranks.(Watcher); ok {
		w.Loop(n)
	}
	for i := range results {
		s := &results[i]
		for r := range p.ends {
			_, hi := Stretch(n, r, len(p.ends))
			p.ends[r] = s.before(hi)
		}
		p.ranks.Gather(s.data[:s.before(n)], p.ends)
	}
}

// Tell gives every rank the data of rank 0.
func (p *Pool) Tell(data []byte) {
	if p.ranks == nil {
		return
	}
	for r := range p.ends {
		p.ends[r] = len(data)
	}
	p.ranks.Gather(data, p.ends)
}

// Any reports whether something holds on any rank.
func (p *Pool) Any(holds bool) bool {
	if holds {
		return p.Worst(1) > 0
	}
	return p.Worst(0) > 0
}

// Worst returns the largest of the ranks' states.
func (p *Pool) Worst(state byte) byte {
	if p.ranks == nil {
		return state
	}
	n := p.ranks.Size()
	if len(p.flags) < n {
		p.flags = make([]byte, n)
	}
	clear(p.flags)
	p.flags[p.ranks.Rank()] = state
	for r := range p.ends {
		p.ends[r] = r + 1
	}
	p.ranks.Gather(p.flags[:n], p.ends)
	return slices.Max(p.flags[:n])
}
