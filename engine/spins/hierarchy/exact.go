package hierarchy

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/spins"
)

// Blocks of samples have one word a spin: bit b is the spin of sample b.
const block = asm.BitSamples

const (
	starInputs = 12 // most spins around a star, whose weights are tabulated
	leafInputs = 8  // most neighbours of a leaf, whose logits are tabulated
)

// exact holds the spins that no perceptron draws, in stars. The sum of the Boltzmann
// weights over a star's spins is a number for every state of the learned spins around it,
// and so is the probability of its centre; the leaves are drawn last, by the heat bath.
//
// ln W is the logarithm of the Boltzmann weight of the learned spins, all
// others summed out.
type exact struct {
	target *Target
	stars  []star
	drawn  []star // centres with the leaves summed out, then all others given all their neighbours
	tables []starTable
	bonds  []term // between learned spins
	fields []term // of learned spins
}

type star struct {
	centre int32
	around []int32 // spins that it depends on
	table  int
}

// A starTable depends on β.
type starTable struct {
	inputs int
	// Every leaf adds 2cosh β(h + Σ c_j x_j + c s_centre) to the weight.
	leaves []starLeaf
	own    []float64 // the centre's couplings and field
	weighs bool      // ln W is wanted
	logW   []float64 // [2^inputs], nil if it is not
	centre []uint32  // [2^inputs] threshold of the centre
}

type starLeaf struct {
	at        []int        // bits of the star's number that it is coupled to
	couplings []float64    // to them, and the field
	centre    float64      // coupling to the centre
	log       [2][]float64 // [centre][2^len(at)] ln 2cosh of its field
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
	share := func(t starTable) int { // a new table, unless there is one with the same couplings
		key := fmt.Sprint(t.weighs, t.own)
		for _, l := range t.leaves {
			key += fmt.Sprint(l.at, l.couplings, l.centre)
		}
		k, ok := tables[key]
		if !ok {
			k = len(x.tables)
			tables[key] = k
			x.tables = append(x.tables, t)
		}
		return k
	}
	var last []star // to be drawn
	for _, of := range stars {
		d := len(of.Around)
		if d > starInputs {
			return nil, fmt.Errorf("hierarchy: the exact spins at %d touch %d learned spins, more than %d", of.Centre, d, starInputs)
		}
		at := func(spin int) int { return slices.Index(of.Around, int32(spin)) }
		table := starTable{inputs: d, weighs: true, own: make([]float64, d+1)}
		table.own[d] = t.field(of.Centre)
		for _, n := range near[of.Centre] {
			if learned[n.spin] {
				table.own[at(n.spin)] = n.coupling
			}
		}
		given := of.Leaves // whose neighbours are all drawn before
		if given == nil {
			given = []int{of.Centre}
		}
		for _, l := range given {
			if len(near[l]) > leafInputs {
				return nil, fmt.Errorf("hierarchy: exact spin %d has %d neighbours, more than %d", l, len(near[l]), leafInputs)
			}
		}
		for _, l := range of.Leaves {
			var leaf starLeaf
			alone, own := star{centre: int32(l)}, starTable{inputs: len(near[l])}
			for _, n := range near[l] {
				alone.around, own.own = append(alone.around, int32(n.spin)), append(own.own, n.coupling)
				if n.spin == of.Centre {
					leaf.centre = n.coupling
				} else {
					leaf.at, leaf.couplings = append(leaf.at, at(n.spin)), append(leaf.couplings, n.coupling)
				}
			}
			leaf.couplings, own.own = append(leaf.couplings, t.field(l)), append(own.own, t.field(l))
			table.leaves = append(table.leaves, leaf)
			alone.table = share(own)
			last = append(last, alone)
		}
		s := star{int32(of.Centre), of.Around, share(table)}
		x.stars = append(x.stars, s)
		if of.Leaves == nil {
			last = append(last, s)
		} else {
			x.drawn = append(x.drawn, s)
		}
	}
	x.drawn = append(x.drawn, last...)
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
	of := &t.list[k]
	of.i = append(of.i, int32(i))
	if j >= 0 {
		of.j = append(of.j, int32(j))
	}
}

// copy returns the same stars with tables of their own.
func (x *exact) copy() exact {
	c := *x
	c.tables = slices.Clone(x.tables)
	for k := range c.tables {
		t := &c.tables[k]
		t.centre, t.leaves = make([]uint32, 1<<t.inputs), slices.Clone(t.leaves)
		if t.weighs {
			t.logW = make([]float64, 1<<t.inputs)
		}
		for l := range t.leaves {
			for centre := range t.leaves[l].log {
				t.leaves[l].log[centre] = make([]float64, 1<<len(t.leaves[l].at))
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
		for n := range leaf.log[0] {
			field := fieldOf(leaf.couplings, n, len(leaf.at))
			leaf.log[0][n] = logTwoCosh(beta * (field - leaf.centre))
			leaf.log[1][n] = logTwoCosh(beta * (field + leaf.centre))
		}
	}
	for n := range t.centre {
		var down, up float64
		for l := range t.leaves {
			leaf := &t.leaves[l]
			number := 0
			for j, at := range leaf.at {
				number |= n >> at & 1 << j
			}
			down += leaf.log[0][number]
			up += leaf.log[1][number]
		}
		own := beta * fieldOf(t.own, n, t.inputs)
		down, up = down-own, up+own
		t.centre[n] = threshold(up - down)
		if t.logW != nil {
			t.logW[n] = max(down, up) + math.Log1p(math.Exp(-math.Abs(up-down)))
		}
	}
}

// fieldOf returns Σ_j c_j x_j + c_d of d spins that make the number n.
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
func (x *exact) complete(state []uint64, w *Words) {
	for k := range x.drawn {
		s := &x.drawn[k]
		state[s.centre] = asm.BitDraw(x.tables[s.table].centre, state, s.around, w.Next())
	}
}

// addTerms adds scale times the terms' values to dst, counting set bits of all
// samples at once.
func addTerms(dst *[block]float64, terms []term, scale float64, state []uint64) {
	for k := range terms {
		t := &terms[k]
		if len(t.i) == 1 { // as where all couplings differ
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
		var equal spins.Counts
		for n, i := range t.i {
			word := state[i]
			if t.j != nil {
				word = ^(word ^ state[t.j[n]])
			}
			equal.Add(word)
		}
		c := scale * t.coefficient
		for b := range dst {
			dst[b] += c * float64(2*equal.Of(b)-len(t.i))
		}
	}
}
