package perceptron

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
)

// TestScoreIsThatOfTheDraw recomputes the gradient with respect to the logits from the
// values, the spins and central differences of ln p.
func TestScoreIsThatOfTheDraw(t *testing.T) {
	c := small(t, "mmd", "score")
	trainer, s := newTrainer(t, c, 2)
	loss, n, half := measure(trainer, s), c.Training.Batch, c.Training.Batch/2
	f := make([]float32, n)
	s.Discrepancy.(score).loss.LossGradient(lossGradient{make([]float32, len(s.DS.bySpin)), f}, s.S, s.Next)
	var mean, total float64
	for i, v := range f {
		total += float64(v)
		if i < half {
			mean += float64(v) / float64(half-1)
		}
	}
	values := s.DS.bySample
	require.InDelta(t, 2*loss, total/float64(n), 1e-6, "the mean of the values is twice the loss")
	require.InDelta(t, float64(f[3])-mean+float64(f[3])/float64(half-1), values[3], 1e-6)

	logits := slices.Clone(s.Logits())
	s.Backward(trainer.Params(), make([]float32, s.NumParams())) // leaves ∂L/∂h
	for r := range n {
		for d := range 9 {
			spin := 2*float64(s.S[r]>>d&1) - 1
			logP := func(h float64) float64 { return -math.Log1p(math.Exp(-2 * h * spin)) }
			h := float64(logits[r*9+d])
			want := (logP(h+1e-5) - logP(h-1e-5)) / 2e-5 * float64(values[r]) / float64(n)
			require.InDelta(t, want, s.DS.bySpin[r*9+d], 1e-4*(1e-6+math.Abs(float64(values[r])))/float64(n))
		}
	}
}

// TestWitnessIsTheDerivativeOfTheLoss: adding a copy of a pair to the batch
// changes N²L of the V-statistic by what its values say.
func TestWitnessIsTheDerivativeOfTheLoss(t *testing.T) {
	c := small(t, "mmd", "score")
	trainer, s := newTrainer(t, c, 1)
	loss, f := measure(trainer, s), make([]float32, c.Training.Batch)
	s.Discrepancy.(score).loss.LossGradient(lossGradient{make([]float32, len(s.DS.bySpin)), f}, s.S, s.Next)
	n := float64(len(f))
	for _, i := range []int{0, 5, 77} {
		naive := func(states, next []uint64) float64 {
			l, _ := mmd.HammingNaive(states, next, len(states), 9, c.Loss.Kernel, mmd.Surrogate, mmd.V)
			return l
		}
		more := naive(append(slices.Clone(s.S), s.S[i]), append(slices.Clone(s.Next), s.Next[i]))
		change := more*(n+1)*(n+1) - loss*n*n - naive(s.S[i:i+1], s.Next[i:i+1])
		require.InDelta(t, change/n, f[i], 1e-4)
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
		o := s.Discrepancy.(*differences).loss.(*discriminator)
		from, got := slices.Clone(o.from), make([]float32, len(s.DS.bySpin))
		for i, g := range s.DS.bySpin { // of half the difference of the two values
			got[i] = -2 * from[i] * g
		}

		_, other := newTrainer(t, c, 1)
		fresh := other.Discrepancy.(*differences).loss.(*discriminator).critic
		fresh.Evaluate(from, o.to)
		now := slices.Clone(fresh.Values())
		for d := range 9 {
			for r := range c.Training.Batch {
				from[r*9+d] = -from[r*9+d]
			}
			fresh.Evaluate(from, o.to)
			for r, f := range fresh.Values() {
				from[r*9+d] = -from[r*9+d]
				require.InDelta(t, f-now[r], float32(c.Training.Batch)*got[r*9+d], 1e-5)
			}
		}
	}
}

// TestStatesAreThoseOfWitnesses: what has no memory carries nothing.
func TestStatesAreThoseOfWitnesses(t *testing.T) {
	for kind, carries := range map[string]bool{"mmd": false, "discriminator": true} {
		for _, gradient := range []string{"difference", "score"} {
			_, s := newTrainer(t, small(t, kind, gradient), 1)
			require.Equal(t, carries, len(engine.Stateful(s).State()) > 0, "%s, %s", kind, gradient)
		}
	}
}
