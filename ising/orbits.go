package ising

import (
	"math"
	"math/bits"

	"github.com/revgen/revgen/bitspin"
)

// An orbits partitions all configurations of a lattice of at most 4×4 sites
// into those that a symmetry takes to each other.
type orbits struct {
	of    []int32 // orbit of each configuration
	first []int32 // configuration of each orbit
	size  []int   // of each orbit
}

// orbits lists the orbits in the order of their first members.
func (y symmetry) orbits() *orbits {
	n := y.side * y.side
	o := &orbits{of: make([]int32, 1<<n)}
	for s := range o.of {
		o.of[s] = -1
	}
	m, order := newMover(y), y.order()
	image := make([]uint64, 1)
	for s := range o.of {
		if o.of[s] >= 0 {
			continue
		}
		size := 0
		for i := range order {
			image[0] = uint64(s)
			m.apply(image, y.element(i))
			if o.of[image[0]] < 0 {
				o.of[image[0]] = int32(len(o.size))
				size++
			}
		}
		o.first, o.size = append(o.first, int32(s)), append(o.size, size)
	}
	return o
}

// transitionMatrix returns the probabilities with which a Metropolis step leads
// from any configuration of an orbit into another orbit, and those that it
// rejects. The symmetry leaves the target and the proposals alone, so that all
// members of an orbit have the same.
func (o *orbits) transitionMatrix(t Target, proposal bitspin.Proposal) (m *TransitionMatrix, stay []float64) {
	states := len(o.of)
	energy, q := make([]float64, states), make([]float64, states)
	for s := range states {
		word := []uint64{uint64(s)}
		energy[s], q[s] = t.Energy(word), proposal.Probability(t.N, word)
	}
	m, stay = newMatrix(len(o.size)), make([]float64, len(o.size))
	rejected := make([]float64, states)
	for orbit, s := range o.first {
		row := m.Row(orbit)
		clear(rejected)
		for mask, proposed := range q {
			if proposed == 0 {
				continue
			}
			to := int(s) ^ mask
			x := -t.Beta * (energy[to] - energy[s])
			if x >= 0 {
				row[o.of[to]] += proposed
				continue
			}
			row[o.of[to]] += proposed * math.Exp(x)
			rejected[mask] = -proposed * math.Expm1(x)
		}
		stay[orbit] = compensatedSum(rejected)
		row[orbit] += stay[orbit]
	}
	return m, stay
}

// hammingSums returns the matrix whose entry (a, b) is the sum of table[|s ⊕ t|]
// over the configurations s of orbit a and t of orbit b.
func (o *orbits) hammingSums(table []float64) []float64 {
	n := len(o.size)
	m := make([]float64, n*n)
	for a, s := range o.first {
		row := m[a*n:][:n]
		for t, b := range o.of {
			row[b] += table[bits.OnesCount(uint(int(s)^t))]
		}
		for b := range row {
			row[b] *= float64(o.size[a])
		}
	}
	return m
}

// average replaces a function of configurations by its mean over each orbit.
// It needs scratch of one number for each orbit.
func (o *orbits) average(f []float32, scratch []float64) {
	clear(scratch)
	for s, v := range f {
		scratch[o.of[s]] += float64(v)
	}
	for i, size := range o.size {
		scratch[i] /= float64(size)
	}
	for s := range f {
		f[s] = float32(scratch[o.of[s]])
	}
}
