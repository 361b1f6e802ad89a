package perceptron

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/stat"
)

var rngStep = rng.Stream(3, rng.TrainSymmetry, 1)

// TestScoreIsThatOfTheDraw recomputes the gradient by the logits from the
// values, the spins before the symmetry and central differences of ln p.
func TestScoreIsThatOfTheDraw(t *testing.T) {
	for _, symmetry := range []string{"none", "z2"} {
		c := small(t, "mmd", "score")
		c.Generator.Symmetry = symmetry
		trainer, s := newTrainer(t, c, 2)
		loss, b := measure(trainer, s), s.batch
		o := s.objective.(*score)

		n, half := b.Rows, b.Rows/2
		f := make([]float32, n)
		o.Contributions(f)
		var mean, total float64
		for i, v := range f {
			total += float64(v)
			if i < half {
				mean += float64(v) / float64(half-1)
			}
		}
		require.InDelta(t, 2*loss, total/float64(n), 1e-6, "the mean of the values is twice the loss")
		require.InDelta(t, float64(f[3])-mean+float64(f[3])/float64(half-1), o.values[3], 1e-6)

		logits := slices.Clone(b.Logits)
		gradients(b, o.LogitGradient)
		for r := range n {
			for d := range 9 {
				spin := 2*float64(b.States[r]>>d&1) - 1
				if m := s.heads[r/128].flipper; m != nil && m.flipped[r%128] {
					spin = -spin
				}
				logP := func(h float64) float64 { return -math.Log1p(math.Exp(-2 * h * spin)) }
				h := float64(logits[r*9+d])
				want := (logP(h+1e-5) - logP(h-1e-5)) / 2e-5 * float64(o.values[r]) / float64(n)
				require.InDelta(t, want, b.Grad[r*9+d], 1e-4*(1e-6+math.Abs(float64(o.values[r])))/float64(n))
			}
		}
	}
}

// TestWitnessIsTheDerivativeOfTheLoss: adding a copy of a pair to the batch
// changes N²L of the V-statistic by what its values say.
func TestWitnessIsTheDerivativeOfTheLoss(t *testing.T) {
	c := small(t, "mmd", "score")
	trainer, s := newTrainer(t, c, 1)
	loss, b := measure(trainer, s), s.batch
	f := make([]float32, b.Rows)
	s.objective.(Valued).Contributions(f)
	n := float64(b.Rows)
	for _, i := range []int{0, 5, 77} {
		naive := func(states, next []uint64) float64 {
			l, _ := mmd.HammingNaive(states, next, len(states), 9, c.Loss.Kernel, mmd.Surrogate, mmd.V)
			return l
		}
		more := naive(append(slices.Clone(b.States), b.States[i]), append(slices.Clone(b.Next), b.Next[i]))
		change := more*(n+1)*(n+1) - loss*n*n - naive(b.States[i:i+1], b.Next[i:i+1])
		require.InDelta(t, change/n, f[i], 1e-4)
	}
}

// TestContributionsDifferAsTheWitnessDoes: where a gradient flips spins, it is
// half the differences of the contributions.
func TestContributionsDifferAsTheWitnessDoes(t *testing.T) {
	for name, target := range map[string]Target{"3×3": torus(t, 3, 0.2), "a graph": glass(t)} {
		c := small(t, "kfd", "difference")
		c.target = target
		trainer, s := newTrainer(t, c, 1)
		measure(trainer, s)
		o, b := s.objective.(*walsh), s.batch
		before, after := make([]float32, b.Rows), make([]float32, b.Rows)
		o.Contributions(before)
		for _, i := range []int{0, b.Rows - 1} {
			c := make([]float64, o.r)
			for a, x := range o.Solutions[stat.Half(i, b.Rows)] {
				c[a] = float64(x)
			}
			value := make([]float64, 1)
			o.Witness(value, c, b.States[i*b.Words:][:b.Words])
			require.InDelta(t, value[0], before[i], 1e-4*(1+math.Abs(value[0])), name)
		}
		for d := 0; d < b.Spins; d += 4 {
			states, bit := slices.Clone(b.States), uint64(1)<<(d%64)
			for i := range b.Rows {
				b.States[i*b.Words+d/64] ^= bit
			}
			b.Workers.Run(b.Lanes.Blocks(), o.fillRows)
			o.Contributions(after)
			copy(b.States, states)
			b.Workers.Run(b.Lanes.Blocks(), o.fillRows)
			gradients(b, o.Gradient)
			for i := range b.Rows {
				want := float64(before[i]-after[i]) / 2 / float64(b.Rows)
				if states[i*b.Words+d/64]&bit == 0 {
					want = -want
				}
				size := 1e-4 + math.Abs(want) + 1e-3*math.Abs(float64(before[i]))/float64(b.Rows)
				require.InDelta(t, want, b.Grad[i*b.Spins+d], 2e-4*size, "%s, spin %d", name, d)
			}
		}
	}
}

