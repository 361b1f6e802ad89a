package pool

import (
	"encoding/binary"
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
	// Send gives data to another rank, which calls Receive for as many bytes. It may
	// return before or after that.
	Send(to int, data []byte)
	// Receive fills data with what another rank sends.
	Receive(from int, data []byte)
}

// Exchange returns what each rank says, in as many bytes.
func Exchange(ranks Ranks, mine []byte) [][]byte {
	n := ranks.Size()
	data, ends, all := make([]byte, n*len(mine)), make([]int, n), make([][]byte, n)
	for r := range n {
		ends[r] = (r + 1) * len(mine)
		all[r] = data[r*len(mine) : ends[r]]
	}
	copy(all[ranks.Rank()], mine)
	ranks.Gather(data, ends)
	return all
}

// A Watcher is Ranks that are told the number of pieces of each loop before its results
// are gathered: for measurements.
type Watcher interface{ Loop(pieces int) }

// A Span is where the pieces of a loop leave results: piece first+i in bytes i·each
// … (i+1)·each−1, or as many of them as there are, and those before first nothing.
type Span struct {
	data        []byte
	first, each int
	ends        []int // of each piece's parts of each bytes, if it is not one
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

// Uneven is the span of which piece i owns parts ends[i−1] … ends[i]−1. The ends are read
// when the span is.
func (s Span) Uneven(ends []int) Span {
	s.ends = ends
	return s
}

// before returns how many bytes the pieces before a piece own.
func (s *Span) before(piece int) int {
	switch {
	case s.ends == nil:
		return min(len(s.data), max(0, (piece-s.first)*s.each))
	case piece == 0:
		return 0
	}
	return s.ends[piece-1] * s.each
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

// Joined reports whether the pool is one of several ranks', be it the only one.
func (p *Pool) Joined() bool { return p.ranks != nil }

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

// stretch is Stretch of pieces of unequal cost: costs[i] is that of pieces 0 … i, or nil
// where all cost the same.
func stretch(n int, costs []int, rank, size int) (lo, hi int) {
	if costs == nil {
		return Stretch(n, rank, size)
	}
	for i, before := 0, 0; i < n; i++ {
		middle := (before + costs[i]) * size // twice the middle of the piece, in ranks' parts of the cost
		if middle < 2*costs[n-1]*rank {
			lo = i + 1
		}
		if middle < 2*costs[n-1]*(rank+1) {
			hi = i + 1
		}
		before = costs[i]
	}
	return lo, hi
}

// Rows returns the rows lo … hi−1 of n that are the rank's own, whole groups of so many.
func (p *Pool) Rows(n, together int) (lo, hi int) {
	lo, hi = Stretch((n+together-1)/together, p.Rank(), p.Size())
	return min(n, lo*together), min(n, hi*together)
}

// Share is Run where each rank runs its own stretch of the pieces and has the
// others' results from them. The spans are all that the loop writes and anybody
// reads, but for what the same rank's pieces read in a later loop of as many.
func (p *Pool) Share(n int, body func(piece int), results ...Span) {
	p.share(n, nil, body, results)
}

// ShareBy is Share of pieces of unequal cost, of which each rank runs its part of it:
// costs[i] is that of pieces 0 … i together, in any unit, all positive.
func (p *Pool) ShareBy(costs []int, body func(piece int), results ...Span) {
	p.share(len(costs), costs, body, results)
}

func (p *Pool) share(n int, costs []int, body func(piece int), results []Span) {
	if p.ranks == nil {
		p.Run(n, body)
		return
	}
	lo, hi := stretch(n, costs, p.ranks.Rank(), p.ranks.Size())
	p.RunFrom(lo, hi-lo, body)
	p.gather(n, costs, results)
}

// Gather gives every rank the others' results of a loop of n pieces, in one message.
func (p *Pool) Gather(n int, results ...Span) {
	if p.ranks != nil {
		p.gather(n, nil, results)
	}
}

func (p *Pool) gather(n int, costs []int, results []Span) {
	if w, ok := p.ranks.(Watcher); ok {
		w.Loop(n)
	}
	total, filled, last := 0, 0, 0
	for i := range results {
		if size := results[i].before(n); size > 0 {
			total, filled, last = total+size, filled+1, i
		}
	}
	for r := range p.ends {
		_, hi := stretch(n, costs, r, len(p.ends))
		p.ends[r] = 0
		for i := range results {
			p.ends[r] += results[i].before(hi)
		}
	}
	switch {
	case filled == 0:
	case filled == 1:
		p.ranks.Gather(results[last].data[:total], p.ends)
	default:
		if len(p.message) < total {
			p.message = make([]byte, total)
		}
		p.parts(n, costs, results, true)
		p.ranks.Gather(p.message[:total], p.ends)
		p.parts(n, costs, results, false)
	}
}

// parts copies a rank's own parts of the spans to its place in the message, or the
// others' out of theirs.
func (p *Pool) parts(n int, costs []int, results []Span, own bool) {
	at := 0
	for r := range p.ends {
		lo, hi := stretch(n, costs, r, len(p.ends))
		for i := range results {
			s := &results[i]
			part := s.data[s.before(lo):s.before(hi)]
			message := p.message[at:][:len(part)]
			switch mine := r == p.ranks.Rank(); {
			case own && mine:
				copy(message, part)
			case !own && !mine:
				copy(part, message)
			}
			at += len(part)
		}
	}
}

// Sum is a sum over n pieces in their order, of which each rank has its stretch, as
// Share left them: chunk by chunk of so many bytes, the rank of the first pieces sets
// the data by add(chunk, true), the next has it from there and goes on with
// add(chunk, false), and all ranks get what the last makes of it. The bits are those of
// one rank that has all pieces.
func (p *Pool) Sum(n int, data []byte, chunk int, add func(chunk int, first bool)) {
	rank, size := p.Rank(), p.Size()
	if w, ok := p.ranks.(Watcher); ok {
		w.Loop(n)
	}
	before, after, last := -1, -1, 0 // ranks that have pieces
	for r := range size {
		if lo, hi := Stretch(n, r, size); lo == hi {
			continue
		}
		last = r
		switch {
		case r < rank:
			before = r
		case r > rank && after < 0:
			after = r
		}
	}
	if lo, hi := Stretch(n, rank, size); lo < hi {
		for c := 0; c*chunk < len(data); c++ {
			part := data[c*chunk : min((c+1)*chunk, len(data))]
			if before >= 0 {
				p.ranks.Receive(before, part)
			}
			add(c, before < 0)
			if after >= 0 {
				p.ranks.Send(after, part)
			}
		}
	}
	p.tell(last, data)
}

// Tell gives every rank the data of rank 0.
func (p *Pool) Tell(data []byte) { p.tell(0, data) }

// Text gives every rank the text of rank 0.
func (p *Pool) Text(text []byte) []byte {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	p.Tell(length)
	if p.Rank() > 0 {
		text = make([]byte, binary.LittleEndian.Uint64(length))
	}
	p.Tell(text)
	return text
}

func (p *Pool) tell(from int, data []byte) {
	if p.ranks == nil {
		return
	}
	for r := range p.ends {
		p.ends[r] = 0
		if r >= from {
			p.ends[r] = len(data)
		}
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
