package perceptron

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/conf"
)

// coupled are the features of a least-squares witness of more than 64 spins, chosen by
// their graph: the products of
//
//   - single spins, unless the law is even;
//   - the two spins of an edge, and those of two edges that meet, next neighbours;
//   - three or four spins on a random walk, Walsh functions that are drawn,
//
// as far as the rank goes, in this order; and beside them
//
//   - s_i tanh βf_i with the local field f_i, the average of the spin where its
//     neighbours are as they are, of as many spins as there are, and ε² and ε³ of the
//     energy ε in units of its deviation at β = 0.
type coupled struct {
	spins.Boltzmann
	masks []uint64 // of the products, by words
	fixed int      // products before those that are drawn
	all   int      // of the fixed kinds, whether they fit or not
	unit  float64  // of energies
}

func newCoupled(t spins.Boltzmann, rank int, even bool, seed uint64) *coupled {
	f := &coupled{Boltzmann: t}
	words := t.Words()
	seen := map[string]bool{}
	key := make([]byte, 0, 16)
	add := func(fixed bool, set ...int) {
		mask := make([]uint64, words)
		for _, i := range set {
			mask[i/64] ^= 1 << (i % 64)
		}
		key = key[:0]
		size := 0
		for i, w := range mask {
			size += bits.OnesCount64(w)
			for ; w != 0; w &= w - 1 {
				key = fmt.Append(key, 64*i+bits.TrailingZeros64(w), " ")
			}
		}
		if size == 0 || even && size%2 == 1 || seen[string(key)] {
			return
		}
		seen[string(key)] = true
		if fixed {
			f.all++
		}
		if len(f.masks) < rank*words {
			f.masks = append(f.masks, mask...)
			if fixed {
				f.fixed++
			}
		}
	}
	for i := range t.N() {
		add(true, i)
	}
	for _, e := range t.Edges() {
		add(true, e.I, e.J)
		f.unit += e.Coupling * e.Coupling
	}
	for i := range t.N() {
		near, _ := t.Neighbours(i)
		for a, j := range near {
			for _, k := range near[:a] {
				if f.fixed < f.all {
					break // the rank is full; what does not fit need not be listed
				}
				add(true, int(j), int(k))
			}
		}
		f.unit += t.Field(i) * t.Field(i)
	}
	f.unit = math.Sqrt(max(f.unit, math.SmallestNonzeroFloat64))
	r := rand.New(rand.NewPCG(seed, uint64(rng.Features)))
	for tries := 0; len(f.masks) < rank*words && tries < 20*rank; tries++ {
		walk := []int{r.IntN(t.N())}
		for len(walk) < 3+tries%2 {
			near, _ := t.Neighbours(walk[r.IntN(len(walk))])
			if len(near) == 0 {
				break
			}
			walk = append(walk, int(near[r.IntN(len(near))]))
		}
		add(false, walk...)
	}
	return f
}

// Features says of which functions the least-squares witness of a graph consists, and
// what they cost, nothing if there is none or at most 64 spins.
func Features(c *Config, t spins.Boltzmann) string {
	c = conf.Chosen(c)
	if c.Loss.Kind != "kfd" || t.N() <= 64 {
		return ""
	}
	f := newCoupled(t, c.Loss.Witness.Rank, c.Generator.Symmetry == "z2", c.Training.Seed)
	r := float64(len(f.masks)/f.Words() + f.extra())
	return fmt.Sprintf("rank %.0f, %v; %.2g operations a step, %.2g more where it is fitted anew", r, f,
		2*r*float64(c.Training.Batch)*float64(t.N()+2), r*r*(float64(c.Training.Batch)+r/3))
}

// String says what there is, and where it stops.
func (f *coupled) String() string {
	n, products := f.N(), len(f.masks)/f.Words()
	s := fmt.Sprintf("%d of spins, edges and next neighbours, %d drawn, and %d of local fields and the energy", f.fixed, products-f.fixed, n+2)
	if f.fixed < f.all {
		s += "; the rank ends before all edges and next neighbours are there"
	}
	return s
}

// extra is the number of features that are no products.
func (f *coupled) extra() int { return f.N() + 2 }

// fields stores the local fields of a configuration and returns its energy.
func (f *coupled) fields(dst []float64, config []uint64) (energy float64) {
	for i := range dst {
		dst[i] = f.LocalField(config, i)
	}
	return f.Energy(config) - f.Offset()
}

// values stores those of the features that are no products.
func (f *coupled) values(dst []float32, config []uint64, fields []float64) {
	n := f.N()
	e := f.fields(fields, config) / f.unit
	for i, x := range fields {
		dst[i] = float32(spins.Spin(config, i) * math.Tanh(f.Beta*x))
	}
	dst[n], dst[n+1] = float32(e*e), float32(e*e*e)
}

// changes adds to dst half the fall of Σ c φ over these features when each spin is
// flipped.
func (f *coupled) changes(dst, c []float32, config []uint64, fields []float64) {
	n := f.N()
	energy := f.fields(fields, config)
	e := energy / f.unit
	for d := range dst {
		s := spins.Spin(config, d)
		fall := 2 * float64(c[d]) * s * math.Tanh(f.Beta*fields[d])
		near, couplings := f.Neighbours(d)
		for k, j := range near {
			at := fields[j]
			fall += float64(c[j]) * spins.Spin(config, int(j)) * (math.Tanh(f.Beta*at) - math.Tanh(f.Beta*(at-2*couplings[k]*s)))
		}
		to := (energy + 2*s*fields[d]) / f.unit
		fall += float64(c[n])*(e*e-to*to) + float64(c[n+1])*(e*e*e-to*to*to)
		dst[d] += float32(fall / 2)
	}
}