// TestFeaturesOfAGraph: spins, edges and next neighbours come first, no set comes
// twice, and it is said where the rank ends them.
func TestFeaturesOfAGraph(t *testing.T) {
	of := glass(t).(spins.Boltzmann) // a ring of 70
	for _, c := range []struct {
		rank, fixed, products int
		even                  bool
		says                  string
	}{
		{100, 100, 100, false, "the rank ends before all edges"},
		{250, 210, 250, false, "210 of spins, edges and next neighbours, 40 drawn, and 72 of local fields and the energy"},
		{160, 140, 160, true, "140 of spins, edges and next neighbours, 20 drawn"},
	} {
		f := newCoupled(of, c.rank, c.even, 1)
		require.Equal(t, c.fixed, f.fixed)
		require.Len(t, f.masks, 2*c.products)
		require.Contains(t, f.String(), c.says)
		seen := map[[2]uint64]bool{}
		for k := 0; k < len(f.masks); k += 2 {
			mask := [2]uint64(f.masks[k:])
			size := bits.OnesCount64(mask[0]) + bits.OnesCount64(mask[1])
			require.False(t, seen[mask])
			require.False(t, size == 0 || c.even && size%2 == 1)
			require.Equal(t, k/2 < c.fixed, size < 3 || size == 2)
			seen[mask] = true
		}
	}
}

// TestBaselinesAreOfTheWitnesssHalf: of an odd batch the first half has one
// sample more, for the witness, the baseline and the values alike.
func TestBaselinesAreOfTheWitnesssHalf(t *testing.T) {
	c := small(t, "kfd", "score")
	c.Training.Batch = 601
	trainer, s := newTrainer(t, c, 1)
	measure(trainer, s)
	o := s.objective.(*score)
	w := o.Valued.(*walsh)
	f := make([]float32, 601)
	o.Contributions(f)
	for half, rows := range [2][2]int{{0, 301}, {301, 601}} {
		var sum float64
		for _, v := range f[rows[0]:rows[1]] {
			sum += float64(v)
		}
		n := float64(rows[1] - rows[0])
		for i := rows[0]; i < rows[1]; i++ {
			v := float64(f[i])
			require.InDelta(t, v-(sum-v)/(n-1), o.values[i], 1e-5, "half %d, sample %d", half, i)
			var g float64
			for a, chi := range w.chi[i*len(w.masks):][:len(w.masks)] {
				g += float64(w.Solutions[half][a]) * float64(chi)
			}
			require.InDelta(t, g, v, 1e-5)
		}
	}
}

