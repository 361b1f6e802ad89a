package spins

// bipartition returns ±1 by the side of each spin, +1 for the first of every
// component, or nil if there are odd cycles.
func (g *Graph) bipartition() []int8 {
	side := make([]int8, g.N())
	queue := make([]int32, 0, g.N())
	for root := range side {
		if side[root] != 0 {
			continue
		}
		side[root] = 1
		for queue = append(queue[:0], int32(root)); len(queue) > 0; queue = queue[1:] {
			i := queue[0]
			near, _ := g.Neighbours(int(i))
			for _, j := range near {
				switch side[j] {
				case 0:
					side[j] = -side[i]
					queue = append(queue, j)
				case side[i]:
					return nil
				}
			}
		}
	}
	return side
}

// Colours partitions the spins into independent sets, no two of whose spins are
// neighbours. There are two if the graph is bipartite. Otherwise a greedy colouring
// finds at most k + 1, for the largest k such that in some subgraph every spin has k
// neighbours or more. Sets are in the order of their first spins; the spins of a set ascend.
func (g *Graph) Colours() [][]int32 {
	colour := make([]int32, g.N())
	if g.sides != nil {
		for i, s := range g.sides {
			colour[i] = int32(1-s) / 2
		}
	} else {
		g.greedy(colour)
	}
	var sets [][]int32
	index := map[int32]int{}
	for i, c := range colour {
		k, ok := index[c]
		if !ok {
			k = len(sets)
			index[c] = k
			sets = append(sets, nil)
		}
		sets[k] = append(sets[k], int32(i))
	}
	return sets
}

// greedy goes through smallestLast from its end, and gives each spin the first colour
// that no neighbour has.
func (g *Graph) greedy(colour []int32) {
	order := g.smallestLast()
	for i := range colour {
		colour[i] = -1
	}
	used := make([]int32, g.N()+1) // by colour, the last spin (plus one) that saw it
	for k := len(order) - 1; k >= 0; k-- {
		i := order[k]
		near, _ := g.Neighbours(int(i))
		for _, j := range near {
			if c := colour[j]; c >= 0 {
				used[c] = i + 1
			}
		}
		c := int32(0)
		for used[c] == i+1 {
			c++
		}
		colour[i] = c
	}
}

// smallestLast removes one spin after another, always one with the fewest neighbours left,
// and returns the order. Of several spins it takes the last one whose number of neighbours
// has become so small.
func (g *Graph) smallestLast() []int32 {
	n := g.N()
	degree := make([]int, n) // neighbours left, −1 for a spin that has been removed
	var buckets [][]int32    // spins by degree; entries may be out of date
	enqueue := func(i int32) {
		for degree[i] >= len(buckets) {
			buckets = append(buckets, nil)
		}
		buckets[degree[i]] = append(buckets[degree[i]], i)
	}
	for i := n - 1; i >= 0; i-- { // buckets are emptied from their end: spin 0 is the first
		degree[i] = g.Degree(i)
		enqueue(int32(i))
	}
	order := make([]int32, 0, n)
	for fewest := 0; len(order) < n; {
		b := &buckets[fewest]
		last := len(*b) - 1
		if last < 0 {
			fewest++
			continue
		}
		i := (*b)[last]
		*b = (*b)[:last]
		if degree[i] != fewest {
			continue
		}
		order, degree[i] = append(order, i), -1
		near, _ := g.Neighbours(int(i))
		for _, j := range near {
			if degree[j] > 0 {
				degree[j]--
				enqueue(j)
				fewest = min(fewest, degree[j])
			}
		}
	}
	return order
}
