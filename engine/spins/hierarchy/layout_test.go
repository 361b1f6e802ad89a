package hierarchy

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// An ordered spin looks at some of the ones before it, the nearest first.
type ordered struct {
	spin   int
	before []int
}

// naiveLayout is the definition of the order of the spins that are learned and of their
// inputs.
func naiveLayout(g *Graph) (order []ordered) {
	near := g.Target.neighbours()
	exact := exactSpins(near)
	known := make([]bool, len(near))
	nearest := make([]float64, len(near)) // to any ordered so far
	for i := range nearest {
		nearest[i] = math.Inf(1)
	}
	for {
		next := -1
		for i, e := range exact {
			// Without one before, all are infinitely far; then the spin with
			// the most neighbours begins.
			if !e && !known[i] && (next < 0 || nearest[i] > nearest[next] ||
				nearest[i] == nearest[next] && len(near[i]) > len(near[next])) {
				next = i
			}
		}
		if next < 0 {
			return order
		}
		o := ordered{spin: next}
		for _, b := range order {
			o.before = append(o.before, b.spin)
		}
		d := naiveDistances(g.Beta, near, next)
		slices.SortStableFunc(o.before, func(a, b int) int { return cmp.Compare(d[a], d[b]) })
		if g.Inputs == Reached {
			o.before = naiveMostReached(g.Beta, near, known, o.before, next, g.Neighbours)
		}
		o.before = slices.Clone(o.before[:min(len(o.before), g.Neighbours)])
		order, known[next] = append(order, o), true
		for i := range nearest {
			nearest[i] = min(nearest[i], d[i])
		}
	}
}

// naiveDistances returns the lengths of the shortest ways from a spin to all.
func naiveDistances(beta float64, near [][]neighbour, from int) []float64 {
	d := make([]float64, len(near))
	for i := range d {
		d[i] = math.Inf(1)
	}
	d[from] = 0
	q := &naiveQueue{{0, 0, int32(from)}}
	for q.Len() > 0 {
		v := heap.Pop(q).(vertex)
		for _, k := range near[v.index] {
			way := v.key + max(1e-3, -math.Log(math.Tanh(beta*math.Abs(k.coupling))))
			if way < d[k.spin] {
				d[k.spin] = way
				heap.Push(q, vertex{way, 0, int32(k.spin)})
			}
		}
	}
	return d
}

type naiveQueue []vertex

func (q naiveQueue) Len() int           { return len(q) }
func (q naiveQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q naiveQueue) Less(i, j int) bool { return q[i].key < q[j].key }
func (q *naiveQueue) Push(x any)        { *q = append(*q, x.(vertex)) }
func (q *naiveQueue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}

// naiveReached returns the probabilities that walks from a spin end at known spins.
func naiveReached(beta float64, near [][]neighbour, known []bool, from int) (reached []float64) {
	reached, at := make([]float64, len(near)), make([]float64, len(near))
	at[from] = 1
	on := []int{from} // spins where at is not zero, as the walks come to them
	for range walkSteps {
		after, left := make([]float64, len(near)), 0.0
		var next []int
		for _, i := range on {
			sum := 0.0
			for _, b := range near[i] {
				sum += math.Tanh(beta * math.Abs(b.coupling))
			}
			for _, b := range near[i] {
				step := math.Tanh(beta*math.Abs(b.coupling)) / max(sum, math.SmallestNonzeroFloat64)
				p := float64(at[i] * step)
				switch {
				case p == 0:
				case known[b.spin]:
					reached[b.spin] += p
				default:
					if after[b.spin] == 0 {
						next = append(next, b.spin)
					}
					after[b.spin] += p
					left += p
				}
			}
		}
		at, on = after, next
		if left < walksLeft {
			break
		}
	}
	return reached
}

// naiveMostReached returns those of the spins that the most walks from a spin end at, at
// most n, in the order in which they are given, and none that no walk ends at.
func naiveMostReached(beta float64, near [][]neighbour, known []bool, spins []int, from, n int) []int {
	reached := naiveReached(beta, near, known, from)
	best := slices.DeleteFunc(slices.Clone(spins), func(i int) bool { return reached[i] == 0 })
	// Probabilities that differ by rounding alone are equal, and the nearer spin is first.
	slices.SortStableFunc(best, func(a, b int) int {
		return -cmp.Compare(math.Round(1e9*reached[a]), math.Round(1e9*reached[b]))
	})
	best = best[:min(len(best), n)]
	return slices.DeleteFunc(spins, func(i int) bool { return !slices.Contains(best, i) })
}

