package spins

import (
	"math"
	"math/bits"

	"github.com/revgen/revgen/asm"
)

// Lanes is the number of configurations that a heat bath works on together: one
// word holds one spin of all of them, that of configuration k in bit k.
const Lanes = 64

// A heatBath redraws spins of 64 configurations from their conditional law given
// the other spins of each,
//
//	P(s_i = +1) = 1/(1 + e^(−2β f_i)),  f_i = Σ_j J_ij s_j + h_i,
//
// with a draw of its own for each spin of each configuration. It is immutable.
// It works in one of two ways.
//
// The sliced way is taken if all couplings are of one strength, J_ij = ±J, and no spin
// has more than slicedDegree neighbours. Then f_i = J(2k − degree) + h_i depends on the
// number k of neighbours that favour s_i = +1. Full adders count k for all configurations
// in the bits of a few words, and draws are compared with the probability of each k bit
// by bit, the highest first. Probabilities are computed in float64 and rounded to
// multiples of 2⁻³², and all paths of package asm give the same bits.
//
// Otherwise the fields of all configurations are tabulated. A flip updates the fields of
// its neighbours. Probabilities are computed in float32 by asm.Sigmoid of 2βf, whose
// rounding makes a relative error of 2⁻²³(1 + 2β|f|) or so, and cut to multiples of 2⁻³².
//
// In both ways no probability is 0 or 1, so all configurations are connected.
type heatBath struct {
	graph *Graph
	beta  float64

	tables   []slicedTable // by degree and field of a spin; nil to tabulate fields
	tableOf  []int32       // the table of each spin
	negative []uint64      // by entry of the graph's couplings, all ones if it is negative
}

// A slicedTable holds the probabilities of spins of one degree and field.
type slicedTable struct {
	degree     int
	thresholds []uint64                  // of k neighbours, in units of 2⁻³²
	planes     [probabilityBits][]uint16 // the k whose threshold has this bit, the highest first
}

const (
	probabilityBits = 32
	slicedDegree    = 15 // four bits hold k
	slicedTables    = 1 << 10

	// The sliced way draws planes of a bit for each configuration until every comparison
	// is decided, partPlanes at a time. At position p of the stream, part k
	// begins at block k·2^partShift + p·partBlocks.
	partPlanes = 8
	partBlocks = partPlanes / 2
	partShift  = 58

	laneBlocks = Lanes / 4 // draws of a spin when fields are tabulated
)

// threshold returns a probability in units of 2⁻³², neither 0 nor 1.
func threshold(p float64) uint64 {
	return uint64(min(max(math.RoundToEven(math.Ldexp(p, probabilityBits)), 1), 1<<probabilityBits-1))
}

func newHeatBath(g *Graph, beta float64) *heatBath {
	h := &heatBath{graph: g, beta: beta}
	if !h.makeSlicedTables() {
		h.tables, h.tableOf, h.negative = nil, nil, nil
	}
	return h
}

// makeSlicedTables makes the tables of the sliced way, and reports whether it can be taken.
func (h *heatBath) makeSlicedTables() bool {
	g := h.graph
	edges := g.Edges()
	if len(edges) == 0 {
		return false
	}
	strength := math.Abs(edges[0].Coupling)
	for _, e := range edges {
		if math.Abs(e.Coupling) != strength || strength == 0 {
			return false
		}
	}
	type key struct {
		degree int
		field  float64
	}
	tables := map[key]int32{}
	h.tableOf = make([]int32, g.N())
	for i := range h.tableOf {
		k := key{g.Degree(i), g.Field(i)}
		table, ok := tables[k]
		if !ok {
			if k.degree > slicedDegree || len(tables) == slicedTables {
				return false
			}
			table = int32(len(h.tables))
			tables[k] = table
			h.tables = append(h.tables, newSlicedTable(k.degree, func(favouring int) float64 {
				f := strength*float64(2*favouring-k.degree) + k.field
				return 1 / (1 + math.Exp(-2*h.beta*f))
			}))
		}
		h.tableOf[i] = table
	}
	h.negative = make([]uint64, len(g.coupling))
	for k, c := range g.coupling {
		if c < 0 {
			h.negative[k] = math.MaxUint64
		}
	}
	return true
}