// TestWalshGradientIsTheDifferenceOfTheWitness recomputes the witness from its
// definition and flips single spins.
func TestWalshGradientIsTheDifferenceOfTheWitness(t *testing.T) {
	for _, symmetry := range []string{"none", "z2"} {
		c := small(t, "kfd", "difference")
		c.target, c.Generator.Head, c.Generator.Symmetry, c.Loss.Witness.Rank, c.Training.Batch = torus(t, 4, 0.2), "sign", symmetry, 150, 601
		trainer, s := newTrainer(t, c, 2)
		loss, b := measure(trainer, s), s.batch
		o := s.objective.(*walsh)
		require.Len(t, o.masks, 150)
		gradients(b, o.Gradient)

		witness := func(half int, config uint64) (g float64) {
			for a, m := range o.masks {
				g += float64(o.Solutions[half][a]) * (1 - 2*float64(bits.OnesCount64(m&^config)%2))
			}
			return g
		}
		var want float64
		n := c.Training.Batch
		for i, config := range b.States {
			half := 2 * i / n
			want += (witness(half, config) - witness(half, b.Next[i])) / []float64{602, 600}[half]
			for d := range 16 {
				change := witness(half, config^1<<d) - witness(half, config)
				sign := float64(2*(config>>d&1)) - 1
				ds := -0.5 * sign * change / float64(n)
				require.InDelta(t, ds, float64(b.Grad[i*16+d]), 1e-5*(1+math.Abs(ds)))
			}
		}
		require.InDelta(t, want, loss, 1e-4*(1+math.Abs(want)))
	}
}

// TestEachHalfOfMovesIsDrivenByTheOther lets one half of a batch stay where it
// is, whose witness vanishes then.
func TestEachHalfOfMovesIsDrivenByTheOther(t *testing.T) {
	for still := range 2 {
		c := small(t, "kfd", "difference")
		c.Loss.Witness.Rank, c.Training.Batch = 45, 601
		trainer, s := newTrainer(t, c, 2)
		s.Generate(trainer.Params(), 1)
		s.Transition(1)
		half := [2][2]int{{0, 301}, {301, 601}}[still]
		copy(s.batch.Next[half[0]:half[1]], s.batch.States[half[0]:half[1]])
		s.Discrepancy(1)
		coefficients := s.objective.(*walsh).Solutions
		zero := make([]float32, len(coefficients[0]))
		require.NotEqual(t, zero, coefficients[still], "half %d still", still)
		require.Equal(t, zero, coefficients[1-still], "half %d still", still)
	}
}

// TestWalshMasksFillDegrees wants whole degrees first, and no set twice.
func TestWalshMasksFillDegrees(t *testing.T) {
	for _, even := range []bool{false, true} {
		masks := walshMasks(9, 200, 2, even, 1)
		require.Len(t, masks, 200)
		seen, size := map[uint64]bool{}, map[int]int{}
		for _, m := range masks {
			require.False(t, seen[m])
			seen[m] = true
			size[bits.OnesCount64(m)]++
		}
		require.Equal(t, 36, size[2])
		if even {
			require.Zero(t, size[1]+size[3])
			require.Equal(t, 126, size[4])
		} else {
			require.Equal(t, 9, size[1])
			require.Equal(t, 84, size[3])
		}
	}
}

// TestDiscriminatorGradient recomputes what each gradient makes of the
// discriminator's values, which package critic tests.
func TestDiscriminatorGradient(t *testing.T) {
	for _, form := range []string{"pair", "difference"} {
		c := small(t, "discriminator", "difference")
		c.Loss.Discriminator.Form = form
		trainer, s := newTrainer(t, c, 2)
		measure(trainer, s)
		o := s.objective.(*discriminator)
		got, from := slices.Clone(s.batch.Grad), slices.Clone(o.from)

		_, other := newTrainer(t, c, 1)
		fresh := other.objective.(*discriminator).critic
		fresh.Evaluate(from, o.to)
		now := slices.Clone(fresh.Values())
		for d := range 9 {
			for r := range c.Training.Batch {
				from[r*9+d] = -from[r*9+d]
			}
			fresh.Evaluate(from, o.to)
			for r, f := range fresh.Values() {
				from[r*9+d] = -from[r*9+d]
				require.InDelta(t, f-now[r], got[r*9+d], 1e-5)
			}
		}
	}
}

// TestStatesAreThoseOfWitnesses: what has no memory carries nothing.
func TestStatesAreThoseOfWitnesses(t *testing.T) {
	for kind, carries := range map[string]bool{"mmd": false, "stationarity": false, "kfd": true, "discriminator": true} {
		for _, gradient := range []string{"difference", "score"} {
			_, s := newTrainer(t, small(t, kind, gradient), 1)
			require.Equal(t, carries, len(engine.Stateful(s).State()) > 0, "%s, %s", kind, gradient)
		}
	}
}