// layoutGraphs are of all kinds: with one length of bonds and many, bipartite and not,
// in one part and in several, dense and sparse, with bonds that hardly are and are not.
func layoutGraphs() map[string]Target {
	r := rand.New(rand.NewPCG(5, 6))
	all := smallGraphs()
	all["cubic glass"] = cubicGlass(6, 1)
	lattice := square(12, 1, 0, 1)
	for k := range lattice.Bonds {
		lattice.Bonds[k].Coupling = r.NormFloat64()
	}
	all["gaussian glass"] = lattice
	dense := Target{Spins: 70, Beta: 0.1}
	for i := range dense.Spins {
		for j := range i {
			dense.Bonds = append(dense.Bonds, Bond{I: i, J: j, Coupling: float64(r.IntN(2)*2 - 1)})
		}
	}
	all["dense"] = dense
	all["weak"] = Target{Spins: 3, Beta: 1, Bonds: []Bond{{I: 0, J: 1, Coupling: 1e-300}, {I: 1, J: 2, Coupling: 1}, {I: 2, J: 0, Coupling: 0}}}
	parts := Target{Spins: 200, Beta: 0.5}
	for range 180 {
		i, j := r.IntN(200), r.IntN(199)
		if i <= j {
			j++
		}
		parts.Bonds = append(parts.Bonds, Bond{I: i, J: j, Coupling: math.Pow(10, 3-9*r.Float64())})
	}
	all["parts"] = parts
	regular, ends := Target{Spins: 300, Beta: 0.8}, r.Perm(900)
	for k := 0; k < 900; k += 2 {
		if i, j := ends[k]/3, ends[k+1]/3; i != j {
			regular.Bonds = append(regular.Bonds, Bond{I: i, J: j, Coupling: 1})
		}
	}
	all["three neighbours"] = regular
	// A thousandth of the walks between two spins, each with nine known neighbours, is left
	// after three steps.
	pair := Target{Spins: 20, Beta: 1, Bonds: []Bond{{I: 18, J: 19, Coupling: 1}}}
	for i := range 18 {
		pair.Bonds = append(pair.Bonds, Bond{I: i, J: 18 + i%2, Coupling: 1})
	}
	all["pair"] = pair
	return all
}

// TestLayout: what NewGraph finds fast is what the definition says.
func TestLayout(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(3)
	defer workers.Close()
	for name, target := range layoutGraphs() {
		for _, inputs := range []string{Nearest, Reached} {
			for _, n := range []int{3, 24} {
				g := Graph{Target: target, Neighbours: n, Inputs: inputs, Hidden: 1}
				m, err := NewGraph(g, workers)
				require.NoError(t, err)
				want := naiveLayout(&g)
				require.Len(t, m.Units, len(want), name)
				for k, o := range want {
					u := &m.Units[k]
					require.Equal(t, int32(o.spin), u.Sites[0], name)
					before := []int{}
					for _, i := range u.Inputs[0][:u.m] {
						before = append(before, int(i))
					}
					require.Equal(t, append([]int{}, o.before...), before, "%s, %s, unit %d", name, inputs, k)
				}
			}
		}
	}
}

// TestWalks: walks end where the definition says, and leave all as it was.
func TestWalks(t *testing.T) {
	long.SkipShort(t)
	for name, target := range layoutGraphs() {
		near := target.neighbours()
		w := newSparseGraph(target.Beta, near)
		order := make([]int32, len(near)) // as they are numbered
		for i := range order {
			order[i] = int32(i)
		}
		s, known := newInputFinder(w, order, order), make([]bool, len(near))
		for k := range order {
			s.walk(k)
			for i, p := range naiveReached(target.Beta, near, known, k) {
				require.InDelta(t, p, s.endProbability[i], 1e-13*p+1e-250, "%s, %d", name, k)
				require.Equal(t, s.endProbability[i] > 0, slices.Contains(s.ends, int32(i)), "%s, %d", name, k)
			}
			s.clearEnds()
			for _, all := range [][]float64{s.p, s.pNext, s.visits, s.endProbability} {
				require.Equal(t, make([]float64, len(near)), all)
			}
			known[k] = true
		}
	}
}

// cubicGlass is a periodic lattice of three dimensions with bonds ±1.
func cubicGlass(side int, seed uint64) Target {
	r := rand.New(rand.NewPCG(seed, 0))
	t := Target{Spins: side * side * side, Beta: 0.8}
	for i := range t.Spins {
		for _, stride := range []int{1, side, side * side} {
			j := i + stride
			if i/stride%side == side-1 {
				j -= side * stride
			}
			t.Bonds = append(t.Bonds, Bond{I: i, J: j, Coupling: float64(r.IntN(2)*2 - 1)})
		}
	}
	return t
}

// BenchmarkNewGraph lays out ±J glasses in three dimensions.
func BenchmarkNewGraph(b *testing.B) {
	workers := pool.New(0)
	defer workers.Close()
	for _, side := range []int{8, 16} {
		b.Run(fmt.Sprintf("side=%d", side), func(b *testing.B) {
			target := cubicGlass(side, 1)
			for b.Loop() {
				_, err := NewGraph(Graph{Target: target, Neighbours: 24, Inputs: Reached, Hidden: 16}, workers)
				require.NoError(b, err)
			}
		})
	}
}