func newSlicedTable(degree int, probability func(favouring int) float64) slicedTable {
	t := slicedTable{degree: degree}
	for k := range degree + 1 {
		p := threshold(probability(k))
		t.thresholds = append(t.thresholds, p)
		for b := range t.planes {
			if p>>(probabilityBits-1-b)&1 != 0 {
				t.planes[b] = append(t.planes[b], uint16(k))
			}
		}
	}
	return t
}

// lanes are 64 configurations that a heat bath moves.
type lanes struct {
	spins  []uint64  // [n]
	fields []float64 // [n][Lanes]; nil in the sliced way

	draws [partsAhead * 4 * partBlocks]uint32
	x, p  [Lanes]float32 // 2βf and P(s = +1) of a spin
}

const partsAhead = 32 // spins whose first parts are drawn in one call

func (h *heatBath) newLanes() *lanes {
	l := &lanes{spins: make([]uint64, h.graph.N())}
	if h.tables == nil {
		l.fields = make([]float64, Lanes*h.graph.N())
	}
	return l
}

// tabulate computes the fields, unless the way is sliced.
func (h *heatBath) tabulate(l *lanes) {
	if h.tables != nil {
		return
	}
	g := h.graph
	for i := range l.spins {
		f := l.row(i)
		for k := range f {
			f[k] = g.Field(i)
		}
		near, couplings := g.Neighbours(i)
		for x, j := range near {
			c, s := math.Float64bits(couplings[x]), l.spins[j]
			for k := range f {
				f[k] += math.Float64frombits(c ^ ^(s>>k)<<63)
			}
		}
	}
}

func (l *lanes) row(i int) *[Lanes]float64 { return (*[Lanes]float64)(l.fields[Lanes*i:]) }

// update redraws the spins of a list, one after the other. The draws of element
// k are those of position first+k of the stream, of which there are 2⁵² at most.
func (h *heatBath) update(l *lanes, list []int32, c *asm.Counter, first uint64) {
	if h.tables == nil {
		for k, i := range list {
			h.updateTabulated(l, int(i), c, first+uint64(k))
		}
		return
	}
	for len(list) > 0 {
		n := min(partsAhead, len(list))
		draws := l.draws[:n*4*partBlocks]
		asm.PhiloxBlocks(draws, c, first*partBlocks)
		for k, i := range list[:n] {
			h.updateSliced(l.spins, int(i), draws[k*4*partBlocks:][:4*partBlocks], c, first+uint64(k))
		}
		list, first = list[n:], first+uint64(n)
	}
}

func (h *heatBath) updateTabulated(l *lanes, i int, c *asm.Counter, position uint64) {
	row := l.row(i)
	twoBeta := 2 * h.beta
	for k, f := range row {
		l.x[k] = float32(twoBeta * f)
	}
	asm.Sigmoid(l.p[:], l.x[:])
	draws := (*[Lanes]uint32)(l.draws[:])
	asm.PhiloxBlocks(draws[:], c, position*laneBlocks)
	var up uint64
	for k, u := range draws {
		p := min(max(int64(l.p[k]*(1<<probabilityBits)), 1), 1<<probabilityBits-1)
		up |= uint64(int64(u)-p) >> 63 << k
	}
	flips := up ^ l.spins[i]
	if flips == 0 {
		return
	}
	l.spins[i] = up
	var lane [Lanes]uint8
	var change [Lanes]float64
	n := 0
	for mask := flips; mask != 0; mask &= mask - 1 {
		k := bits.TrailingZeros64(mask)
		lane[n&(Lanes-1)], change[n&(Lanes-1)] = uint8(k), float64(int(up>>k&1)*4-2)
		n++
	}
	near, couplings := h.graph.Neighbours(i)
	for x, j := range near {
		f, c := l.row(int(j)), couplings[x]
		for m, k := range lane[:n] {
			f[k&(Lanes-1)] += c * change[m]
		}
	}
}

