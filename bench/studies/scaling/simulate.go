package main

import (
	"math"
	"math/rand/v2"
)

// A Run is what a training costs: what is measured on the ranks at hand.
type Run struct {
	Name   string
	Batch  int
	Stages []Stage // of a step
}

// A Stage is what ranks do up to a collective call.
type Stage struct {
	// Shared and Whole are processor seconds on one rank: of the loop that ranks share,
	// and of what each does whole.
	Shared, Whole float64
	Pieces        int // of the loop, the most ranks that it keeps busy
	Bytes         int // of the call, those of all ranks together; those a rank adds where EachRank
	EachRank      bool
	Chunk         int // bytes that are passed along the ranks at a time, where the call ends a sum; 0 for a gather
}

// seconds returns what the busiest of n ranks takes for a stage.
func (s *Stage) seconds(n int) float64 {
	if s.Pieces == 0 {
		return s.Whole
	}
	return s.Whole + s.Shared*math.Ceil(float64(s.Pieces)/float64(n))/float64(s.Pieces)
}

func (s *Stage) bytes(n int) int {
	if s.EachRank {
		return s.Bytes * n
	}
	return s.Bytes
}

// A Machine is what ranks run on.
type Machine struct {
	Near, Far Link    // between ranks of a node, and of several
	Node      int     // ranks of a node; 0 for any number
	Spread    float64 // standard deviation of ln of a loop's time, of its own on every rank
	Hiccups   float64 // of a rank's loops, the part in which somebody else has the processor
	Hiccup    float64 // for so many seconds
}

// A Link is how messages pass between two ranks.
type Link struct {
	Latency   float64 // seconds of a message
	Bandwidth float64 // bytes a second of a rank
}

func (l *Link) seconds(b int) float64 { return l.Latency + float64(b)/l.Bandwidth }

// call returns the seconds of the call at the end of a stage on n ranks.
func (m *Machine) call(n int, s *Stage) float64 {
	link := &m.Near
	if m.Node > 0 && n > m.Node {
		link = &m.Far
	}
	turns := math.Ceil(math.Log2(float64(n)))
	switch {
	case n == 1:
		return 0
	case s.Chunk == 0: // each rank gets the others' parts: recursive doubling
		return link.Latency*turns + float64(s.bytes(n))*float64(n-1)/float64(n)/link.Bandwidth
	}
	// Chunk after chunk goes from rank to rank; the last gives all the whole, which is
	// scattered and gathered where ranks are more than two.
	chain := min(n, max(1, s.Pieces)) // ranks that have pieces
	chunks := (s.Bytes + s.Chunk - 1) / s.Chunk
	copies := 2.0
	if n == 2 {
		copies = 1
	}
	return float64(chunks+chain-2)*link.seconds(min(s.Chunk, s.Bytes)) + link.Latency*turns + copies*float64(s.Bytes)/link.Bandwidth
}

// slowed returns what a rank takes for a loop of so many seconds.
func (m *Machine) slowed(seconds float64, r *rand.Rand) float64 {
	if m.Spread > 0 {
		seconds *= math.Exp(m.Spread*r.NormFloat64() - m.Spread*m.Spread/2)
	}
	if m.Hiccups > 0 && r.Float64() < m.Hiccups {
		seconds += m.Hiccup
	}
	return seconds
}

// Steps simulates steps of n ranks and returns the seconds of each. In each stage every
// rank takes its time, and all leave the call together when the last has come.
func Steps(run *Run, m *Machine, n, steps int, r *rand.Rand) []float64 {
	clock, began := 0.0, 0.0
	took := make([]float64, steps)
	for step := range took {
		for i := range run.Stages {
			s := &run.Stages[i]
			each := s.seconds(n)
			last := clock
			for range n {
				last = max(last, clock+m.slowed(each, r))
			}
			clock = last + m.call(n, s)
		}
		took[step], began = clock-began, clock
	}
	return took
}
