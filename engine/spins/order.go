package spins

import "math"

// A frontierSearch looks for an order of the spins in which few of those that have
// come have neighbours still to come, the frontier.
type frontierSearch struct {
	near [][]int32 // neighbours with a coupling other than 0
	came []int32   // when each spin did, −1 before
	left []int32   // neighbours to come
	seen []int32   // when greedy last looked at each spin
	sums []float64 // of the states of the order that follow followed, before each step and after the last
}

func newFrontierSearch(near [][]int32) *frontierSearch {
	n := len(near)
	return &frontierSearch{near: near, came: make([]int32, n), left: make([]int32, n), seen: make([]int32, n)}
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

// Sweep returns an order of a graph's vertices, whose neighbours are given, in which never more
// than about so many of those that have come have neighbours still to come, nil if none of those
// that were tried is.
func Sweep(near [][]int32, most int) []int32 {
	return newFrontierSearch(near).order(math.Ldexp(1, most))
}

// order returns the best of the order of the numbers and some greedy ones, nil if all
// take more states than most: numbers of a table for every configuration of the
// frontier, all steps together.
func (s *frontierSearch) order(most float64) []int32 {
	const starts = 32
	n := len(s.near)
	// No spin is summed out before it and all its neighbours have come, and when all but
	// the last of these have, they are in the frontier.
	least := n
	for _, near := range s.near {
		least = min(least, len(near))
	}
	if math.Ldexp(1, least) > most {
		return nil
	}
	given := make([]int32, n)
	for i := range given {
		given[i] = int32(i)
	}
	best, states := []int32(nil), most
	try := func(order []int32, cost float64) {
		if cost < states {
			best, states = order, cost
		}
	}
	try(given, s.follow(given, states))
	for k := range min(n, starts) {
		start := int32(k * n / min(n, starts))
		try(s.greedy(start, false, states))
		try(s.greedy(start, true, states))
	}
	return best
}

// follow returns the states that an order takes, or more than most.
func (s *frontierSearch) follow(order []int32, most float64) (states float64) {
	s.reset()
	s.sums = append(s.sums[:0], 0)
	frontier := 0
	for t, i := range order {
		frontier += s.growth(i)
		s.enter(i, t)
		states += math.Ldexp(1, frontier)
		if s.sums = append(s.sums, states); states > most {
			break
		}
	}
	return states
}

// greedy begins at a spin and goes on with the one that lets the frontier grow
// least; of equals with the one next to the spin that came first, which suits
// lattices, or last, which suits trees.
func (s *frontierSearch) greedy(start int32, last bool, most float64) (order []int32, states float64) {
	s.reset()
	var frontier []int32
	next := start
	for range s.near {
		s.enter(next, len(order))
		order = append(order, next)
		kept := frontier[:0]
		for _, i := range append(frontier, next) {
			if s.left[i] > 0 {
				kept = append(kept, i)
			}
		}
		frontier = kept
		if states += math.Ldexp(1, len(frontier)); states > most {
			return nil, states
		}
		// The frontier is in the order of entrance.
		next = -1
		least := math.MaxInt
		for k, i := range frontier {
			if last {
				i = frontier[len(frontier)-1-k]
			}
			for _, j := range s.near[i] {
				if s.came[j] >= 0 || s.seen[j] == int32(len(order)) {
					continue
				}
				s.seen[j] = int32(len(order))
				if d := s.growth(j); d < least {
					next, least = j, d
				}
			}
		}
		for i := 0; next < 0 && i < len(s.near); i++ {
			if s.came[i] < 0 {
				next = int32(i)
			}
		}
	}
	return order, states
}

func (s *frontierSearch) reset() {
	for i := range s.near {
		s.came[i], s.left[i], s.seen[i] = -1, int32(len(s.near[i])), -1
	}
}

func (s *frontierSearch) enter(i int32, at int) {
	s.came[i] = int32(at)
	for _, j := range s.near[i] {
		s.left[j]--
	}
}

// growth returns by how many spins the frontier grows when spin i comes.
func (s *frontierSearch) growth(i int32) (d int) {
	if s.left[i] > 0 {
		d++
	}
	for _, j := range s.near[i] {
		if s.came[j] >= 0 && s.left[j] == 1 {
			d--
		}
	}
	return d
}