// updateSliced counts k and compares its probability with draws, given the first part of them.
func (h *heatBath) updateSliced(spins []uint64, i int, draws []uint32, c *asm.Counter, position uint64) {
	g := h.graph
	lo, hi := g.start[i], g.start[i+1]
	negative := h.negative[lo:hi]
	var ones, twos, fours, eights uint64 // the bits of k
	for x, j := range g.neighbour[lo:hi] {
		a := spins[j] ^ negative[x] // the configurations in which j favours s_i = +1
		b := ones & a
		ones ^= a
		a = twos & b
		twos ^= b
		b = fours & a
		fours ^= a
		eights ^= b
	}
	table := &h.tables[h.tableOf[i]]
	var class [slicedDegree + 1]uint64 // [k] the configurations with this k
	low := [4]uint64{^ones & ^twos, ones & ^twos, ^ones & twos, ones & twos}
	high := [4]uint64{^fours & ^eights, fours & ^eights, ^fours & eights, fours & eights}
	for k := range table.degree + 1 {
		class[k] = low[k&3] & high[k>>2&3]
	}
	var up uint64
	undecided := uint64(math.MaxUint64)
	var nextPart [4 * partBlocks]uint32
	for b := range table.planes {
		if b > 0 && b%partPlanes == 0 {
			asm.PhiloxBlocks(nextPart[:], c, uint64(b/partPlanes)<<partShift+position*partBlocks)
			draws = nextPart[:]
		}
		var digit uint64
		for _, k := range table.planes[b] {
			digit |= class[k&slicedDegree]
		}
		at := b % partPlanes * 2
		random := uint64(draws[at+1])<<32 | uint64(draws[at])
		up |= undecided & digit &^ random
		undecided &^= digit ^ random
		if undecided == 0 {
			break
		}
	}
	spins[i] = up
}

// energies stores the energies of the configurations, to rounding.
func (h *heatBath) energies(dst *[Lanes]float64, l *lanes) {
	g := h.graph
	if h.tables == nil {
		*dst = [Lanes]float64{}
		for i, s := range l.spins {
			field := g.Field(i)
			for k, f := range l.row(i) {
				dst[k] += math.Float64frombits(math.Float64bits(f+field) ^ ^(s>>k)<<63)
			}
		}
		for k, sum := range dst {
			dst[k] = g.Offset() - sum/2
		}
		return
	}
	var unsatisfied LaneCounter
	strength := math.Abs(g.Edges()[0].Coupling)
	for _, e := range g.Edges() {
		x := l.spins[e.I] ^ l.spins[e.J]
		if e.Coupling < 0 {
			x = ^x
		}
		unsatisfied.Add(x)
	}
	for k := range dst {
		dst[k] = g.Offset() - strength*float64(len(g.Edges())-2*unsatisfied.Count(k))
	}
	if g.HasFields() {
		for i, field := range g.hamiltonian.Fields {
			f := math.Float64bits(field)
			for k := range dst {
				dst[k] -= math.Float64frombits(f ^ ^(l.spins[i]>>k)<<63)
			}
		}
	}
}

// exchange swaps the configurations of some lanes of two words.
func (h *heatBath) exchange(a, b *lanes, mask uint64) {
	if mask == 0 {
		return
	}
	for i, s := range a.spins {
		x := (s ^ b.spins[i]) & mask
		a.spins[i] ^= x
		b.spins[i] ^= x
	}
	if h.tables != nil {
		return
	}
	for i := range a.spins {
		f, g := a.row(i), b.row(i)
		for m := mask; m != 0; m &= m - 1 {
			k := bits.TrailingZeros64(m) & (Lanes - 1)
			f[k], g[k] = g[k], f[k]
		}
	}
}
