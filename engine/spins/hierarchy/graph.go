package hierarchy

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/revgen/revgen/asm"
)

// Limits of a generator on a graph.
const (
	MostInputs = asm.BitInputs // neighbours
	MostUnits  = asm.BitHidden // hidden units of a spin
)

// Which known spins a spin looks at.
const (
	// Nearest are those at the shortest distance.
	Nearest = "nearest"
	// Reached are those that random walks from the spin come to first, of all that
	// are known, with the largest probability. The law of the spin does not depend on
	// known spins that no walk reaches.
	Reached = "reached"
)

// A Graph describes the generator of spins on any graph: a glass, say. No
// spins share weights.
type Graph struct {
	Target
	// Neighbours is the number of known spins that a spin looks at, at most.
	Neighbours int
	// Inputs is which of them: Nearest, which it is if empty, or Reached.
	Inputs string
	// Hidden is the number of hidden units of each spin; multiples of 16 cost
	// no more than what is a little less.
	Hidden int
}

// NewGraph returns the model of a graph.
//
// Its exact spins are an independent set of spins with few neighbours, the
// leaves, half of the spins where the graph is bipartite, and as many centres as
// are found with no leaf in common. The others are drawn from coarse to fine:
// each next one is as far as possible from those before, and looks at the
// nearest of them, or those that are Reached. The length of a bond is −ln tanh β|J|,
// the decay of the correlation along it, and a walk takes it with a probability
// proportional to tanh β|J|.
func NewGraph(g Graph) (*Model, error) {
	switch {
	case g.Neighbours < 1 || g.Neighbours > asm.BitInputs:
		return nil, fmt.Errorf("neighbours: %d is not between 1 and %d", g.Neighbours, asm.BitInputs)
	case g.Hidden < 1 || g.Hidden > asm.BitHidden:
		return nil, fmt.Errorf("hidden: %d is not between 1 and %d", g.Hidden, asm.BitHidden)
	case g.Inputs != "" && g.Inputs != Nearest && g.Inputs != Reached:
		return nil, fmt.Errorf("inputs: %q is not %s or %s", g.Inputs, Nearest, Reached)
	}
	near := g.Target.neighbours()
	exact := exactSpins(near)
	var layouts []layout
	for _, o := range farthestFirst(&g, near, exact) {
		layouts = append(layouts, layout{
			name: fmt.Sprint(spinUnit, o.spin), sites: []int{o.spin}, inputs: [][]int{o.before}, hidden: g.Hidden,
		})
	}
	return build(g.Target, layouts)
}

// exactSpins marks the leaves and centres.
func exactSpins(near [][]neighbour) []bool {
	n := len(near)
	adjacent := make([][]int, n)
	eligible := make([]bool, n)
	for i, list := range near {
		eligible[i] = len(list) <= leafInputs
		for _, k := range list {
			adjacent[i] = append(adjacent[i], k.spin)
		}
	}
	leaf := bipartiteHalf(adjacent, eligible)
	if other := independentSet(adjacent, eligible); count(other) > count(leaf) {
		leaf = other
	}
	// Centres conflict where they are coupled or share a leaf.
	conflicts := make([][]int, n)
	candidate := make([]bool, n)
	for i, list := range adjacent {
		if leaf[i] {
			continue
		}
		around, own := map[int]bool{}, 0
		for _, k := range list {
			around[k] = !leaf[k]
			if !leaf[k] {
				conflicts[i] = append(conflicts[i], k)
				continue
			}
			own++
			for _, j := range adjacent[k] {
				if j != i {
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
		candidate[i] = own > 0 && touched <= starInputs
		slices.Sort(conflicts[i])
		conflicts[i] = slices.Compact(conflicts[i])
	}
	for i, centre := range independentSet(conflicts, candidate) {
		leaf[i] = leaf[i] || centre
	}
	return leaf
}

func count(set []bool) (n int) {
	for _, in := range set {
		if in {
			n++
		}
	}
	return n
}

// bipartiteHalf returns the larger colour class of every component that has two
// colours, without the vertices that are not eligible.
func bipartiteHalf(adjacent [][]int, eligible []bool) []bool {
	in := make([]bool, len(adjacent))
	colour := make([]int, len(adjacent))
	for root := range adjacent {
		if colour[root] != 0 {
			continue
		}
		colour[root] = 1
		component, proper := []int{root}, true
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

// independentSet returns the largest set of eligible vertices, no two adjacent,
// that some greedy searches find: each takes the vertices with the fewest
// neighbours left, the first of equals in a random order.
func independentSet(adjacent [][]int, eligible []bool) (best []bool) {
	const searches = 16
	n := len(adjacent)
	best = make([]bool, n)
	most := 0
	r := rand.New(rand.NewPCG(1, 0)) // the same model every time
	for range searches {
		priority := r.Perm(n)
		q := &vertexQueue{}
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
				*q = append(*q, vertex{float64(degree[i]), priority[i], i})
			}
		}
		heap.Init(q)
		in, size := make([]bool, n), 0
		for q.Len() > 0 {
			v := heap.Pop(q).(vertex)
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
						heap.Push(q, vertex{float64(degree[k]), priority[k], k})
					}
				}
			}
		}
		if size > most {
			best, most = in, size
		}
	}
	return best
}

// A vertex of a queue: the smallest key first, the smallest second of equals.
type vertex struct {
	key    float64
	second int
	index  int
}

type vertexQueue []vertex

func (q vertexQueue) Len() int      { return len(q) }
func (q vertexQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q vertexQueue) Less(i, j int) bool {
	return q[i].key < q[j].key || q[i].key == q[j].key && q[i].second < q[j].second
}
func (q *vertexQueue) Push(x any) { *q = append(*q, x.(vertex)) }
func (q *vertexQueue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}

