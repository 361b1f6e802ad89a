package hierarchy

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"sync"

	"github.com/revgen/revgen/internal/pool"
)

// A sparseGraph is a graph in compressed rows: the bonds of spin i are elements start[i] …
// start[i+1]−1 of the lists, in the order of its neighbours.
type sparseGraph struct {
	start  []int
	to     []int32
	length []float64
	step   []float64 // probability that a walk at i takes the bond
	back   []arrival
}

// An arrival is a step of a walk to spin i, along one of its bonds.
type arrival struct {
	step float64 // its probability for a walk that is at from
	from int32
}

func newSparseGraph(beta float64, near [][]neighbour) *sparseGraph {
	g := &sparseGraph{start: make([]int, 1, len(near)+1)}
	sums := make([]float64, len(near))
	for i, list := range near {
		for _, b := range list {
			p := math.Tanh(beta * math.Abs(b.coupling))
			sums[i] += p
			g.to, g.step = append(g.to, int32(b.spin)), append(g.step, p)
			// Strong bonds have some length too, so that no two spins are at the same place.
			g.length = append(g.length, max(1e-3, -math.Log(p)))
		}
		g.start = append(g.start, len(g.to))
	}
	for i, sum := range sums {
		for b := g.start[i]; b < g.start[i+1]; b++ {
			j, p := g.to[b], g.step[b]
			g.step[b] = p / max(sum, math.SmallestNonzeroFloat64)
			g.back = append(g.back, arrival{p / max(sums[j], math.SmallestNonzeroFloat64), j})
		}
	}
	return g
}

func (g *sparseGraph) spins() int { return len(g.start) - 1 }

// A dijkstra visits spins in the order of their distance from one. It stops at a spin
// that it or an earlier search reached on a path as short.
type dijkstra struct {
	*sparseGraph
	distance []float64 // infinite, or of the searches so far
	touched  []int32   // spins whose distance the search changed, some more than once
	queue    vertexQueue
}

func newDijkstra(g *sparseGraph) dijkstra {
	s := dijkstra{sparseGraph: g, distance: make([]float64, g.spins())}
	for i := range s.distance {
		s.distance[i] = math.Inf(1)
	}
	return s
}

func (s *dijkstra) startAt(from int32) {
	s.touched, s.queue = s.touched[:0], s.queue[:0]
	s.relax(from, 0)
}

// relax puts spin i into the queue if a path of this length is its shortest so far.
func (s *dijkstra) relax(i int32, length float64) {
	if length < s.distance[i] {
		s.distance[i], s.touched = length, append(s.touched, i)
		heap.Push(&s.queue, vertex{length, i, i})
	}
}

// next returns the next spin, if there is one.
func (s *dijkstra) next() (i int32, ok bool) {
	for len(s.queue) > 0 {
		v := heap.Pop(&s.queue).(vertex)
		if v.key > s.distance[v.index] {
			continue
		}
		for b := s.start[v.index]; b < s.start[v.index+1]; b++ {
			s.relax(s.to[b], v.key+s.length[b])
		}
		return v.index, true
	}
	return 0, false
}

// farthestFirst orders the spins that are not exact. The next spin is the farthest from all
// before, and of several the one with most neighbours or the smallest number. At first all are
// infinitely far.
func (g *sparseGraph) farthestFirst(exact []bool) (order []int32) {
	var spins []int32
	for i, e := range exact {
		if !e {
			spins = append(spins, int32(i))
		}
	}
	degree := func(i int32) int { return g.start[i+1] - g.start[i] }
	slices.SortStableFunc(spins, func(a, b int32) int { return cmp.Compare(degree(b), degree(a)) })
	var far vertexQueue
	for k, i := range spins {
		heap.Push(&far, vertex{math.Inf(-1), int32(k), i})
	}
	// The searches from all ordered spins share their distances, to the nearest of these.
	// Rounding keeps the order of numbers, so a search may end where another came as near.
	s := newDijkstra(g)
	for len(far) > 0 {
		v := heap.Pop(&far).(vertex)
		if d := s.distance[v.index]; d < -v.key { // nearer than when it was queued
			heap.Push(&far, vertex{-d, v.tieBreak, v.index})
			continue
		}
		order = append(order, v.index)
		s.startAt(v.index)
		for ok := true; ok; {
			_, ok = s.next()
		}
	}
	return order
}

