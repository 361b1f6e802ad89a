package spins

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/internal/memory"
)

// MaxFrontier is the largest number of spins whose configurations a transfer matrix
// keeps at a time.
const MaxFrontier = 22

// mostTransferred bounds the numbers that all passes compute, some 3 ns of a
// processor each.
const mostTransferred = 1 << 32

// A Transfer is the transfer matrix of a graph. Spins come one after another; those
// that have neighbours still to come are the frontier; a spin whose neighbours have
// all come is summed out. A table over the configurations of the frontier, of at most
// MaxFrontier spins, so becomes Z: 2^2L numbers for a periodic L×L lattice in place of
// 2^(L²). Without fields one spin is held up, which halves every table.
type Transfer struct {
	graph  *Graph
	pinned int // the spin that is held up, −1 for none
	steps  []step
	widest int     // log2 of the largest table
	states float64 // numbers of all frontiers' tables
}

// A step is the coming of a spin. Bit p of a table's index is the p-th spin of the
// frontier, by when they came, set for +1; that of the new spin is above all.
type step struct {
	spin    int
	field   float64
	near    []bond // spins of the frontier that it is coupled to
	leaving []int  // positions of those that are summed out then, descending
	last    bool   // the new spin is summed out too
	width   int    // of the frontier before
}

type bond struct {
	at       int
	coupling float64
}

// after returns the width of the frontier after a step.
func (s *step) after() int {
	if s.last {
		return s.width - len(s.leaving)
	}
	return s.width - len(s.leaving) + 1
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
		t.pinned = search.longest(order)
	}
	t.build(order, search.near)
	switch n, work := g.N(), t.work(); {
	case t.widest > MaxFrontier+1:
		return nil, fmt.Errorf("the frontier of a transfer matrix is %d spins; at most %d can be", t.widest-1, MaxFrontier)
	case work > mostTransferred:
		return nil, fmt.Errorf("the transfer matrix of %d spins would take %.2g operations, more than the limit of %.2g", n, work, float64(mostTransferred))
	case t.memory(1) > memory.Limit()/2:
		return nil, fmt.Errorf("the transfer matrix takes %.3g GiB, and there are %.3g", t.memory(1)/(1<<30), memory.Limit()/(1<<30))
	}
	return t, nil
}

// build lists the steps of an order.
func (t *Transfer) build(order []int32, near [][]int32) {
	left := make([]int, t.graph.N()) // neighbours to come
	fields := make([]float64, t.graph.N())
	for i := range left {
		left[i], fields[i] = len(near[i]), t.graph.Field(i)
	}
	if t.pinned >= 0 {
		neighbours, couplings := t.graph.Neighbours(t.pinned)
		for k, j := range neighbours {
			fields[j] += couplings[k]
			if couplings[k] != 0 {
				left[j]--
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
				s.near = append(s.near, bond{p, couplings[k]})
				left[i]--
				if left[j]--; left[j] == 0 {
					s.leaving = append([]int{p}, s.leaving...)
					continue
				}
			}
			kept = append(kept, j)
		}
		if s.last = left[i] == 0; !s.last {
			kept = append(kept, i)
		}
		frontier = kept
		t.steps = append(t.steps, s)
		t.widest = max(t.widest, s.width+1)
		t.states += math.Ldexp(1, s.width)
	}
}

// longest returns the spin whose absence would spare most.
func (s *frontierSearch) longest(order []int32) int {
	s.follow(order, math.Inf(1))
	best, most := 0, -1.0
	for i, near := range s.near {
		end := s.came[i]
		for _, j := range near {
			end = max(end, s.came[j])
		}
		if spared := s.sums[end] - s.sums[s.came[i]]; spared > most {
			best, most = i, spared
		}
	}
	return best
}

// work returns how many numbers Sum computes: for the correlations of each spin the
// tables of all steps after its own, for the law of the magnetisation two tables a
// frequency.
func (t *Transfer) work() float64 {
	return t.states * (10 + 2.5*float64(len(t.steps)))
}

// memory returns the bytes of so many passes at a time.
func (t *Transfer) memory(lanes int) float64 {
	return 8 * (t.states + math.Ldexp(float64(max(9, 4*lanes+3)), t.widest))
}

