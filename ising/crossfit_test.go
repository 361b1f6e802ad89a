package ising

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEachHalfIsDrivenByTheOther gives one half of the batch the law of the
// target, whose witness vanishes, and the other half another law. Cross-fitted,
// the half with the other law is driven by nothing; without, the one with the
// target's.
func TestEachHalfIsDrivenByTheOther(t *testing.T) {
	for _, c := range []struct {
		l         int
		bandwidth float64
	}{{3, 1}, {4, 0}} { // by a table, and by the graph of moves
		for _, ownHalf := range []bool{false, true} {
			for right := range 2 {
				config := kfdConfig(t, "bernoulli", "z2", true)
				config.Target.L, config.Target.Beta, config.Loss.Witness.OwnHalf = c.l, 0.3, ownHalf
				config.Loss.Witness.Bandwidth = c.bandwidth
				if c.l == 4 {
					config.Transition.Proposal, config.Transition.Steps = "single", 1
				}
				require.NoError(t, config.Validate())
				s := newTrainer(t, config, 2).System().(*system)
				pi, err := Target{s.model, 0.3}.Probabilities()
				require.NoError(t, err)
				o := s.enumerated()
				copy(o.p[right], narrow(pi))
				for i := range o.p[1-right] {
					o.p[1-right][i] = 1 / float32(len(pi))
				}
				_, ok := o.f.discrepancy(o.p, o.g)
				require.True(t, ok)
				var size [2]float64
				for half, g := range o.g {
					for _, v := range g {
						size[half] = max(size[half], math.Abs(float64(v)))
					}
				}
				driven, still := right, 1-right
				if ownHalf {
					driven, still = still, driven
				}
				require.Greater(t, size[driven], 100*size[still], "L = %d, own half %v, right half %d: %v", c.l, ownHalf, right, size)
			}
		}
	}
}

// TestEachHalfOfMovesIsDrivenByTheOther lets one half of a batch stay where it
// is, whose witness vanishes then, for invariants of sampled moves.
func TestEachHalfOfMovesIsDrivenByTheOther(t *testing.T) {
	for _, ownHalf := range []bool{false, true} {
		for still := range 2 {
			c := kfdConfig(t, "bernoulli", "z2+lattice", false)
			c.Loss.Average, c.Loss.Witness.OwnHalf, c.Training.Batch = "sampled", ownHalf, 601
			c.Loss.Witness.Features = "invariant"
			require.NoError(t, c.Validate())
			trainer := newTrainer(t, c, 2)
			s := trainer.System().(*system)
			s.Generate(trainer.Params(), 1)
			s.Transition(1)
			half := [2][2]int{{0, 301}, {301, 601}}[still]
			copy(s.Batch().Next[half[0]:half[1]], s.Batch().States[half[0]:half[1]])
			s.Discrepancy(1)
			o := s.objective.(*invariantObjective)
			driven, not := o.fit.Coefficients(0), o.fit.Coefficients(1)
			if ownHalf == (still == 0) {
				driven, not = not, driven
			}
			zero := make([]float32, len(not))
			require.NotEqual(t, zero, driven, "own half %v, half %d still", ownHalf, still)
			require.Equal(t, zero, not, "own half %v, half %d still", ownHalf, still)
		}
	}
}