// inputs returns for each spin of an order at most n spins before it that it looks at, by
// distance and then by their place in the order.
func (g *sparseGraph) inputs(kind string, order []int32, n int, workers *pool.Pool) [][]int {
	const pieceSpins = 16
	rank := make([]int32, g.spins())
	for i := range rank {
		rank[i] = math.MaxInt32 // never known
	}
	for k, i := range order {
		rank[i] = int32(k)
	}
	inputs := make([][]int, len(order))
	finders := sync.Pool{New: func() any { return newInputFinder(g, order, rank) }}
	workers.Run((len(order)+pieceSpins-1)/pieceSpins, func(piece int) {
		s := finders.Get().(*inputFinder)
		defer finders.Put(s)
		find := s.nearest
		if kind == Reached {
			find = s.mostLikelyEnds
		}
		for k := piece * pieceSpins; k < min((piece+1)*pieceSpins, len(order)); k++ {
			for _, i := range find(k, n) {
				inputs[k] = append(inputs[k], int(i))
			}
		}
	})
	return inputs
}

// An inputFinder finds the inputs of the k-th spin of an order. The spins before it are known.
type inputFinder struct {
	dijkstra
	order []int32
	rank  []int32 // place in the order
	found []int32

	// The present walk, by spin. Between walks layer is −1 and all else zero.
	p, pNext       []float64  // probability to be there, now and after the next step
	visits         []float64  // sum of these probabilities over the steps
	layer          []int32    // the first step after which a walk can be there
	layers         [2][]int32 // spins of even layers and of odd ones
	endProbability []float64  // probability to end there, of known spins
	ends           []int32    // spins where endProbability is not zero
}

func newInputFinder(g *sparseGraph, order, rank []int32) *inputFinder {
	n := g.spins()
	s := &inputFinder{dijkstra: newDijkstra(g), order: order, rank: rank, layer: make([]int32, n)}
	for _, x := range []*[]float64{&s.p, &s.pNext, &s.visits, &s.endProbability} {
		*x = make([]float64, n)
	}
	for i := range s.layer {
		s.layer[i] = -1
	}
	return s
}

func (s *inputFinder) isKnown(i int32, k int) bool { return int(s.rank[i]) < k }

// nearest returns the n nearest known spins, or all if they are fewer.
func (s *inputFinder) nearest(k, n int) []int32 {
	n = min(n, k)
	found := s.nearestWanted(k, n, func(i int32) bool { return s.isKnown(i, k) })
	for _, i := range s.order[:k] {
		if len(found) >= n {
			break
		}
		if !slices.Contains(found, i) { // no path leads there
			found = append(found, i)
		}
	}
	return found[:n]
}

// nearestWanted returns the n wanted spins that are nearest to the k-th, and all others at the
// distance of the last one; or those that a path leads to, if they are fewer. The k-th itself is
// not wanted.
func (s *inputFinder) nearestWanted(k, n int, wanted func(int32) bool) []int32 {
	s.found = s.found[:0]
	s.startAt(s.order[k])
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
	for _, i := range s.touched {
		s.distance[i] = math.Inf(1)
	}
	return s.found
}

// Walks are followed for walkSteps steps, or until the probability that a walk has not ended is
// less than walksLeft.
const (
	walkSteps = 64
	walksLeft = 1e-3
)

