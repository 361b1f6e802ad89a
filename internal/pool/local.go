package pool

import "bytes"

// Local returns ranks in one process, for tests: each belongs to a goroutine.
func Local(size int) []Ranks {
	channels := make([]chan message, size*size)
	for i := range channels {
		channels[i] = make(chan message, 1)
	}
	var ranks []Ranks
	for r := range size {
		ranks = append(ranks, &local{rank: r, size: size, channels: channels})
	}
	return ranks
}

type local struct {
	rank, size int
	channels   []chan message // [from][to]
}

// A message is a rank's part of data of the given length.
type message struct {
	part   []byte
	length int
}

func (l *local) Rank() int { return l.rank }
func (l *local) Size() int { return l.size }

func (l *local) Gather(data []byte, ends []int) {
	part := func(r int) []byte {
		if r == 0 {
			return data[:ends[0]]
		}
		return data[ends[r-1]:ends[r]]
	}
	for r := range l.size {
		if r != l.rank {
			l.channel(l.rank, r) <- message{bytes.Clone(part(l.rank)), len(data)}
		}
	}
	for r := range l.size {
		if r == l.rank {
			continue
		}
		m := <-l.channel(r, l.rank)
		if len(m.part) != len(part(r)) || m.length != len(data) {
			panic("pool: ranks gather different lengths")
		}
		copy(part(r), m.part)
	}
}

func (l *local) channel(from, to int) chan message { return l.channels[from*l.size+to] }

func (l *local) Send(to int, data []byte) {
	l.channel(l.rank, to) <- message{bytes.Clone(data), len(data)}
}

func (l *local) Receive(from int, data []byte) {
	m := <-l.channel(from, l.rank)
	if len(m.part) != len(data) {
		panic("pool: ranks send and receive different lengths")
	}
	copy(data, m.part)
}
