package hierarchy

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"sync"

	"github.com/revgen/revgen/internal/pool"
)

// A web is a graph in compressed rows: the bonds of spin i are elements start[i] …
// start[i+1]−1 of the lists, in the order of its neighbours.
type web struct {
	start  []int
	to     []int32
	length []float64
	step   []float64 // probability that a walk at i takes the bond
	back   []arrival
}

// An arrival is a bond as a walk takes it from the other end.
type arrival struct {
	step float64
	from int32
}

func newWeb(beta float64, near [][]neighbour) *web {
	w := &web{start: make([]int, 1, len(near)+1)}
	sums := make([]float64, len(near))
	for i, list := range near {
		for _, b := range list {
			p := math.Tanh(beta * math.Abs(b.coupling))
			sums[i] += p
			w.to, w.step = append(w.to, int32(b.spin)), append(w.step, p)
			// Strong bonds have some length too, so that no two spins are at the same place.
			w.length = append(w.length, max(1e-3, -math.Log(p)))
		}
		w.start = append(w.start, len(w.to))
	}
	for i, sum := range sums {
		for b := w.start[i]; b < w.start[i+1]; b++ {
			j, p := w.to[b], w.step[b]
			w.step[b] = p / max(sum, math.SmallestNonzeroFloat64)
			w.back = append(w.back, arrival{p / max(sums[j], math.SmallestNonzeroFloat64), j})
		}
	}
	return w
}

func (w *web) spins() int { return len(w.start) - 1 }

// A wave meets spins in the order of their distance from one. Where a way is no shorter
// than distance says already, it does not go on.
type wave struct {
	*web
	distance []float64
	met      []int32 // spins whose distance it changed, some more than once
	queue    vertexQueue
}

func newWave(w *web) wave {
	s := wave{web: w, distance: make([]float64, w.spins())}
	for i := range s.distance {
		s.distance[i] = math.Inf(1)
	}
	return s
}

func (s *wave) begin(from int32) {
	s.met, s.queue = s.met[:0], s.queue[:0]
	s.offer(from, 0)
}

func (s *wave) offer(i int32, way float64) {
	if way < s.distance[i] {
		s.distance[i], s.met = way, append(s.met, i)
		heap.Push(&s.queue, vertex{way, i, i})
	}
}

// next returns the next spin, or none.
func (s *wave) next() (i int32, ok bool) {
	for len(s.queue) > 0 {
		v := heap.Pop(&s.queue).(vertex)
		if v.key > s.distance[v.index] {
			continue
		}
		for b := s.start[v.index]; b < s.start[v.index+1]; b++ {
			s.offer(s.to[b], v.key+s.length[b])
		}
		return v.index, true
	}
	return 0, false
}

// farthestFirst orders the spins that are not exact: each next one is the farthest from
// all before, of equals the one with the most neighbours, of these the first. The first of
// all is infinitely far.
func (w *web) farthestFirst(exact []bool) (order []int32) {
	var spins []int32
	for i, e := range exact {
		if !e {
			spins = append(spins, int32(i))
		}
	}
	degree := func(i int32) int { return w.start[i+1] - w.start[i] }
	slices.SortStableFunc(spins, func(a, b int32) int { return cmp.Compare(degree(b), degree(a)) })
	var far vertexQueue
	for k, i := range spins {
		heap.Push(&far, vertex{math.Inf(-1), int32(k), i})
	}
	// Distances to the nearest of those ordered so far: as roundings keep the order of
	// numbers, a wave may end where another came as near.
	s := newWave(w)
	for len(far) > 0 {
		v := heap.Pop(&far).(vertex)
		if d := s.distance[v.index]; d < -v.key { // it has become less
			heap.Push(&far, vertex{-d, v.second, v.index})
			continue
		}
		order = append(order, v.index)
		s.begin(v.index)
		for ok := true; ok; {
			_, ok = s.next()
		}
	}
	return order
}

// inputs returns for each spin of an order those before it that it looks at, at most n,
// by their distance, of equals the first in the order first.
func (w *web) inputs(kind string, order []int32, n int, workers *pool.Pool) [][]int {
	const each = 16 // spins of a piece
	rank := make([]int32, w.spins())
	for i := range rank {
		rank[i] = math.MaxInt32 // never known
	}
	for k, i := range order {
		rank[i] = int32(k)
	}
	inputs := make([][]int, len(order))
	seekers := sync.Pool{New: func() any { return newSeeker(w, order, rank) }}
	workers.Run((len(order)+each-1)/each, func(piece int) {
		s := seekers.Get().(*seeker)
		defer seekers.Put(s)
		find := s.nearest
		if kind == Reached {
			find = s.mostReached
		}
		for k := piece * each; k < min((piece+1)*each, len(order)); k++ {
			for _, i := range find(k, n) {
				inputs[k] = append(inputs[k], int(i))
			}
		}
	})
	return inputs
}

// A seeker finds the inputs of the k-th spin of an order. Those before it are known.
type seeker struct {
	wave
	order []int32
	rank  []int32 // place in the order
	found []int32

	// The present walk: all zero between walks but layer, which is −1.
	at, after []float64  // probabilities to be at each spin, now and after a step
	visits    []float64  // their sums over the steps
	layer     []int32    // the first step after which a walk can be there
	seen      [2][]int32 // spins of even and odd layers
	reached   []float64  // probability to end at each known spin
	ends      []int32    // spins where it is not zero
}

