package ising

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/internal/alloctest"
)

// invariantConfig is a small configuration of the witness in invariants.
func invariantConfig(t *testing.T, l int, symmetry string) *Config {
	c := kfdConfig(t, "sign", symmetry, false)
	c.Target.L, c.Loss.Average, c.Loss.Witness.Features = l, "sampled", "invariant"
	require.NoError(t, c.Validate())
	return c
}

// randomConfiguration has more spins up than down.
func randomConfiguration(r *rand.Rand, n int) []uint64 {
	s := make([]uint64, bitspin.Words(n))
	for i := range n {
		if r.Float64() < 0.7 {
			s[i>>6] |= 1 << (i & 63)
		}
	}
	return s
}

// TestInvariantsAreWhatTheySay recomputes pairs, patterns and sums from single
// spins.
func TestInvariantsAreWhatTheySay(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for _, l := range []int{3, 4, 5, 8, 9, 16} {
		f := newInvariants(l, false)
		model, err := bitspin.NewModel(l, 1, 0)
		require.NoError(t, err)
		v, phi := f.newView(), make([]float32, f.count)
		for range 5 {
			s := randomConfiguration(r, l*l)
			spin := func(row, column int) int {
				i := (row+2*l)%l*l + (column+2*l)%l
				return int(s[i>>6]>>(i&63)&1)*2 - 1
			}
			f.look(v, s)
			f.evaluate(phi, v)
			require.Equal(t, model.BondSum(s), 2*f.n-4*v.bonds)
			require.Equal(t, model.Magnetisation(s), 2*v.up-f.n)

			root := math.Sqrt(float64(f.n))
			pairs, size := make([]float64, f.pairs), make([]float64, f.pairs)
			patterns := make([]float64, f.patterns)
			for down := range l {
				for right := range l {
					k := f.class[down*l+right]
					if k < 0 {
						continue
					}
					size[k]++
					for i := range f.n {
						pairs[k] += float64(spin(i/l, i%l)*spin(i/l+down, i%l+right)) / root
					}
				}
			}
			for i := range f.n {
				p := 0
				for place := range 9 {
					p |= (spin(i/l+place/3-1, i%l+place%3-1) + 1) / 2 << place
				}
				patterns[f.pattern[p]] += 1 / root
			}
			for k := range pairs {
				require.InDelta(t, pairs[k]/size[k], phi[k], 1e-4)
			}
			for k := range patterns {
				require.InDelta(t, patterns[k], phi[f.pairs+k], 1e-4)
			}
			// A hat function interpolates its argument, and all sum to 1.
			x, y := float64(model.BondSum(s))/float64(2*f.n), float64(model.Magnetisation(s))/float64(f.n)
			rest := phi[f.pairs+f.patterns:]
			interpolated := func(hats []float32) (sum, x float64) {
				for i, h := range hats {
					sum += float64(h)
					x += float64(h) * (2*float64(i)/float64(len(hats)-1) - 1)
				}
				return sum, x
			}
			for i, want := range []float64{x, y} {
				sum, got := interpolated([][]float32{rest[:energies], rest[energies:][:magnetisations]}[i])
				require.InDelta(t, 1, sum, 1e-6)
				require.InDelta(t, want, got, 1e-6)
			}
			powers := []float64{x * x, x * y * y, y * y * y * y, x * x * x, x * x * y * y, y, x * y, y * y * y, x * x * y}
			require.Len(t, rest, energies+magnetisations+len(powers))
			for i, want := range powers {
				require.InDelta(t, root*want, rest[energies+magnetisations+i], 1e-5)
			}
		}
	}
	require.Equal(t, 102, newInvariants(4, false).patterns)
	require.Equal(t, 51, newInvariants(4, true).patterns)
}

// TestInvariantsAreInvariant takes configurations through random elements.
func TestInvariantsAreInvariant(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, name := range []string{"lattice", "z2+lattice"} {
		for _, l := range []int{3, 6, 16} {
			y := newSymmetry(name, l)
			f, m := newInvariants(l, y.flip), newMover(y)
			v := f.newView()
			want, got := make([]float32, f.count), make([]float32, f.count)
			for range 20 {
				s := randomConfiguration(r, l*l)
				f.look(v, s)
				f.evaluate(want, v)
				m.apply(s, y.element(r.IntN(y.order())))
				f.look(v, s)
				f.evaluate(got, v)
				require.InDeltaSlice(t, want, got, 1e-4)
			}
		}
	}
}

// TestInvariantGradientIsTheDifferenceOfTheWitness flips single spins, and
// checks the loss against the mean change of the witness.
func TestInvariantGradientIsTheDifferenceOfTheWitness(t *testing.T) {
	for _, symmetry := range []string{"lattice", "z2+lattice"} {
		for _, l := range []int{4, 9} {
			c := invariantConfig(t, l, symmetry)
			c.Training.Batch = 301
			trainer := newTrainer(t, c, 2)
			s := trainer.System().(*system)
			o := s.objective.(*invariantObjective)
			s.Generate(trainer.Params(), 1)
			s.Transition(1)
			loss := s.Discrepancy(1)
			b := s.Batch()
			b.Lanes.Forward(func(_, lo, hi int, _ []float32) { o.Gradient(lo, hi) })

			f, n := o.features, s.model.N
			v, phi := f.newView(), make([]float32, f.count)
			witness := func(half int, spins []uint64) (g float64) {
				f.look(v, spins)
				f.evaluate(phi, v)
				for k, c := range o.fit.Coefficients(half) {
					g += float64(c) * float64(phi[k])
				}
				return g
			}
			var want [2]float64
			for i := range c.Training.Batch {
				half := 0
				if 2*i >= c.Training.Batch {
					half = 1
				}
				spins := append([]uint64(nil), b.States[i*s.model.Words:][:s.model.Words]...)
				base := witness(half, spins)
				want[half] += base - witness(half, b.Next[i*s.model.Words:][:s.model.Words])
				if i%7 != 0 {
					continue
				}
				for d := range n {
					spins[d>>6] ^= 1 << (d & 63)
					change := witness(half, spins) - base
					spins[d>>6] ^= 1 << (d & 63)
					sign := float64(2*(spins[d>>6]>>(d&63)&1)) - 1
					ds := -0.5 * sign * change / float64(b.Rows)
					require.InDelta(t, ds, float64(b.Grad[i*n+d]), 2e-5*(1+math.Abs(ds)))
				}
			}
			require.InEpsilon(t, (want[0]/151+want[1]/150)/4, loss, 1e-3)
			require.Zero(t, alloctest.PerRun(5, func() {
				if err := trainer.Step(); err != nil {
					panic(err)
				}
			}))
		}
	}
}

func TestInvariantStepsAreReproducible(t *testing.T) {
	c := invariantConfig(t, 8, "z2+lattice")
	a, b := newTrainer(t, c, 1), newTrainer(t, c, 3)
	for range 3 {
		require.NoError(t, a.Step())
		require.NoError(t, b.Step())
	}
	require.Equal(t, a.Params(), b.Params())
}