// mostLikelyEnds returns the n known spins at which walks end with the largest probability, or
// all at which any walk ends if they are fewer. Probabilities are rounded to multiples of 1e-9,
// and of equal ones the nearer spins are chosen.
func (s *inputFinder) mostLikelyEnds(k, n int) []int32 {
	s.walk(k)
	rounded := func(i int32) float64 { return math.Round(1e9 * s.endProbability[i]) }
	slices.SortFunc(s.ends, func(a, b int32) int { return cmp.Compare(rounded(b), rounded(a)) })
	var found []int32
	if n = min(n, len(s.ends)); n > 0 {
		least, wanted := rounded(s.ends[n-1]), n
		for wanted < len(s.ends) && rounded(s.ends[wanted]) == least {
			wanted++
		}
		found = s.nearestWanted(k, wanted, func(i int32) bool { return s.endProbability[i] > 0 && rounded(i) >= least })
		for j := wanted - 1; len(found) > n; j-- {
			if rounded(found[j]) == least {
				found = slices.Delete(found, j, j+1)
			}
		}
	}
	s.clearEnds()
	return found
}

func (s *inputFinder) clearEnds() {
	for _, i := range s.ends {
		s.endProbability[i] = 0
	}
	s.ends = s.ends[:0]
}

// walk finds where walks from the k-th spin end. The order of its sums is part of what defines
// a model, since it decides between probabilities that are equal but for rounding. So each
// product is rounded by itself, and no machine fuses it with a sum.
//
// A step gathers what arrives at the spins of even layers, or of odd ones. If the unknown spins
// have an odd cycle, walks are at both.
func (s *inputFinder) walk(k int) {
	from, oddCycle := s.order[k], false
	s.layers[0], s.layers[1] = append(s.layers[0][:0], from), s.layers[1][:0]
	s.layer[from], s.p[from] = 0, 1
	var first [len(s.layers)]int // where the latest layer begins
	walking := 1.0               // probability that a walk has not ended
	for t := 0; t < walkSteps && walking >= walksLeft; t++ {
		here, there := &s.layers[t&1], &s.layers[(t+1)&1]
		latest := (*here)[first[t&1]:]
		first[t&1] = len(*here)
		for _, i := range latest {
			for _, j := range s.to[s.start[i]:s.start[i+1]] {
				switch {
				case s.isKnown(j, k):
				case s.layer[j] < 0:
					s.layer[j] = int32(t + 1)
					*there = append(*there, j)
				case (int(s.layer[j])-t)&1 == 0:
					oddCycle = true
				}
			}
		}
		walking = s.gather(*there)
		if oddCycle {
			walking += s.gather(*here)
		}
		s.p, s.pNext = s.pNext, s.p
	}
	for _, spins := range s.layers {
		for _, i := range spins {
			visits := s.visits[i] + s.pNext[i] // p is of the step after the last one
			s.visits[i], s.p[i], s.pNext[i], s.layer[i] = 0, 0, 0, -1
			for b := s.start[i]; b < s.start[i+1]; b++ {
				j, p := s.to[b], float64(visits*s.step[b])
				if !s.isKnown(j, k) || p == 0 {
					continue
				}
				if s.endProbability[j] == 0 {
					s.ends = append(s.ends, j)
				}
				s.endProbability[j] += p
			}
		}
	}
}

// gather sets pNext of some spins, after it has added the old pNext, that of the step before, to
// visits. It returns the sum of pNext.
func (s *inputFinder) gather(spins []int32) (sum float64) {
	start, back, p, pNext, visits := s.start, s.back, s.p, s.pNext, s.visits
	for _, i := range spins {
		row := back[start[i]:start[i+1]]
		var even, odd float64
		for ; len(row) >= 2; row = row[2:] {
			even += float64(p[row[0].from] * row[0].step)
			odd += float64(p[row[1].from] * row[1].step)
		}
		if len(row) > 0 {
			even += float64(p[row[0].from] * row[0].step)
		}
		even += odd
		visits[i] += pNext[i]
		pNext[i] = even
		sum += even
	}
	return sum
}
