package spins

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/internal/memory"
)

// MaxFrontier is the largest number of spins over whose configurations a transfer matrix
// has a table.
const MaxFrontier = 22

// maxOperations bounds the numbers that all passes compute. Each takes about 3 ns.
const maxOperations = 1 << 32

// A Transfer is the transfer matrix of a graph. Spins come one after another. The
// frontier is the spins so far that have neighbours still to come; a spin all of whose
// neighbours have come is summed out. In this way a table over the configurations of the
// frontier, of at most MaxFrontier spins, becomes Z: 2^2L numbers for a periodic L×L
// lattice in place of 2^(L²). Without fields one spin is fixed at +1, which halves every
// table.
type Transfer struct {
	graph   *Graph
	pinned  int // the spin that is fixed, −1 for none
	steps   []step
	widest  int     // log2 of the largest table
	entries float64 // of the tables of all frontiers
}

// A step adds a spin. Bit p of a table's index is the p-th spin of the frontier, in the
// order in which they came, set for +1. The new spin has the highest bit.
type step struct {
	spin          int
	field         float64
	frontierBonds []bond // of the new spin with spins of the frontier
	summedOut     []int  // positions in the frontier of spins that are summed out then, descending
	sumsNewOut    bool   // the new spin is summed out, too
	width         int    // spins of the frontier before the step
}

type bond struct {
	at       int // position in the frontier
	coupling float64
}

// widthAfter returns the number of spins of the frontier after a step.
func (s *step) widthAfter() int {
	if s.sumsNewOut {
		return s.width - len(s.summedOut)
	}
	return s.width - len(s.summedOut) + 1
}

// NewTransfer returns the transfer matrix of a graph, or an error that says why it is
// too large.
func NewTransfer(g *Graph) (*Transfer, error) {
	search := newFrontierSearch(bonded(g))
	order := search.order(math.Ldexp(1, MaxFrontier+1) * float64(g.N()))
	if order == nil {
		return nil, fmt.Errorf("more than %d spins have neighbours on both sides of some cut, in every order that was tried", MaxFrontier)
	}
	t := &Transfer{graph: g, pinned: -1}
	if !g.HasFields() {
		t.pinned = search.mostSpared(order)
	}
	t.build(order, search.near)
	switch n, work := g.N(), t.work(); {
	case t.widest > MaxFrontier+1:
		return nil, fmt.Errorf("the frontier of a transfer matrix is %d spins; at most %d can be", t.widest-1, MaxFrontier)
	case work > maxOperations:
		return nil, fmt.Errorf("the transfer matrix of %d spins would take %.2g operations, more than the limit of %.2g", n, work, float64(maxOperations))
	case t.memory(1) > memory.Limit()/2:
		return nil, fmt.Errorf("the transfer matrix takes %.3g GiB, and there are %.3g", t.memory(1)/(1<<30), memory.Limit()/(1<<30))
	}
	return t, nil
}

// build lists the steps of an order.
func (t *Transfer) build(order []int32, near [][]int32) {
	remaining := make([]int, t.graph.N()) // neighbours to come
	fields := make([]float64, t.graph.N())
	for i := range remaining {
		remaining[i], fields[i] = len(near[i]), t.graph.Field(i)
	}
	if t.pinned >= 0 {
		neighbours, couplings := t.graph.Neighbours(t.pinned)
		for k, j := range neighbours {
			fields[j] += couplings[k]
			if couplings[k] != 0 {
				remaining[j]--
			}
		}
	}
	var frontier []int32
	for _, i := range order {
		if int(i) == t.pinned {
			continue
		}
		s := step{spin: int(i), field: fields[i], width: len(frontier)}
		neighbours, couplings := t.graph.Neighbours(int(i))
		var kept []int32
		for p, j := range frontier {
			if k, ok := slices.BinarySearch(neighbours, j); ok && couplings[k] != 0 {
				s.frontierBonds = append(s.frontierBonds, bond{p, couplings[k]})
				remaining[i]--
				if remaining[j]--; remaining[j] == 0 {
					s.summedOut = append([]int{p}, s.summedOut...)
					continue
				}
			}
			kept = append(kept, j)
		}
		if s.sumsNewOut = remaining[i] == 0; !s.sumsNewOut {
			kept = append(kept, i)
		}
		frontier = kept
		t.steps = append(t.steps, s)
		t.widest = max(t.widest, s.width+1)
		t.entries += math.Ldexp(1, s.width)
	}
}

// work returns about how many numbers Sum computes: for the correlations of each spin the
// tables of all later steps, for the law of the magnetisation two tables a step for each
// frequency.
func (t *Transfer) work() float64 {
	return t.entries * (10 + 2.5*float64(len(t.steps)))
}

// memory returns the bytes that Sum takes with so many lanes.
func (t *Transfer) memory(lanes int) float64 {
	return 8 * (t.entries + math.Ldexp(float64(max(9, 4*lanes+3)), t.widest))
}

// String states the size in one line.
func (t *Transfer) String() string {
	return fmt.Sprintf("a transfer matrix over at most %d spins, %.2g operations", max(0, t.widest-1), t.work())
}

// A weightedStep is a step with its Boltzmann factors at an inverse temperature. It may
// sum one spin out while it multiplies with the factors. All other sums follow.
type weightedStep struct {
	*step
	fusedSpin      int          // position of the spin that is summed out at once, −1 for none
	equal, unequal float64      // factors of its bond
	laterSums      []int        // positions of the spins that are summed out afterwards
	bonds          []bond       // all but that of fusedSpin
	factors        [][2]float64 // of bonds: of equal spins, and of unequal ones

	// Factors of the new spin down and up, and the field that it feels, for all
	// configurations of the first lowSpins spins.
	down, up, field [lowStates]float64
}

