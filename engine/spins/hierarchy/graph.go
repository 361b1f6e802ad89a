package hierarchy

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/pool"
)

// Limits of a generator on a graph.
const (
	MaxInputs = asm.BitInputs // neighbours
	MaxUnits  = asm.BitHidden // hidden units of a spin
)

// Which known spins a spin looks at. Spins are known if they are drawn before it.
const (
	// Nearest chooses the known spins at the shortest distance.
	Nearest = "nearest"
	// Reached chooses the known spins at which most random walks end. A walk starts at the spin
	// and ends at the first known spin. The spin's law does not depend on known spins that no
	// walk reaches.
	Reached = "reached"
)

// In which order spins are drawn.
const (
	// Farthest draws from coarse to fine: the next spin is the farthest from all known ones.
	Farthest = "farthest"
	// Swept draws neighbours one after the other, so that few known spins have neighbours that
	// are not known. The law of a spin depends on these known spins alone.
	Swept = "swept"
)

// A Graph describes the generator of spins on any graph: a glass, say. No
// spins share weights.
type Graph struct {
	Target
	// Neighbours is the largest number of known spins that a spin looks at.
	Neighbours int
	// Inputs is Nearest, the default, or Reached.
	Inputs string
	// Order is Farthest, the default, or Swept.
	Order string
	// Hidden is the number of hidden units of each spin. It is cheapest as a multiple of 16,
	// the lanes of a vector.
	Hidden int
}

// NewGraph returns the model of a graph.
//
// Its exact spins are leaves, an independent set of spins with few neighbours, and as many
// centres as are found with no leaf in common. On a bipartite graph half of the spins are leaves.
// The others are learned. They are drawn in the given Order, and each looks at its Inputs. The
// length of a bond is −ln tanh β|J|, the decay of the correlation along it, and a walk takes it
// with a probability proportional to tanh β|J|. The model is the same for any number of threads.
func NewGraph(g Graph, workers *pool.Pool) (*Model, error) {
	layouts, err := g.Layouts(workers)
	if err != nil {
		return nil, err
	}
	return build(g.Target, layouts)
}

// Layouts returns the units of NewGraph, which draw the learned spins.
func (g Graph) Layouts(workers *pool.Pool) ([]Layout, error) {
	switch {
	case g.Neighbours < 1 || g.Neighbours > asm.BitInputs:
		return nil, fmt.Errorf("neighbours: %d is not between 1 and %d", g.Neighbours, asm.BitInputs)
	case g.Hidden < 1 || g.Hidden > asm.BitHidden:
		return nil, fmt.Errorf("hidden: %d is not between 1 and %d", g.Hidden, asm.BitHidden)
	case g.Inputs != "" && g.Inputs != Nearest && g.Inputs != Reached:
		return nil, fmt.Errorf("inputs: %q is not %s or %s", g.Inputs, Nearest, Reached)
	case g.Order != "" && g.Order != Farthest && g.Order != Swept:
		return nil, fmt.Errorf("order: %q is not %s or %s", g.Order, Farthest, Swept)
	}
	near := g.Target.neighbours()
	exact := exactSpins(near)
	graph := newSparseGraph(g.Beta, near)
	var order []int32
	if g.Order == Swept {
		if order = spins.Sweep(adjacent(near), MaxInputs); order == nil {
			return nil, fmt.Errorf("order: in every sweep that was tried more than %d known spins have neighbours that are not; set it to %s", MaxInputs, Farthest)
		}
		order = slices.DeleteFunc(order, func(i int32) bool { return exact[i] })
	} else {
		order = graph.farthestFirst(exact)
	}
	var layouts []Layout
	for k, inputs := range graph.inputs(g.Inputs, order, g.Neighbours, workers) {
		spin := int(order[k])
		layouts = append(layouts, Layout{Name: fmt.Sprint(spinUnit, spin), Sites: []int{spin}, Inputs: [][]int{inputs}, Hidden: g.Hidden})
	}
	return layouts, nil
}

// isFrustrated reports whether at least half of the bonds belong to frustrated triangles, in which
// no state satisfies all three bonds, as in a triangular antiferromagnet.
func isFrustrated(near [][]neighbour) bool {
	bonds, frustrated := 0, 0
	sign := func(b neighbour) int { return cmp.Compare(b.coupling, 0) }
	signs := make([]int, len(near)) // of a spin's couplings, by neighbour
	for _, list := range near {
		for _, b := range list {
			signs[b.spin] = sign(b)
		}
		for _, b := range list {
			bonds++
			if slices.ContainsFunc(near[b.spin], func(c neighbour) bool { return signs[c.spin]*sign(c)*sign(b) < 0 }) {
				frustrated++
			}
		}
		for _, b := range list {
			signs[b.spin] = 0
		}
	}
	return frustrated > 0 && 2*frustrated >= bonds
}

