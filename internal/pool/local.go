package pool

import "bytes"

// Local returns ranks that are goroutines of one process, for tests of what ranks
// compute: each calls Gather on its own.
func Local(size int) []Ranks {
	sent := make([]chan message, size*size)
	for i := range sent {
		sent[i] = make(chan message, 1)
	}
	var all []Ranks
	for r := range size {
		all = append(all, &local{r, size, sent})
	}
	return all
}

type local struct {
	rank, size int
	sent       []chan message // from one rank to another
}

// A message is a part of so many bytes, or all.
type message struct {
	part []byte
	of   int
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
			l.between(l.rank, r) <- message{bytes.Clone(part(l.rank)), len(data)}
		}
	}
	for r := range l.size {
		if r == l.rank {
			continue
		}
		m := <-l.between(r, l.rank)
		if len(m.part) != len(part(r)) || m.of != len(data) {
			panic("pool: ranks gather different lengths")
		}
		copy(part(r), m.part)
	}
}

func (l *local) between(from, to int) chan message { return l.sent[from*l.size+to] }

func (l *local) Send(to int, data []byte) {
	l.between(l.rank, to) <- message{bytes.Clone(data), len(data)}
}

func (l *local) Receive(from int, data []byte) {
	m := <-l.between(from, l.rank)
	if len(m.part) != len(data) {
		panic("pool: ranks send and receive different lengths")
	}
	copy(data, m.part)
}