const (
	lowSpins  = 6
	lowStates = 1 << lowSpins
)

// weigh returns the weighted step, with scale as one more factor. Its Boltzmann factors are
// relative to the larger one of each bond and field; log is the logarithm of the product of
// these. If fused, the first spin to sum out is summed out at once.
func (s *step) weigh(beta, scale float64, fused bool) (c *weightedStep, log float64) {
	c = &weightedStep{step: s, fusedSpin: -1, laterSums: s.summedOut, bonds: s.frontierBonds}
	relative := func(k float64) (positive, negative float64) {
		log += math.Abs(k)
		return math.Exp(k - math.Abs(k)), math.Exp(-k - math.Abs(k))
	}
	if fused && len(s.summedOut) > 0 {
		c.fusedSpin, c.laterSums, c.bonds = s.summedOut[0], s.summedOut[1:], nil
		for _, b := range s.frontierBonds {
			switch {
			case b.at > c.fusedSpin:
				b.at--
			case b.at == c.fusedSpin:
				c.equal, c.unequal = relative(beta * b.coupling)
				continue
			}
			c.bonds = append(c.bonds, b)
		}
	}
	for _, b := range c.bonds {
		equal, unequal := relative(beta * b.coupling)
		c.factors = append(c.factors, [2]float64{equal, unequal})
	}
	up, down := relative(beta * s.field)
	for k := range c.down {
		c.down[k], c.up[k], c.field[k] = scale*down, scale*up, s.field
		c.applyBonds(k, 0, lowSpins, &c.down[k], &c.up[k], &c.field[k])
	}
	return c, log
}

// applyBonds applies the bonds with spins lo … hi−1 of a configuration to the factors and the
// field of the new spin.
func (c *weightedStep) applyBonds(config, lo, hi int, down, up, field *float64) {
	for i, b := range c.bonds {
		if b.at < lo || b.at >= hi {
			continue
		}
		is := config >> b.at & 1
		*up *= c.factors[i][1-is]
		*down *= c.factors[i][is]
		*field += b.coupling * float64(2*is-1)
	}
}

// highFactors returns the factors and the field due to all spins but the first lowSpins.
func (c *weightedStep) highFactors(base int) (down, up, field float64) {
	down, up = 1, 1
	c.applyBonds(base, lowSpins, 64, &down, &up, &field)
	return down, up, field
}

// advance stores the table after a step in out. The new spin is not summed out: it is up in
// the upper half.
func (c *weightedStep) advance(out, in []float64) []float64 {
	half := len(in)
	if c.fusedSpin >= 0 {
		half /= 2
	}
	out = out[:2*half]
	for base := 0; base < half; base += lowStates {
		n := min(lowStates, half-base)
		down, up := out[base:][:n], out[half+base:][:n]
		d, u, _ := c.highFactors(base)
		if c.fusedSpin < 0 {
			for k, x := range in[base:][:n] {
				down[k], up[k] = d*c.down[k]*x, u*c.up[k]*x
			}
			continue
		}
		bit := 1 << c.fusedSpin
		if bit >= lowStates {
			i := base&^(bit-1)<<1 | base&(bit-1)
			unset, set := in[i:][:n], in[i+bit:][:n]
			for k, x := range unset {
				y := set[k]
				down[k] = d * c.down[k] * (c.equal*x + c.unequal*y)
				up[k] = u * c.up[k] * (c.unequal*x + c.equal*y)
			}
			continue
		}
		for k := range n {
			i := (base+k)&^(bit-1)<<1 | k&(bit-1)
			x, y := in[i], in[i|bit]
			down[k] = d * c.down[k] * (c.equal*x + c.unequal*y)
			up[k] = u * c.up[k] * (c.unequal*x + c.equal*y)
		}
	}
	for _, p := range c.laterSums {
		out = sumOut(out, p)
	}
	return out
}

// sumOut sums a table over the spin at a position, in place.
func sumOut(table []float64, p int) []float64 {
	bit := 1 << p
	half := table[:len(table)/2]
	for j := range half {
		i := j&^(bit-1)<<1 | j&(bit-1)
		half[j] = table[i] + table[i|bit]
	}
	return half
}

// finish sums the new spin out if all its neighbours have come.
func (s *step) finish(table []float64) []float64 {
	if s.sumsNewOut {
		return sumOut(table, s.widthAfter())
	}
	return table
}

// stepBack returns the sums over all later spins by the frontier before a step, given those by
// the frontier after it.
func (c *weightedStep) stepBack(after []float64) []float64 {
	extended := after // by the spins that the step sums out, too
	if c.sumsNewOut {
		extended = append(slices.Clone(extended), extended...)
	}
	for _, p := range slices.Backward(c.laterSums) {
		bit := 1 << p
		wider := make([]float64, 2*len(extended))
		for i := range wider {
			wider[i] = extended[i>>1&^(bit-1)|i&(bit-1)]
		}
		extended = wider
	}
	half := len(extended) / 2
	before := make([]float64, half)
	for base := 0; base < half; base += lowStates {
		d, u, _ := c.highFactors(base)
		for k := range min(lowStates, half-base) {
			before[base+k] = d*c.down[k]*extended[base+k] + u*c.up[k]*extended[half+base+k]
		}
	}
	return before
}
