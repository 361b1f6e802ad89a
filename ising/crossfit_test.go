package ising

import (
	"math"
	"testing"

	"github.com/revgen/revgen/internal/number"
	"github.com/stretchr/testify/require"
)

// TestEachHalfIsDrivenByTheOther gives one half of the batch the law of the
// target, whose witness vanishes, and the other half another law, which is driven by
// nothing then.
func TestEachHalfIsDrivenByTheOther(t *testing.T) {
	for right := range 2 {
		config := kfdConfig(t, "bernoulli", "z2", true)
		config.Target.Beta, config.Loss.Witness.Bandwidth = 0.3, 1
		require.NoError(t, config.Validate())
		s := newTrainer(t, config, 2).System().(*system)
		pi, err := Target{s.target.Model, 0.3}.Probabilities()
		require.NoError(t, err)
		o := s.enumerated()
		o.Anneal(1)
		copy(o.p[right], number.Narrow(pi))
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
		require.Greater(t, size[right], 100*size[1-right], "right half %d: %v", right, size)
	}
}