func newSeeker(w *web, order, rank []int32) *seeker {
	n := w.spins()
	s := &seeker{wave: newWave(w), order: order, rank: rank, layer: make([]int32, n)}
	for _, x := range []*[]float64{&s.at, &s.after, &s.visits, &s.reached} {
		*x = make([]float64, n)
	}
	for i := range s.layer {
		s.layer[i] = -1
	}
	return s
}

func (s *seeker) known(i int32, k int) bool { return int(s.rank[i]) < k }

// nearest returns the n known spins that are nearest, or all.
func (s *seeker) nearest(k, n int) []int32 {
	n = min(n, k)
	found := s.around(k, n, func(i int32) bool { return s.known(i, k) })
	for _, i := range s.order[:k] {
		if len(found) >= n {
			break
		}
		if !slices.Contains(found, i) { // no way leads there
			found = append(found, i)
		}
	}
	return found[:n]
}

// around returns the n wanted spins that are nearest to the k-th, which is not wanted itself,
// or as many as there are ways to, and those as far as the last of them.
func (s *seeker) around(k, n int, wanted func(int32) bool) []int32 {
	s.found = s.found[:0]
	s.begin(s.order[k])
	for n > 0 {
		i, ok := s.next()
		if !ok || len(s.found) >= n && s.distance[i] > s.distance[s.found[n-1]] {
			break
		}
		if wanted(i) {
			s.found = append(s.found, i)
		}
	}
	slices.SortFunc(s.found, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.distance[a], s.distance[b]), cmp.Compare(s.rank[a], s.rank[b]))
	})
	for _, i := range s.met {
		s.distance[i] = math.Inf(1)
	}
	return s.found
}

// Walks end after so many steps, or when so few are left.
const (
	walkSteps = 64
	walksLeft = 1e-3
)

// mostReached returns the n known spins at which the most walks end that go through unknown
// ones, and none at which no walk ends. Probabilities that differ by less than 1e-9 are
// equal, and then the nearer spins are those.
func (s *seeker) mostReached(k, n int) []int32 {
	const resolution = 1e9
	s.walk(k)
	for _, i := range s.ends {
		s.reached[i] = 1 + math.Round(resolution*s.reached[i])
	}
	slices.SortFunc(s.ends, func(a, b int32) int { return cmp.Compare(s.reached[b], s.reached[a]) })
	var found []int32
	if n = min(n, len(s.ends)); n > 0 {
		least, equals := s.reached[s.ends[n-1]], n
		for equals < len(s.ends) && s.reached[s.ends[equals]] == least {
			equals++
		}
		found = s.around(k, equals, func(i int32) bool { return s.reached[i] >= least })
		for j := equals - 1; len(found) > n; j-- {
			if s.reached[found[j]] == least {
				found = slices.Delete(found, j, j+1)
			}
		}
	}
	s.leave()
	return found
}

// leave forgets a walk's ends.
func (s *seeker) leave() {
	for _, i := range s.ends {
		s.reached[i] = 0
	}
	s.ends = s.ends[:0]
}

// walk finds where walks end. The order of its sums is part of what defines a model: it
// decides about probabilities that are equal but for rounding. So each product is rounded
// by itself, that no machine fuses it with a sum.
//
// Each step gathers what arrives at the spins that can be reached by then. On a bipartite
// part of the graph these are all of even or all of odd layers.
func (s *seeker) walk(k int) {
	from, both := s.order[k], false
	s.seen[0], s.seen[1] = append(s.seen[0][:0], from), s.seen[1][:0]
	s.layer[from], s.at[from] = 0, 1
	var first [len(s.seen)]int // of the latest layer
	left := 1.0
	for t := 0; t < walkSteps && left >= walksLeft; t++ {
		here, there := &s.seen[t&1], &s.seen[(t+1)&1]
		latest := (*here)[first[t&1]:]
		first[t&1] = len(*here)
		for _, i := range latest {
			for _, j := range s.to[s.start[i]:s.start[i+1]] {
				switch {
				case s.known(j, k):
				case s.layer[j] < 0:
					s.layer[j] = int32(t + 1)
					*there = append(*there, j)
				case (int(s.layer[j])-t)&1 == 0:
					both = true
				}
			}
		}
		left = s.gather(*there)
		if both {
			left += s.gather(*here)
		}
		s.at, s.after = s.after, s.at
	}
	for _, seen := range s.seen {
		for _, i := range seen {
			visits := s.visits[i] + s.after[i] // at is a step too far
			s.visits[i], s.at[i], s.after[i], s.layer[i] = 0, 0, 0, -1
			for b := s.start[i]; b < s.start[i+1]; b++ {
				j, p := s.to[b], float64(visits*s.step[b])
				if !s.known(j, k) || p == 0 {
					continue
				}
				if s.reached[j] == 0 {
					s.ends = append(s.ends, j)
				}
				s.reached[j] += p
			}
		}
	}
}

// gather sets after for some spins and returns their sum. What after was is the step
// before, which visits has to count.
func (s *seeker) gather(spins []int32) (sum float64) {
	start, back, at, after, visits := s.start, s.back, s.at, s.after, s.visits
	for _, i := range spins {
		row := back[start[i]:start[i+1]]
		var even, odd float64
		for ; len(row) >= 2; row = row[2:] {
			even += float64(at[row[0].from] * row[0].step)
			odd += float64(at[row[1].from] * row[1].step)
		}
		if len(row) > 0 {
			even += float64(at[row[0].from] * row[0].step)
		}
		even += odd
		visits[i] += after[i]
		after[i] = even
		sum += even
	}
	return sum
}
