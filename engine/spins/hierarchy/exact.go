package hierarchy

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/spins"
)

// block is the number of samples of a block, which has a word for each spin: bit b of it is the
// spin of sample b.
const block = asm.BitSamples

const (
	starInputs = 12 // the most learned spins around a star
	leafInputs = 8  // the most neighbours of a leaf
)

// exact draws the spins that no perceptron draws, and sums them out. They fall into stars. A
// table over the states of the learned spins around a star has the Boltzmann weight of the star's
// spins, summed, and the probability of its centre. The leaves are drawn last, by the heat bath.
//
// ln W is the logarithm of the Boltzmann weight of the learned spins, all
// others summed out.
type exact struct {
	target    *Target
	stars     []star
	drawOrder []star // first centres, with their leaves summed out, then spins whose neighbours are all drawn
	tables    []starTable
	bonds     []term // between learned spins
	fields    []term // of learned spins
}

// A star of spins, or a leaf of one, which counts as the centre of a star without leaves.
type star struct {
	centre int32
	around []int32 // spins that its law depends on
	table  int     // index of its table
}

// A starTable has numbers for all states of the spins around a star, at the present β.
type starTable struct {
	inputs int // spins around the star
	// Every leaf multiplies the weight by 2cosh β(h + Σ c_j x_j + c s_centre).
	leaves          []starLeaf
	centreCouplings []float64 // couplings of the centre to these spins, and its field
	needsLogW       bool
	logW            []float64 // [2^inputs], nil if it is not needed
	thresholds      []uint32  // [2^inputs] probability that the centre is up
}

type starLeaf struct {
	inputs         []int        // indices of the spins around the star that it is coupled to
	couplings      []float64    // to these spins, and its field
	centreCoupling float64      // to the centre
	logWeights     [2][]float64 // [centre][2^len(inputs)] ln 2cosh of β times its field
}

// A term is a sum with one coefficient over products of spins, or over spins.
type term struct {
	coefficient float64
	i, j        []int32 // j is nil for a sum over spins
}

// newExact sorts the spins that are not learned into stars.
func newExact(t *Target, learned []bool) (*exact, error) {
	x := &exact{target: t}
	near := t.neighbours()
	stars, err := Stars(adjacent(near), learned)
	if err != nil {
		return nil, err
	}
	tables := map[string]int{}
	tableOf := func(t starTable) int { // stars with the same couplings share a table
		key := fmt.Sprint(t.needsLogW, t.centreCouplings)
		for _, l := range t.leaves {
			key += fmt.Sprint(l.inputs, l.couplings, l.centreCoupling)
		}
		k, ok := tables[key]
		if !ok {
			k = len(x.tables)
			tables[key] = k
			x.tables = append(x.tables, t)
		}
		return k
	}
	var leaves []star // and centres without leaves
	for _, group := range stars {
		d := len(group.Around)
		if d > starInputs {
			return nil, fmt.Errorf("hierarchy: the exact spins at %d touch %d learned spins, more than %d", group.Centre, d, starInputs)
		}
		at := func(spin int) int { return slices.Index(group.Around, int32(spin)) }
		table := starTable{inputs: d, needsLogW: true, centreCouplings: make([]float64, d+1)}
		table.centreCouplings[d] = t.field(group.Centre)
		for _, n := range near[group.Centre] {
			if learned[n.spin] {
				table.centreCouplings[at(n.spin)] = n.coupling
			}
		}
		drawnLast := group.Leaves
		if drawnLast == nil {
			drawnLast = []int{group.Centre}
		}
		for _, l := range drawnLast {
			if len(near[l]) > leafInputs {
				return nil, fmt.Errorf("hierarchy: exact spin %d has %d neighbours, more than %d", l, len(near[l]), leafInputs)
			}
		}
		for _, l := range group.Leaves {
			var leaf starLeaf
			single, own := star{centre: int32(l)}, starTable{inputs: len(near[l])}
			for _, n := range near[l] {
				single.around, own.centreCouplings = append(single.around, int32(n.spin)), append(own.centreCouplings, n.coupling)
				if n.spin == group.Centre {
					leaf.centreCoupling = n.coupling
				} else {
					leaf.inputs, leaf.couplings = append(leaf.inputs, at(n.spin)), append(leaf.couplings, n.coupling)
				}
			}
			leaf.couplings, own.centreCouplings = append(leaf.couplings, t.field(l)), append(own.centreCouplings, t.field(l))
			table.leaves = append(table.leaves, leaf)
			single.table = tableOf(own)
			leaves = append(leaves, single)
		}
		s := star{int32(group.Centre), group.Around, tableOf(table)}
		x.stars = append(x.stars, s)
		if group.Leaves == nil {
			leaves = append(leaves, s)
		} else {
			x.drawOrder = append(x.drawOrder, s)
		}
	}
	x.drawOrder = append(x.drawOrder, leaves...)
	var bonds, fields terms
	for i, list := range near {
		if !learned[i] {
			continue
		}
		for _, n := range list {
			if n.spin >= i && learned[n.spin] {
				bonds.add(n.coupling, i, n.spin)
			}
		}
		fields.add(t.field(i), i, -1)
	}
	x.bonds, x.fields = bonds.list, fields.list
	return x, nil
}

