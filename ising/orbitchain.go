package ising

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/internal/pool"
)

// An orbitChain has the Metropolis moves between the orbits of a generator's
// symmetry, at any temperature. The target's own symmetry g may be larger:
//
//	P(g a, g b) = P(a, b),
//
// so that one row in some dozens is computed and the others are its permutations.
// Nothing is allocated after newOrbitChain.
type orbitChain struct {
	orbits *orbits
	n      int // orbits
	*orbitRows
	*orbitMoves

	accept []float64 // min{1, exp(−βΔE)}, [from][to] by level
	reject []float64 // 1 − accept

	one, square, result, spare []float64 // [rows][n]: a step, and powers
	stay, rejected             []float64 // of a step: by row, by proposal
	full                       []float64 // [n][n]
	workers                    *pool.Pool
	dst, left                  []float64 // of the product under way
	multiply, unfold           func(piece int)
}

// orbitRows say which rows of a matrix that has a target's symmetry are the others'
// permutations.
type orbitRows struct {
	rows []int32   // orbits whose rows are computed
	row  []int32   // of each orbit, the one of them that is taken to it …
	by   [][]int32 // … by this permutation of the orbits
}

// orbitMoves are what a chain proposes, and the energies of a target at any temperature.
type orbitMoves struct {
	masks  []uint32  // proposals, ascending
	q      []float64 // and their probabilities
	level  []int32   // of the energy of a configuration
	energy []float64 // of a level
}

// movesKey is what the moves depend on beside the orbits.
type movesKey struct {
	j, h     float64
	proposal bitspin.Proposal
}

func newOrbitChain(o *orbits, t Target, proposal bitspin.Proposal, workers *pool.Pool) *orbitChain {
	n := len(o.size)
	c := &orbitChain{orbits: o, n: n, workers: workers}
	c.orbitMoves = o.moves.Get(movesKey{t.J, t.H, proposal}, func() *orbitMoves { return newOrbitMoves(t, proposal) })
	whole := symmetry{flip: t.H == 0, lattice: true, side: t.L}
	c.orbitRows = o.rows.Get(whole, func() *orbitRows { return o.choose(whole) })
	c.accept, c.reject = make([]float64, len(c.energy)*len(c.energy)), make([]float64, len(c.energy)*len(c.energy))
	for _, m := range []*[]float64{&c.one, &c.square, &c.result, &c.spare} {
		*m = workers.Float64s(len(c.rows) * n)
	}
	c.stay, c.rejected, c.full = make([]float64, len(c.rows)), make([]float64, len(c.masks)), workers.Float64s(n*n)
	c.multiply, c.unfold = c.multiplyRows, c.unfoldRow
	return c
}

func newOrbitMoves(t Target, proposal bitspin.Proposal) *orbitMoves {
	m := &orbitMoves{level: make([]int32, 1<<t.N)}
	levels := make(map[float64]int32)
	for s := range m.level {
		word := []uint64{uint64(s)}
		if q := proposal.Probability(t.N, word); q > 0 {
			m.masks, m.q = append(m.masks, uint32(s)), append(m.q, q)
		}
		e := t.Energy(word)
		i, known := levels[e]
		if !known {
			i = int32(len(m.energy))
			levels[e], m.energy = i, append(m.energy, e)
		}
		m.level[s] = i
	}
	return m
}

// choose returns the rows that are computed, given the target's symmetry.
func (o *orbits) choose(whole symmetry) *orbitRows {
	c := &orbitRows{row: make([]int32, len(o.size)), by: make([][]int32, len(o.size))}
	var images [][]int32 // where the elements take the orbits
	for _, e := range whole.elements() {
		image := make([]int32, len(o.size))
		for orbit, s := range o.first {
			image[orbit] = o.of[e.of(int(s))]
		}
		images = append(images, image)
	}
	for orbit := range c.row {
		c.row[orbit] = -1
	}
	for orbit := range c.row {
		if c.row[orbit] >= 0 {
			continue
		}
		for _, image := range images {
			if to := image[orbit]; c.row[to] < 0 {
				c.row[to], c.by[to] = int32(len(c.rows)), image
			}
		}
		c.rows = append(c.rows, int32(orbit))
	}
	return c
}

// set computes a step at inverse temperature beta.
func (c *orbitChain) set(beta float64) {
	levels := len(c.energy)
	for from, e := range c.energy {
		for to, f := range c.energy {
			i := from*levels + to
			if x := -beta * (f - e); x < 0 {
				c.accept[i], c.reject[i] = math.Exp(x), -math.Expm1(x)
			} else {
				c.accept[i], c.reject[i] = 1, 0
			}
		}
	}
	clear(c.one)
	for r, orbit := range c.rows {
		row, s := c.one[r*c.n:][:c.n], uint32(c.orbits.first[orbit])
		accept, reject := c.accept[int(c.level[s])*levels:][:levels], c.reject[int(c.level[s])*levels:][:levels]
		for i, mask := range c.masks {
			to := s ^ mask
			row[c.orbits.of[to]] += c.q[i] * accept[c.level[to]]
			c.rejected[i] = c.q[i] * reject[c.level[to]]
		}
		c.stay[r] = floats.SumCompensated(c.rejected)
		row[orbit] += c.stay[r]
	}
}

// stays returns the probability that a step rejects from an orbit.
func (c *orbitChain) stays(orbit int32) float64 { return c.stay[c.row[orbit]] }

// power returns the probabilities of steps ≥ 1 steps, [from][to], until the next call.
func (c *orbitChain) power(steps int) []float64 {
	copy(c.square, c.one)
	for begun := false; ; {
		if steps&1 != 0 && !begun {
			copy(c.result, c.square)
			begun = true
		} else if steps&1 != 0 {
			c.spread(c.square)
			c.result, c.spare = c.times(c.spare, c.result), c.result
		}
		if steps >>= 1; steps == 0 {
			return c.spread(c.result)
		}
		c.spread(c.square)
		c.square, c.spare = c.times(c.spare, c.square), c.square
	}
}

// spread sets full to the matrix that has the given rows.
func (c *orbitChain) spread(rows []float64) []float64 {
	c.left = rows
	c.workers.Run(c.n, c.unfold)
	return c.full
}

func (c *orbitChain) unfoldRow(orbit int) {
	to, from := c.full[orbit*c.n:][:c.n], c.left[int(c.row[orbit])*c.n:][:c.n]
	for i, j := range c.by[orbit] {
		to[j] = from[i]
	}
}

// times sets dst to the rows of left times full.
func (c *orbitChain) times(dst, left []float64) []float64 {
	c.dst, c.left = dst, left
	c.workers.Run((len(c.rows)+multiplied-1)/multiplied, c.multiply)
	return dst
}

// Rows that are multiplied together, with so many rows of full at a time, which stay in a
// core's cache.
const multiplied, depth = 8, 16

func (c *orbitChain) multiplyRows(piece int) {
	first, last := piece*multiplied, min((piece+1)*multiplied, len(c.rows))
	clear(c.dst[first*c.n : last*c.n])
	for k0 := 0; k0 < c.n; k0 += depth {
		for r := first; r < last; r++ {
			dst := c.dst[r*c.n:][:c.n]
			for k := k0; k < min(k0+depth, c.n); k++ {
				if x := c.left[r*c.n+k]; x != 0 {
					floats.AddScaled(dst, x, c.full[k*c.n:][:c.n])
				}
			}
		}
	}
}
