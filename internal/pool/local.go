package pool

import "sync"

// Local returns ranks that are goroutines of one process, for tests of what ranks
// compute: each calls Gather on its own.
func Local(size int) []Ranks {
	m := &meeting{data: make([][]byte, size), ends: make([][]int, size)}
	m.cond.L = &m.mutex
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
