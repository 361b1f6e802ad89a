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

// Colours parts the spins into independent sets, no two of whose spins are
// neighbours: two if the graph is bipartite, and otherwise those that a greedy
// colouring finds, at most one more than the largest k for which some subgraph
// has k neighbours or more at every spin. Sets and spins are in ascending
// order of their first spin and of their numbers.
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

// greedy gives each spin the first colour that no neighbour has, the spin that
// is left with the fewest neighbours when those before it are taken away last.
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

// smallestLast returns the spins in the order in which they are taken away if it
// is always one with the fewest neighbours left, of equals the last that came to have so few.
func (g *Graph) smallestLast() []int32 {
	n := g.N()
	left := make([]int, n) // neighbours, −1 of a spin that has been taken away
	var buckets [][]int32  // by neighbours left; entries may be out of date
	put := func(i int32) {
		for left[i] >= len(buckets) {
			buckets = append(buckets, nil)
		}
		buckets[left[i]] = append(buckets[left[i]], i)
	}
	for i := n - 1; i >= 0; i-- { // taken from the end, the smallest number first
		left[i] = g.Degree(i)
		put(int32(i))
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
		if left[i] != fewest {
			continue
		}
		order, left[i] = append(order, i), -1
		near, _ := g.Neighbours(int(i))
		for _, j := range near {
			if left[j] > 0 {
				left[j]--
				put(j)
				fewest = min(fewest, left[j])
			}
		}
	}
	return order
}