// terms gather sums with the same coefficient.
type terms struct {
	list []term
	at   map[float64]int
}

func (t *terms) add(coefficient float64, i, j int) {
	if coefficient == 0 {
		return
	}
	k, ok := t.at[coefficient]
	if !ok {
		if t.at == nil {
			t.at = map[float64]int{}
		}
		k = len(t.list)
		t.at[coefficient] = k
		t.list = append(t.list, term{coefficient: coefficient})
	}
	sum := &t.list[k]
	sum.i = append(sum.i, int32(i))
	if j >= 0 {
		sum.j = append(sum.j, int32(j))
	}
}

// copy returns the same stars with tables of their own.
func (x *exact) copy() exact {
	c := *x
	c.tables = slices.Clone(x.tables)
	for k := range c.tables {
		t := &c.tables[k]
		t.thresholds, t.leaves = make([]uint32, 1<<t.inputs), slices.Clone(t.leaves)
		if t.needsLogW {
			t.logW = make([]float64, 1<<t.inputs)
		}
		for l := range t.leaves {
			for centre := range t.leaves[l].logWeights {
				t.leaves[l].logWeights[centre] = make([]float64, 1<<len(t.leaves[l].inputs))
			}
		}
	}
	return c
}

// tabulate computes the tables of a copy at inverse temperature β.
func (x *exact) tabulate(beta float64) {
	for k := range x.tables {
		x.tables[k].tabulate(beta)
	}
}

func (t *starTable) tabulate(beta float64) {
	for l := range t.leaves {
		leaf := &t.leaves[l]
		for n := range leaf.logWeights[0] {
			field := fieldOf(leaf.couplings, n, len(leaf.inputs))
			leaf.logWeights[0][n] = logTwoCosh(beta * (field - leaf.centreCoupling))
			leaf.logWeights[1][n] = logTwoCosh(beta * (field + leaf.centreCoupling))
		}
	}
	for n := range t.thresholds {
		var down, up float64
		for l := range t.leaves {
			leaf := &t.leaves[l]
			number := 0
			for j, at := range leaf.inputs {
				number |= n >> at & 1 << j
			}
			down += leaf.logWeights[0][number]
			up += leaf.logWeights[1][number]
		}
		own := beta * fieldOf(t.centreCouplings, n, t.inputs)
		down, up = down-own, up+own
		t.thresholds[n] = threshold(up - down)
		if t.logW != nil {
			t.logW[n] = max(down, up) + math.Log1p(math.Exp(-math.Abs(up-down)))
		}
	}
}

// threshold returns the probability σ(logit) as asm.BitDraw compares it, to a
// multiple of 2⁻³² below 1.
func threshold(logit float64) uint32 {
	return uint32(min(math.RoundToEven(0x1p32/(1+math.Exp(-logit))), math.MaxUint32))
}

// fieldOf returns Σ_j c_j x_j + c_d, with x_j = ±1 for bit j of n and j < d.
func fieldOf(c []float64, n, d int) float64 {
	sum := c[d]
	for j, c := range c[:d] {
		sum += c * spinOf(n, j)
	}
	return sum
}

func spinOf(n, j int) float64 { return float64(n>>j&1*2 - 1) }

func logTwoCosh(x float64) float64 {
	x = math.Abs(x)
	return x + math.Log1p(math.Exp(-2*x))
}

// logWeights adds scale · ln W of the learned spins of a block to dst.
func (x *exact) logWeights(dst *[block]float64, scale, beta float64, state []uint64) {
	for k := range x.stars {
		s := &x.stars[k]
		asm.BitLookup(dst, x.tables[s.table].logW, scale, state, s.around)
	}
	addTerms(dst, x.bonds, scale*beta, state)
	addTerms(dst, x.fields, scale*beta, state)
	for b := range dst {
		dst[b] -= scale * beta * x.target.Offset
	}
}

// complete draws the exact spins.
func (x *exact) complete(state []uint64, w *RandomWords) {
	for k := range x.drawOrder {
		s := &x.drawOrder[k]
		state[s.centre] = asm.BitDraw(x.tables[s.table].thresholds, state, s.around, w.Next())
	}
}

// addTerms adds scale times the terms' values to dst. It counts, for all samples at once, the
// products that are +1.
func addTerms(dst *[block]float64, terms []term, scale float64, state []uint64) {
	for k := range terms {
		t := &terms[k]
		if len(t.i) == 1 { // usual where all couplings differ
			word := ^state[t.i[0]]
			if t.j != nil {
				word = state[t.i[0]] ^ state[t.j[0]]
			}
			c := math.Float64bits(scale * t.coefficient)
			for b := range dst {
				dst[b] += math.Float64frombits(c ^ word>>b<<63)
			}
			continue
		}
		var equal spins.LaneCounter
		for n, i := range t.i {
			word := state[i]
			if t.j != nil {
				word = ^(word ^ state[t.j[n]])
			}
			equal.Add(word)
		}
		c := scale * t.coefficient
		for b := range dst {
			dst[b] += c * float64(2*equal.Count(b)-len(t.i))
		}
	}
}
