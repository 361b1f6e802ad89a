package ising

import (
	"math"
	"math/bits"

	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/shared"
)

// An orbits partitions all configurations of a lattice of few sites
// into those that a symmetry takes to each other.
type orbits struct {
	of    []int32 // orbit of each configuration
	first []int32 // configuration of each orbit
	size  []int   // of each orbit

	rows      shared.Cache[symmetry, *orbitRows]  // by a target's symmetry
	moves     shared.Cache[movesKey, *orbitMoves] // by a target but for its temperature
	penalties shared.Cache[float64, []float32]    // by the bandwidth
}

// What the runs of a batch ask for again: a run has one symmetry of its generator and
// one bandwidth, and lattices of which configurations are tabulated are small.
var orbitsOf shared.Cache[symmetry, *orbits]

// sharedOrbits are those of a symmetry, which nobody may change.
func sharedOrbits(y symmetry) *orbits { return orbitsOf.Get(y, y.orbits) }

// orbits lists the orbits in the order of their first members.
func (y symmetry) orbits() *orbits {
	n := y.side * y.side
	o := &orbits{of: make([]int32, 1<<n)}
	for s := range o.of {
		o.of[s] = -1
	}
	elements := y.elements()
	for s := range o.of {
		if o.of[s] >= 0 {
			continue
		}
		size := 0
		for _, e := range elements {
			if image := e.of(s); o.of[image] < 0 {
				o.of[image] = int32(len(o.size))
				size++
			}
		}
		o.first, o.size = append(o.first, int32(s)), append(o.size, size)
	}
	return o
}

// penalty returns the sums over the orbits of the inverse of the Gaussian Gram
// matrix of configurations, which is a Kronecker product of 2×2 matrices as that is.
// Nobody may change it.
func (o *orbits) penalty(bandwidth float64) []float32 {
	return o.penalties.Get(bandwidth, func() []float32 {
		sites := bits.Len(uint(len(o.of) - 1))
		rho := math.Exp(-2 / (bandwidth * bandwidth))
		table := make([]float64, sites+1)
		for h := range table {
			table[h] = math.Pow(-rho, float64(h)) / math.Pow(1-rho*rho, float64(sites))
		}
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
		return number.Narrow(m)
	})
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
