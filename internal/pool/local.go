package pool

import "sync"

// Local returns ranks that are goroutines of one process, for tests of what ranks
// compute: each calls Gather on its own.
func Local(size int) []Ranks {
	m := &meeting{data: make([][]byte, size), ends: make([][]int, size)}
	m.cond.L = &m.mutex
	m.sent = make([]chan []byte, size*size)
	for i := range m.sent {
		m.sent[i] = make(chan []byte)
	}
	var all []Ranks
	for r := range size {
		all = append(all, &local{m, r})
	}
	return all
}

// A meeting is where local ranks wait for each other.
type meeting struct {
	mutex sync.Mutex
	cond  sync.Cond
	here  int
	round int
	data  [][]byte
	ends  [][]int
	sent  []chan []byte // from one rank to another, and back when it was read
}

// wait returns when all ranks have called it.
func (m *meeting) wait() {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.here++
	if round := m.round; m.here < len(m.data) {
		for round == m.round {
			m.cond.Wait()
		}
		return
	}
	m.here = 0
	m.round++
	m.cond.Broadcast()
}

type local struct {
	*meeting
	rank int
}

func (l *local) Rank() int { return l.rank }
func (l *local) Size() int { return len(l.data) }

func (l *local) Gather(data []byte, ends []int) {
	l.data[l.rank], l.ends[l.rank] = data, ends
	l.wait()
	lo := 0
	for r, hi := range ends {
		if len(l.data[r]) != len(data) || l.ends[r][r] != hi {
			panic("pool: ranks gather different lengths")
		}
		if r != l.rank {
			copy(data[lo:hi], l.data[r][lo:hi])
		}
		lo = hi
	}
	l.wait()
}

func (l *local) between(from, to int) chan []byte { return l.sent[from*l.Size()+to] }

func (l *local) Send(to int, data []byte) {
	l.between(l.rank, to) <- data
	<-l.between(to, l.rank)
}

func (l *local) Receive(from int, data []byte) {
	sent := <-l.between(from, l.rank)
	if copy(data, sent) != len(data) || len(sent) != len(data) {
		panic("pool: ranks send and receive different lengths")
	}
	l.between(l.rank, from) <- nil
}
