package ising

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/internal/pool"
)

// symmetryOf returns the group of a name: the flip of all spins, the lattice's space
// group, or both.
func symmetryOf(name string, side int) symmetry {
	return symmetry{flip: strings.HasPrefix(name, "z2"), lattice: strings.HasSuffix(name, "lattice"), side: side}
}

// TestSymmetryIsAGroup composes all pairs of elements of the 3×3 lattice, as
// permutations of its 512 configurations: they are closed, hold the identity
// and every inverse, and no two are equal.
func TestSymmetryIsAGroup(t *testing.T) {
	for _, name := range []string{"none", "z2", "lattice", "z2+lattice"} {
		all := symmetryOf(name, 3).elements()
		require.Len(t, all, map[string]int{"none": 1, "z2": 2, "lattice": 72, "z2+lattice": 144}[name])
		// The images of nine single spins and of none determine an element.
		type table [10]int
		tables, known := make([]table, len(all)), map[table]bool{}
		for i, e := range all {
			for k := range 9 {
				tables[i][k] = e.of(1 << k)
			}
			tables[i][9] = e.of(0)
			require.False(t, known[tables[i]], "%s: element %d appears twice", name, i)
			known[tables[i]] = true
		}
		identity := table{1, 2, 4, 8, 16, 32, 64, 128, 256, 0}
		require.Equal(t, identity, tables[0])
		for i, e := range all {
			inverses := 0
			for j := range tables {
				var product table
				for k, s := range tables[j] {
					product[k] = e.of(s)
				}
				require.True(t, known[product], "%s: %d·%d is not an element", name, i, j)
				if product == identity {
					inverses++
				}
			}
			require.Equal(t, 1, inverses)
		}
	}
}