// exactSpins marks the leaves and centres of NewGraph.
func exactSpins(near [][]neighbour) []bool {
	n := len(near)
	adjacent, eligible := adjacent(near), make([]bool, n)
	for i, list := range near {
		eligible[i] = len(list) <= leafInputs
	}
	leaf := bipartiteHalf(adjacent, eligible)
	if other := independentSet(adjacent, eligible); count(other) > count(leaf) {
		leaf = other
	}
	// Centres conflict where they are coupled or share a leaf.
	conflicts := make([][]int32, n)
	candidate := make([]bool, n)
	for i, list := range adjacent {
		if leaf[i] {
			continue
		}
		around, leaves := map[int32]bool{}, 0 // whether a spin around the star is learned
		for _, k := range list {
			around[k] = !leaf[k]
			if !leaf[k] {
				conflicts[i] = append(conflicts[i], k)
				continue
			}
			leaves++
			for _, j := range adjacent[k] {
				if int(j) != i {
					around[j] = true
					conflicts[i] = append(conflicts[i], j)
				}
			}
		}
		touched := 0
		for _, learned := range around {
			if learned {
				touched++
			}
		}
		candidate[i] = leaves > 0 && touched <= starInputs
		slices.Sort(conflicts[i])
		conflicts[i] = slices.Compact(conflicts[i])
	}
	for i, centre := range independentSet(conflicts, candidate) {
		leaf[i] = leaf[i] || centre
	}
	return leaf
}

func count(set []bool) (n int) {
	for _, isMember := range set {
		if isMember {
			n++
		}
	}
	return n
}

// bipartiteHalf returns, for every bipartite component, the eligible vertices of the colour that has
// more of them.
func bipartiteHalf(adjacent [][]int32, eligible []bool) []bool {
	in := make([]bool, len(adjacent))
	colour := make([]int, len(adjacent))
	for root := range adjacent {
		if colour[root] != 0 {
			continue
		}
		colour[root] = 1
		component, proper := []int32{int32(root)}, true
		for k := 0; k < len(component); k++ {
			for _, j := range adjacent[component[k]] {
				if colour[j] == 0 {
					colour[j] = -colour[component[k]]
					component = append(component, j)
				}
				proper = proper && colour[j] != colour[component[k]]
			}
		}
		var size [3]int
		for _, i := range component {
			if eligible[i] {
				size[1+colour[i]]++
			}
		}
		pick := -1
		if size[2] > size[0] {
			pick = 1
		}
		for _, i := range component {
			in[i] = proper && eligible[i] && colour[i] == pick
		}
	}
	return in
}

// independentSet returns the largest set of eligible vertices, no two adjacent, that several
// greedy searches find. Each takes the vertex with the fewest neighbours left, and of several the
// first in a random order.
func independentSet(adjacent [][]int32, eligible []bool) (best []bool) {
	const searches = 16
	n := len(adjacent)
	best = make([]bool, n)
	bestSize := 0
	r := rand.New(rand.NewPCG(1, 0)) // the same model every time
	for range searches {
		priority := r.Perm(n)
		var q vertexQueue
		degree, done := make([]int, n), make([]bool, n)
		for i := range n {
			done[i] = !eligible[i]
			for _, j := range adjacent[i] {
				if eligible[j] {
					degree[i]++
				}
			}
		}
		for i := range n {
			if !done[i] {
				heap.Push(&q, vertex{float64(degree[i]), int32(priority[i]), int32(i)})
			}
		}
		in, size := make([]bool, n), 0
		for len(q) > 0 {
			v := heap.Pop(&q).(vertex)
			if done[v.index] || int(v.key) != degree[v.index] {
				continue
			}
			in[v.index], done[v.index] = true, true
			size++
			for _, j := range adjacent[v.index] {
				if done[j] {
					continue
				}
				done[j] = true
				for _, k := range adjacent[j] {
					if degree[k]--; !done[k] {
						heap.Push(&q, vertex{float64(degree[k]), int32(priority[k]), int32(k)})
					}
				}
			}
		}
		if size > bestSize {
			best, bestSize = in, size
		}
	}
	return best
}

// A vertex in a queue, which is ordered by key and then by tieBreak.
type vertex struct {
	key      float64
	tieBreak int32
	index    int32
}

// A vertexQueue is a heap of package container/heap.
type vertexQueue []vertex

func (q vertexQueue) Len() int      { return len(q) }
func (q vertexQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *vertexQueue) Push(v any)   { *q = append(*q, v.(vertex)) }

func (q vertexQueue) Less(i, j int) bool {
	return q[i].key < q[j].key || q[i].key == q[j].key && q[i].tieBreak < q[j].tieBreak
}

func (q *vertexQueue) Pop() any {
	last := len(*q) - 1
	v := (*q)[last]
	*q = (*q)[:last]
	return v
}

// spinUnit begins the names of units of one spin of a graph.
const spinUnit = "spin:"