// String states the size in one line.
func (t *Transfer) String() string {
	return fmt.Sprintf("a transfer matrix over at most %d spins, %.2g operations", max(0, t.widest-1), t.work())
}

// A crossing is a step at an inverse temperature, its factors scaled.
type crossing struct {
	*step
	// The first spin that is summed out, with the factors of its bond, −1 where all
	// are summed out afterwards, those of more.
	leaving        int
	equal, unequal float64
	more           []int
	rest           []bond // bonds of the others
	factors        [][2]float64

	// Factors of the new spin down and up, and Σ J s of its neighbours, for all
	// configurations of the first spins.
	down, up, field [lowStates]float64
}

const (
	lowSpins  = 6
	lowStates = 1 << lowSpins
)

// cross returns a step's crossing, and the logarithm of the factor that its numbers
// lack. Where fused, the first spin to leave is summed out at once.
func (s *step) cross(beta, scale float64, fused bool) (c *crossing, log float64) {
	c = &crossing{step: s, leaving: -1, more: s.leaving, rest: s.near}
	relative := func(k float64) (positive, negative float64) {
		log += math.Abs(k)
		return math.Exp(k - math.Abs(k)), math.Exp(-k - math.Abs(k))
	}
	if fused && len(s.leaving) > 0 {
		c.leaving, c.more, c.rest = s.leaving[0], s.leaving[1:], nil
		for _, b := range s.near {
			switch {
			case b.at > c.leaving:
				b.at--
			case b.at == c.leaving:
				c.equal, c.unequal = relative(beta * b.coupling)
				continue
			}
			c.rest = append(c.rest, b)
		}
	}
	for _, b := range c.rest {
		equal, unequal := relative(beta * b.coupling)
		c.factors = append(c.factors, [2]float64{equal, unequal})
	}
	up, down := relative(beta * s.field)
	for k := range c.down {
		c.down[k], c.up[k], c.field[k] = scale*down, scale*up, s.field
		c.times(k, 0, lowSpins, &c.down[k], &c.up[k], &c.field[k])
	}
	return c, log
}

// times applies the bonds to spins lo … hi−1 of a configuration.
func (c *crossing) times(config, lo, hi int, down, up, field *float64) {
	for i, b := range c.rest {
		if b.at < lo || b.at >= hi {
			continue
		}
		is := config >> b.at & 1
		*up *= c.factors[i][1-is]
		*down *= c.factors[i][is]
		*field += b.coupling * float64(2*is-1)
	}
}

// high returns what the spins above the first contribute.
func (c *crossing) high(base int) (down, up, field float64) {
	down, up = 1, 1
	c.times(base, lowSpins, 64, &down, &up, &field)
	return down, up, field
}

// advance stores the table after a step in out, in the upper half of which the new
// spin is up: it is not summed out.
func (c *crossing) advance(out, in []float64) []float64 {
	half := len(in)
	if c.leaving >= 0 {
		half /= 2
	}
	out = out[:2*half]
	for base := 0; base < half; base += lowStates {
		n := min(lowStates, half-base)
		down, up := out[base:][:n], out[half+base:][:n]
		d, u, _ := c.high(base)
		if c.leaving < 0 {
			for k, x := range in[base:][:n] {
				down[k], up[k] = d*c.down[k]*x, u*c.up[k]*x
			}
			continue
		}
		bit := 1 << c.leaving
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
	for _, p := range c.more {
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

// end sums the new spin out if it is the last of its bonds.
func (s *step) end(table []float64) []float64 {
	if s.last {
		return sumOut(table, s.after())
	}
	return table
}

// back returns the table before a step of the sums over all that comes after.
func (c *crossing) back(after []float64) []float64 {
	ext := after
	if c.last {
		ext = append(slices.Clone(ext), ext...)
	}
	for _, p := range slices.Backward(c.more) {
		bit := 1 << p
		wider := make([]float64, 2*len(ext))
		for i := range wider {
			wider[i] = ext[i>>1&^(bit-1)|i&(bit-1)]
		}
		ext = wider
	}
	half := len(ext) / 2
	before := make([]float64, half)
	for base := 0; base < half; base += lowStates {
		d, u, _ := c.high(base)
		for k := range min(lowStates, half-base) {
			before[base+k] = d*c.down[k]*ext[base+k] + u*c.up[k]*ext[half+base+k]
		}
	}
	return before
}