// TestSymmetryKeepsTheEnergy applies every element to every configuration of
// the 3×3 lattice, and random ones on lattices of several words.
func TestSymmetryKeepsTheEnergy(t *testing.T) {
	for _, name := range []string{"none", "z2", "lattice", "z2+lattice"} {
		y := symmetryOf(name, 3)
		field := 0.375
		if y.flip {
			field = 0
		}
		model, err := bitspin.NewModel(3, -0.75, field)
		require.NoError(t, err)
		for _, e := range y.elements() {
			for s := range 512 {
				require.Equal(t, model.Energy([]uint64{uint64(s)}), model.Energy([]uint64{uint64(e.of(s))}))
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range []int{2, 4, 8, 9, 16} {
		model, err := bitspin.NewModel(l, 1, 0)
		require.NoError(t, err)
		all := symmetryOf("lattice", l).elements()
		require.Len(t, all, 8*l*l)
		for range 100 {
			s, image := make([]uint64, model.Words), make([]uint64, model.Words)
			for i, to := range all[r.IntN(len(all))].site {
				up := r.Uint64() & 1
				s[i>>6] |= up << (i & 63)
				image[to>>6] |= up << (to & 63)
			}
			require.Equal(t, model.BondSum(s), model.BondSum(image))
			require.Equal(t, model.Magnetisation(s), model.Magnetisation(image))
		}
	}
}

// symmetrised returns the law of a configuration drawn from p and taken through
// a uniform element, by its definition.
func symmetrised(y symmetry, p []float64) []float64 {
	all, q := y.elements(), make([]float64, len(p))
	for s, v := range p {
		for _, e := range all {
			q[e.of(s)] += v / float64(len(all))
		}
	}
	return q
}

// TestSymmetrisedLaw compares averages over orbits with the definition, and
// with Burnside's lemma: the mean number of fixed points counts the orbits.
func TestSymmetrisedLaw(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, name := range []string{"none", "z2", "lattice", "z2+lattice"} {
		y := symmetryOf(name, 3)
		o, all := y.orbits(), y.elements()
		fixed := 0
		for _, e := range all {
			for s := range 512 {
				if e.of(s) == s {
					fixed++
				}
			}
		}
		require.Equal(t, len(all)*len(o.size), fixed)

		p, law := make([]float64, 512), make([]float64, len(o.size))
		for s := range p {
			p[s] = r.Float64()
			law[o.of[s]] += p[s]
		}
		for s, want := range symmetrised(y, p) {
			require.InDelta(t, want, law[o.of[s]]/float64(o.size[o.of[s]]), 1e-12)
		}
	}
	require.Len(t, symmetryOf("lattice", 4).orbits().size, 805)
	require.Len(t, symmetryOf("z2+lattice", 4).orbits().size, 433)
}

// TestExactGradientUnderSymmetry differentiates the mean of a function over
// the symmetrised law of a bernoulli head by its logits.
func TestExactGradientUnderSymmetry(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	logits, g := make([]float32, 9), make([]float32, 512)
	h := make([]float64, 9)
	for i := range logits {
		logits[i] = float32(r.NormFloat64())
		h[i] = float64(logits[i])
	}
	for s := range g {
		g[s] = float32(r.NormFloat64())
	}
	for _, name := range []string{"none", "z2", "lattice", "z2+lattice"} {
		y := symmetryOf(name, 3)
		mean := func() (sum float64) {
			p := make([]float64, 512)
			for s := range p {
				p[s] = 1
				for i, x := range h {
					p[s] /= 1 + math.Exp(-2*float64(2*(s>>i&1)-1)*x)
				}
			}
			for s, q := range symmetrised(y, p) {
				sum += q * float64(g[s])
			}
			return sum
		}
		o := y.orbits()
		means, averaged := make([]float64, len(o.size)), make([]float32, 512)
		for s, v := range g {
			means[o.of[s]] += float64(v) / float64(o.size[o.of[s]])
		}
		for s := range averaged {
			averaged[s] = float32(means[o.of[s]])
		}
		grad := make([]float32, 9)
		productGradient(grad, averaged, logits, 1)
		for i := range h {
			keep := h[i]
			h[i] = keep + 1e-5
			up := mean()
			h[i] = keep - 1e-5
			down := mean()
			h[i] = keep
			require.InDelta(t, (up-down)/2e-5, grad[i], 1e-5, name)
		}
	}
}

// TestChainOfOrbits sums the transition matrix of all configurations of the
// 3×3 lattice over orbits: every member of an orbit leads to the same law.
func TestChainOfOrbits(t *testing.T) {
	if testing.Short() {
		t.Skip("no kernel takes part")
	}
	workers := pool.New(2)
	defer workers.Close()
	for _, name := range []string{"none", "z2", "lattice", "z2+lattice"} {
		for _, h := range []float64{0, 0.4} {
			y := symmetryOf(name, 3)
			if y.flip && h != 0 {
				continue // no symmetry of the target
			}
			target, err := NewTarget(3, 1, h, 0.3)
			require.NoError(t, err)
			for _, kind := range []string{"single", "mixture", "multi-spin"} {
				proposal, err := bitspin.ParseProposal(kind, 0.1)
				require.NoError(t, err)
				full, err := NewTransitionMatrix(target, proposal)
				require.NoError(t, err)
				o := y.orbits()
				c := newOrbitChain(o, target, proposal, workers)
				require.LessOrEqual(t, len(c.rows), 26, "orbits of the lattice's symmetry")
				c.set(0.5) // what is left of another temperature does not matter
				c.set(0.3)
				for _, steps := range []int{1, 2, 3, 6} {
					p, want := c.power(steps), full.Power(steps)
					for s, from := range o.of {
						sums := make([]float64, c.n)
						for to, p := range want.Row(s) {
							sums[o.of[to]] += p
						}
						worst := math.Abs(full.Row(s)[s] - c.stays(from))
						for i, x := range p[int(from)*c.n:][:c.n] {
							worst = max(worst, math.Abs(x-sums[i]))
						}
						require.LessOrEqual(t, worst, 1e-13, "%s, %s, %d steps from %d", name, kind, steps, s)
					}
				}
				require.Zero(t, testing.AllocsPerRun(3, func() { c.set(0.2); c.power(5) }))
			}
		}
	}
}

// BenchmarkAnneal is the price of another temperature where s′ is averaged out.
func BenchmarkAnneal(b *testing.B) {
	workers := pool.New(1)
	defer workers.Close()
	target, err := NewTarget(3, 1, 0, 0.2)
	require.NoError(b, err)
	for _, name := range []string{"none", "z2", "lattice", "z2+lattice"} {
		t := newTabulated(symmetryOf(name, 3).orbits(), target, bitspin.MultiSpin(), 2, paper().Loss.Witness, workers)
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				t.anneal(0.1 + 0.1*float64(i&1))
			}
		})
	}
}

// TestWitnessOfOrbits compares the witness with one feature per orbit to that
// with one per configuration, whose ridge and preconditioner are invariant: on
// an invariant law they are the same function.
func TestWitnessOfOrbits(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	workers := pool.New(1)
	defer workers.Close()
	target, err := NewTarget(3, 1, 0, 0.2)
	require.NoError(t, err)
	w := paper().Loss.Witness
	w.Ridge = 1e-3
	plain := symmetryOf("none", 3).orbits()
	for _, name := range []string{"z2", "lattice", "z2+lattice"} {
		o := symmetryOf(name, 3).orbits()
		law := make([]float64, len(o.size))
		var sum float64
		for i := range law {
			law[i] = r.Float64()
			sum += law[i] * float64(o.size[i])
		}
		p := make([]float32, 512)
		for s, orbit := range o.of {
			p[s] = float32(law[orbit] / sum)
		}
		build := func(o *orbits) functional {
			f := newTabulated(o, target, bitspin.MultiSpin(), 2, w, workers)
			f.anneal(target.Beta)
			return f
		}
		g := [2][]float32{make([]float32, 512), make([]float32, 512)}
		h := [2][]float32{make([]float32, 512), make([]float32, 512)}
		want, ok := build(plain).discrepancy([2][]float32{p, p}, g)
		require.True(t, ok)
		got, ok := build(o).discrepancy([2][]float32{p, p}, h)
		require.True(t, ok)
		require.InEpsilon(t, want, got, 1e-4)
		for s := range p {
			require.InDelta(t, g[0][s], h[0][s], 1e-3)
		}
	}
}