// spinUnit begins the names of units of one spin of a graph.
const spinUnit = "spin:"

// An ordered spin looks at some of the ones before it, the nearest first.
type ordered struct {
	spin   int
	before []int
}

// farthestFirst orders the spins that are not exact: each next one is the
// farthest from all before.
func farthestFirst(g *Graph, near [][]neighbour, exact []bool) []ordered {
	var spins []int
	for i, e := range exact {
		if !e {
			spins = append(spins, i)
		}
	}
	known, ways := make([]bool, len(near)), lengths(g.Beta, near)
	var walk *walker
	if g.Inputs == Reached {
		walk = newWalker(g.Beta, near, known)
	}
	nearest := make([]float64, len(near)) // to any ordered so far
	for i := range nearest {
		nearest[i] = math.Inf(1)
	}
	var order []ordered
	for range spins {
		next := -1
		for _, i := range spins {
			// Without one before, all are infinitely far; then the spin with
			// the most neighbours begins.
			if nearest[i] > 0 && (next < 0 || nearest[i] > nearest[next] ||
				nearest[i] == nearest[next] && len(near[i]) > len(near[next])) {
				next = i
			}
		}
		o := ordered{spin: next}
		for _, b := range order {
			o.before = append(o.before, b.spin)
		}
		d := distances(near, ways, next)
		slices.SortStableFunc(o.before, func(a, b int) int { return cmp.Compare(d[a], d[b]) })
		if walk != nil {
			o.before = walk.mostReached(o.before, next, g.Neighbours)
		}
		o.before = slices.Clone(o.before[:min(len(o.before), g.Neighbours)])
		order, known[next] = append(order, o), true
		for i := range nearest {
			nearest[i] = min(nearest[i], d[i])
		}
		nearest[next] = 0
	}
	return order
}

// lengths returns those of each spin's bonds. Strong ones have some length too, so that no
// two spins are at the same place.
func lengths(beta float64, near [][]neighbour) [][]float64 {
	ways := make([][]float64, len(near))
	for i, list := range near {
		for _, k := range list {
			ways[i] = append(ways[i], max(1e-3, -math.Log(math.Tanh(beta*math.Abs(k.coupling)))))
		}
	}
	return ways
}

// distances returns the lengths of the shortest ways from a spin to all.
func distances(near [][]neighbour, ways [][]float64, from int) []float64 {
	d := make([]float64, len(near))
	for i := range d {
		d[i] = math.Inf(1)
	}
	d[from] = 0
	q := &vertexQueue{{0, from, from}}
	for q.Len() > 0 {
		v := heap.Pop(q).(vertex)
		if v.key > d[v.index] {
			continue
		}
		for b, k := range near[v.index] {
			way := v.key + ways[v.index][b]
			if way < d[k.spin] {
				d[k.spin] = way
				heap.Push(q, vertex{way, k.spin, k.spin})
			}
		}
	}
	return d
}

// A walker follows random walks through unknown spins to the first known one.
type walker struct {
	near      [][]neighbour
	known     []bool
	step      [][]float64 // probability of each of a spin's bonds
	at, after []float64   // probability of each spin
	on, next  []int       // spins where it is not zero
	reached   []float64   // probability that a walk ends at a known spin
}

func newWalker(beta float64, near [][]neighbour, known []bool) *walker {
	w := &walker{near: near, known: known, at: make([]float64, len(near)), after: make([]float64, len(near)), reached: make([]float64, len(near))}
	for _, bonds := range near {
		p, sum := make([]float64, len(bonds)), 0.0
		for k, b := range bonds {
			p[k] = math.Tanh(beta * math.Abs(b.coupling))
			sum += p[k]
		}
		for k := range p {
			p[k] /= max(sum, math.SmallestNonzeroFloat64)
		}
		w.step = append(w.step, p)
	}
	return w
}

// Walks end after so many steps, or when so few are left.
const (
	walkSteps = 64
	walksLeft = 1e-3
)

// mostReached returns those of the spins that the most walks from a spin end at, at most n,
// in the order in which they are given, and none that no walk ends at.
func (w *walker) mostReached(spins []int, from, n int) []int {
	reached := w.reached
	clear(reached)
	w.on, w.at[from] = append(w.on[:0], from), 1
	for range walkSteps {
		left := 0.0
		w.next = w.next[:0]
		for _, i := range w.on {
			for k, b := range w.near[i] {
				// Rounded by itself, so that no machine fuses it.
				p := float64(w.at[i] * w.step[i][k])
				switch {
				case p == 0:
				case w.known[b.spin]:
					reached[b.spin] += p
				default:
					if w.after[b.spin] == 0 {
						w.next = append(w.next, b.spin)
					}
					w.after[b.spin] += p
					left += p
				}
			}
		}
		for _, i := range w.on {
			w.at[i] = 0
		}
		w.at, w.after, w.on, w.next = w.after, w.at, w.next, w.on
		if left < walksLeft {
			break
		}
	}
	for _, i := range w.on {
		w.at[i] = 0
	}
	best := slices.DeleteFunc(slices.Clone(spins), func(i int) bool { return reached[i] == 0 })
	// Probabilities that differ by rounding alone are equal, and the nearer spin is first.
	const rounding = 1e9
	slices.SortStableFunc(best, func(a, b int) int {
		return -cmp.Compare(math.Round(rounding*reached[a]), math.Round(rounding*reached[b]))
	})
	best = best[:min(len(best), n)]
	return slices.DeleteFunc(spins, func(i int) bool { return !slices.Contains(best, i) })
}
