package pool

import (
	"encoding/binary"
	"slices"

	"github.com/revgen/revgen/asm"
)

// Ranks are processes that run the same program side by side, each with a pool of its own and without
// common memory. A shared loop leaves every rank with the same bits as if it had run all pieces
// itself. All other loops every rank runs whole.
type Ranks interface {
	// Rank returns this process's number, 0 … Size−1.
	Rank() int
	// Size returns the number of processes.
	Size() int
	// Gather completes data on every rank. Before the call rank r has bytes ends[r−1] … ends[r]−1,
	// and rank 0 those from 0 on. All ranks call it with the same lengths.
	Gather(data []byte, ends []int)
	// Send gives data to another rank, which calls Receive for as many bytes. It may
	// return before or after that.
	Send(to int, data []byte)
	// Receive fills data from another rank's Send.
	Receive(from int, data []byte)
}

// Exchange returns the messages of all ranks, given the rank's own. All have one length.
func Exchange(ranks Ranks, message []byte) [][]byte {
	n := ranks.Size()
	data, ends, messages := make([]byte, n*len(message)), make([]int, n), make([][]byte, n)
	for r := range n {
		ends[r] = (r + 1) * len(message)
		messages[r] = data[r*len(message) : ends[r]]
	}
	copy(messages[ranks.Rank()], message)
	ranks.Gather(data, ends)
	return messages
}

// A Watcher is Ranks that are told the number of pieces of each loop before its results
// are gathered: for measurements.
type Watcher interface{ Loop(pieces int) }

// A Span is where the pieces of a loop leave results. It consists of parts of one length, of which the
// last may be shorter. Piece first+i owns part i, and pieces before first own nothing.
type Span struct {
	data      []byte
	first     int
	partBytes int
	ends      []int // if not nil, piece i owns parts ends[i−1] … ends[i]−1
}

// SpanOf returns the span of a slice whose parts are partLength elements. T holds no pointers.
func SpanOf[T any](s []T, partLength int) Span {
	data := asm.Bytes(s)
	if len(s) == 0 {
		return Span{}
	}
	return Span{data: data, partBytes: partLength * (len(data) / len(s))}
}

// From returns the span in which piece first+i owns part i.
func (s Span) From(first int) Span {
	s.first = first
	return s
}

// Uneven returns the span in which piece i owns parts ends[i−1] … ends[i]−1. The ends are read
// when results are gathered.
func (s Span) Uneven(ends []int) Span {
	s.ends = ends
	return s
}

// bytesBefore returns how many bytes the pieces before a piece own.
func (s *Span) bytesBefore(piece int) int {
	switch {
	case s.ends == nil:
		return min(len(s.data), max(0, (piece-s.first)*s.partBytes))
	case piece == 0:
		return 0
	}
	return s.ends[piece-1] * s.partBytes
}

// Join makes the pool that of one of several ranks, or with nil of a process that stands alone.
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

// Joined reports whether the pool has joined ranks, even if there is only one.
func (p *Pool) Joined() bool { return p.ranks != nil }

// Alone calls f, in which no loop is shared: for work of one rank while others wait or have left.
func (p *Pool) Alone(f func()) {
	r := p.ranks
	p.ranks = nil
	defer func() { p.ranks = r }()
	f()
}

// Stretch returns the pieces lo … hi−1 of n that one rank runs.
func Stretch(n, rank, size int) (lo, hi int) { return n * rank / size, n * (rank + 1) / size }

// stretchByCost is Stretch for pieces of unequal cost: costs[i] is the cost of pieces 0 … i together. With
// nil all cost the same.
func stretchByCost(n int, costs []int, rank, size int) (lo, hi int) {
	if costs == nil {
		return Stretch(n, rank, size)
	}
	for i, before := 0, 0; i < n; i++ {
		middle := (before + costs[i]) * size // twice the cost up to the piece's middle, times size
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

// Rows returns the rows lo … hi−1 of n that are the rank's own. A group of rows is never divided.
func (p *Pool) Rows(n, group int) (lo, hi int) {
	lo, hi = Stretch((n+group-1)/group, p.Rank(), p.Size())
	return min(n, lo*group), min(n, hi*group)
}

// Share is Run where each rank runs its own stretch of the pieces and gets the results of the others. The
// results must list all that the loop writes, except what only the same rank's pieces read in a later loop
// of as many pieces.
func (p *Pool) Share(n int, body func(piece int), results ...Span) {
	p.share(n, nil, body, results)
}

// ShareBy is Share of pieces of unequal cost, which it divides evenly among the ranks: costs[i] is the cost
// of pieces 0 … i together, in any unit. All costs are positive.
func (p *Pool) ShareBy(costs []int, body func(piece int), results ...Span) {
	p.share(len(costs), costs, body, results)
}

func (p *Pool) share(n int, costs []int, body func(piece int), results []Span) {
	if p.ranks == nil {
		p.Run(n, body)
		return
	}
	lo, hi := stretchByCost(n, costs, p.ranks.Rank(), p.ranks.Size())
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
	total, filled, last := 0, 0, 0 // bytes; spans that are not empty, and the last of these
	for i := range results {
		if size := results[i].bytesBefore(n); size > 0 {
			total, filled, last = total+size, filled+1, i
		}
	}
	for r := range p.ends {
		_, hi := stretchByCost(n, costs, r, len(p.ends))
		p.ends[r] = 0
		for i := range results {
			p.ends[r] += results[i].bytesBefore(hi)
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
		p.copyParts(n, costs, results, true)
		p.ranks.Gather(p.message[:total], p.ends)
		p.copyParts(n, costs, results, false)
	}
}

// copyParts copies the rank's own parts of the spans into the message, or the other ranks' parts out of it.
func (p *Pool) copyParts(n int, costs []int, results []Span, own bool) {
	at := 0
	for r := range p.ends {
		lo, hi := stretchByCost(n, costs, r, len(p.ends))
		for i := range results {
			s := &results[i]
			part := s.data[s.bytesBefore(lo):s.bytesBefore(hi)]
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

// Sum sums n pieces into data in their order, where each rank has its stretch of the pieces, as Share left
// them. It goes through the data in chunks of the given number of bytes. The rank of the first pieces sets a
// chunk by add(chunk, true), the next rank receives it and continues by add(chunk, false), and all
// ranks get the result of the last one. The bits are those of one rank that has all pieces.
func (p *Pool) Sum(n int, data []byte, chunkBytes int, add func(chunk int, first bool)) {
	rank, size := p.Rank(), p.Size()
	if w, ok := p.ranks.(Watcher); ok {
		w.Loop(n)
	}
	before, after, last := -1, -1, 0 // the nearest ranks that have pieces, and the last one
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
		for c := 0; c*chunkBytes < len(data); c++ {
			part := data[c*chunkBytes : min((c+1)*chunkBytes, len(data))]
			if before >= 0 {
				p.ranks.Receive(before, part)
			}
			add(c, before < 0)
			if after >= 0 {
				p.ranks.Send(after, part)
			}
		}
	}
	p.broadcast(last, data)
}

// Tell gives every rank the data of rank 0.
func (p *Pool) Tell(data []byte) { p.broadcast(0, data) }

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

// broadcast gives every rank the data of one rank.
func (p *Pool) broadcast(from int, data []byte) {
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
