package spins

import "math"

// A frontierSearch looks for an order of the spins with a small frontier. The frontier at a step
// is the spins so far that have neighbours still to come. Its configurations are the states of
// the step.
type frontierSearch struct {
	near       [][]int32 // neighbours with a coupling other than 0
	position   []int32   // of each spin in the order, −1 if it is still to come
	remaining  []int32   // how many of each spin's neighbours are still to come
	looked     []int32   // when greedy last looked at each spin
	cumulative []float64 // by follow: the states of all steps before step t; the last is of all steps
}

func newFrontierSearch(near [][]int32) *frontierSearch {
	n := len(near)
	return &frontierSearch{near: near, position: make([]int32, n), remaining: make([]int32, n), looked: make([]int32, n)}
}

// bonded returns each spin's neighbours with a coupling other than 0.
func bonded(g *Graph) [][]int32 {
	all := make([][]int32, g.N())
	for i := range all {
		near, couplings := g.Neighbours(i)
		for k, j := range near {
			if couplings[k] != 0 {
				all[i] = append(all[i], j)
			}
		}
	}
	return all
}

// Sweep returns an order of a graph's vertices with a frontier of at most about maxFrontier
// vertices, those so far that have neighbours still to come. near lists the neighbours of each
// vertex. Sweep returns nil if no order that it tries is good enough.
func Sweep(near [][]int32, maxFrontier int) []int32 {
	return newFrontierSearch(near).order(math.Ldexp(1, maxFrontier))
}

// order tries the spins in the order of their numbers, and some greedy orders. It returns the
// one with the fewest states, or nil if all have maxStates or more.
func (s *frontierSearch) order(maxStates float64) []int32 {
	const starts = 32
	n := len(s.near)
	// A spin stays in the frontier until its last neighbour comes. So when the first spin
	// leaves, it and all its neighbours but one are in the frontier.
	minDegree := n
	for _, near := range s.near {
		minDegree = min(minDegree, len(near))
	}
	if math.Ldexp(1, minDegree) > maxStates {
		return nil
	}
	ascending := make([]int32, n)
	for i := range ascending {
		ascending[i] = int32(i)
	}
	best, bestStates := []int32(nil), maxStates
	try := func(order []int32, states float64) {
		if states < bestStates {
			best, bestStates = order, states
		}
	}
	try(ascending, s.follow(ascending, bestStates))
	for k := range min(n, starts) {
		start := int32(k * n / min(n, starts))
		try(s.greedy(start, false, bestStates))
		try(s.greedy(start, true, bestStates))
	}
	return best
}

// follow returns the states of an order, all steps together. It stops when they exceed maxStates.
func (s *frontierSearch) follow(order []int32, maxStates float64) (states float64) {
	s.reset()
	s.cumulative = append(s.cumulative[:0], 0)
	frontier := 0
	for t, i := range order {
		frontier += s.growth(i)
		s.enter(i, t)
		states += math.Ldexp(1, frontier)
		if s.cumulative = append(s.cumulative, states); states > maxStates {
			break
		}
	}
	return states
}

// mostSpared returns the spin without which the states of an order would be fewest.
func (s *frontierSearch) mostSpared(order []int32) int {
	s.follow(order, math.Inf(1))
	best, bestSpared := 0, -1.0
	for i, near := range s.near {
		end := s.position[i]
		for _, j := range near {
			end = max(end, s.position[j])
		}
		if spared := s.cumulative[end] - s.cumulative[s.position[i]]; spared > bestSpared {
			best, bestSpared = i, spared
		}
	}
	return best
}

// greedy begins at a spin and goes on with the spin that lets the frontier grow least. Of
// several it takes a neighbour of the first spin in the frontier, which suits lattices, or of
// the last one, which suits trees. It returns nil when the states exceed maxStates.
func (s *frontierSearch) greedy(start int32, last bool, maxStates float64) (order []int32, states float64) {
	s.reset()
	var frontier []int32
	next := start
	for range s.near {
		s.enter(next, len(order))
		order = append(order, next)
		kept := frontier[:0]
		for _, i := range append(frontier, next) {
			if s.remaining[i] > 0 {
				kept = append(kept, i)
			}
		}
		frontier = kept
		if states += math.Ldexp(1, len(frontier)); states > maxStates {
			return nil, states
		}
		next = -1
		minGrowth := math.MaxInt
		for k, i := range frontier { // in the order in which they came
			if last {
				i = frontier[len(frontier)-1-k]
			}
			for _, j := range s.near[i] {
				if s.position[j] >= 0 || s.looked[j] == int32(len(order)) {
					continue
				}
				s.looked[j] = int32(len(order))
				if d := s.growth(j); d < minGrowth {
					next, minGrowth = j, d
				}
			}
		}
		for i := 0; next < 0 && i < len(s.near); i++ {
			if s.position[i] < 0 {
				next = int32(i)
			}
		}
	}
	return order, states
}

func (s *frontierSearch) reset() {
	for i := range s.near {
		s.position[i], s.remaining[i], s.looked[i] = -1, int32(len(s.near[i])), -1
	}
}

func (s *frontierSearch) enter(i int32, position int) {
	s.position[i] = int32(position)
	for _, j := range s.near[i] {
		s.remaining[j]--
	}
}

// growth returns by how many spins the frontier grows when spin i comes.
func (s *frontierSearch) growth(i int32) (d int) {
	if s.remaining[i] > 0 {
		d++
	}
	for _, j := range s.near[i] {
		if s.position[j] >= 0 && s.remaining[j] == 1 {
			d--
		}
	}
	return d
}