// TestGraphTraining: 40 steps for each learned spin beside 3000, 20,000 at most; five times as many
// and 30,000 at most where spins are swept.
func TestGraphTraining(t *testing.T) {
	for learned, steps := range map[int]int{0: 3000, 10: 3400, 74: 5960, 425: 20_000, 10_000: 20_000} {
		require.Equal(t, steps, GraphTraining(Farthest, learned).Steps)
		require.Equal(t, min(30_000, 5*steps), GraphTraining(Swept, learned).Steps)
	}
}

// torus is a periodic lattice with a diagonal in each square, whose couplings sign gives.
func torus(l int, sign func(bond int) float64) (t Target) {
	t = Target{Spins: l * l, Beta: 1}
	for y := range l {
		for x := range l {
			for _, to := range [][2]int{{x + 1, y}, {x, y + 1}, {x + 1, y + 1}} {
				t.Bonds = append(t.Bonds, Bond{I: x + l*y, J: to[0]%l + l*(to[1]%l), Coupling: sign(len(t.Bonds))})
			}
		}
	}
	return t
}

// TestFrustratedRecipe: spins are swept, with all inputs that there is room for, where half of the
// bonds are of frustrated triangles, more are learned than fit into 24 inputs, and an order with a
// narrow frontier is found.
func TestFrustratedRecipe(t *testing.T) {
	antiferromagnet := func(int) float64 { return -0.5 }
	complete := func(n int) (t Target) {
		t = Target{Spins: n, Beta: 1}
		for i := range n {
			for j := range i {
				t.Bonds = append(t.Bonds, Bond{I: j, J: i, Coupling: -1})
			}
		}
		return t
	}
	// Triangles (0, 1, 2) with tails: three bonds of six are within, or three of seven.
	tail := func(bonds int) (t Target) {
		t = Target{Spins: 40 * 8, Beta: 1}
		for o := 0; o < t.Spins; o += 8 {
			t.Bonds = append(t.Bonds, Bond{I: o, J: o + 1, Coupling: -1}, Bond{I: o + 1, J: o + 2, Coupling: 1}, Bond{I: o, J: o + 2, Coupling: 1})
			for i := range bonds - 3 {
				t.Bonds = append(t.Bonds, Bond{I: o + 2 + i, J: o + 3 + i, Coupling: 1})
			}
		}
		return t
	}
	for name, c := range map[string]struct {
		t      Target
		inputs int
		order  string
		hidden int
	}{
		"triangular antiferromagnet": {torus(9, antiferromagnet), 64, Swept, 32},
		"weak couplings":             {torus(9, func(int) float64 { return -1e-200 }), 64, Swept, 32},
		"whose learned spins fit":    {torus(4, antiferromagnet), 24, Farthest, 16},
		"triangular ferromagnet":     {torus(9, func(int) float64 { return 1 }), 24, Farthest, 16},
		"three of six":               {tail(6), 64, Swept, 32},
		"three of seven":             {tail(7), 24, Farthest, 16},
		"no bonds":                   {Target{Spins: 3, Beta: 1}, 24, Farthest, 16},
		"no narrow frontier":         {complete(70), 64, Farthest, 32},
	} {
		g, _ := GraphRecipe(c.t)
		require.Equal(t, Graph{Target: c.t, Neighbours: c.inputs, Inputs: Reached, Order: c.order, Hidden: c.hidden}, g, name)
	}
	workers := pool.New(1)
	defer workers.Close()
	wide := Graph{Target: complete(70), Neighbours: 24, Order: Swept, Hidden: 16}
	_, err := wide.Layouts(workers)
	require.EqualError(t, err, "order: in every sweep that was tried more than 64 known spins have neighbours that are not; set it to farthest")
	wide.Order = "random"
	_, err = wide.Layouts(workers)
	require.EqualError(t, err, `order: "random" is not farthest or swept`)
}

// TestSweptInputs: in the order of a sweep, of a lattice of fewer than 64 inputs across, a spin sees
// all known ones that its law depends on: those that others or itself reach without passing known
// ones.
func TestSweptInputs(t *testing.T) {
	target := torus(6, func(int) float64 { return -1 })
	workers := pool.New(1)
	defer workers.Close()
	layouts, err := Graph{Target: target, Neighbours: MaxInputs, Inputs: Reached, Order: Swept, Hidden: 16}.Layouts(workers)
	require.NoError(t, err)
	near := target.neighbours()
	known := map[int]bool{}
	for _, l := range layouts {
		spin := l.Sites[0]
		want, seen, open := map[int]bool{}, map[int]bool{spin: true}, []int{spin}
		for len(open) > 0 {
			i := open[0]
			open = open[1:]
			for _, b := range near[i] {
				switch {
				case known[b.spin]:
					want[b.spin] = true
				case !seen[b.spin]:
					seen[b.spin] = true
					open = append(open, b.spin)
				}
			}
		}
		got := map[int]bool{}
		for _, i := range l.Inputs[0] {
			got[i] = true
		}
		require.Equal(t, want, got, "spin %d", spin)
		known[spin] = true
	}
}
