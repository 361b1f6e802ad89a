package ising

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
)

// TestWitnessOfStates holds witnesses fitted to a generator that is near its target
// against the logarithm of the ratio of the two laws, which is what the best witness
// is then, up to a constant. The generator's law is that of many samples.
func TestWitnessOfStates(t *testing.T) {
	for _, c := range []struct {
		name  string
		exact bool
	}{{"by all configurations", true}, {"in Walsh functions", false}} {
		t.Run(c.name, func(t *testing.T) {
			config := kfdConfig(t, "bernoulli", "none", c.exact)
			if !c.exact {
				config.Loss.Average, config.Loss.RaoBlackwell = "sampled", false
			}
			config.Training.Batch, config.Target.Beta = 2048, 0.1
			require.NoError(t, config.Validate())
			trainer := newTrainer(t, config, 2)
			s := trainer.System()
			states := make([]byte, 512*8)
			for i := range 512 {
				states[8*i], states[8*i+1] = byte(i), byte(i>>8)
			}
			witness, err := s.(engine.Witnesser).Witness(trainer.Params())
			require.NoError(t, err)
			require.NotNil(t, witness)
			f := make([]float64, 512)
			require.NoError(t, witness(f, "bits", states))

			const n = 1 << 17
			drawn := make([]byte, n*8)
			require.NoError(t, s.(engine.Sampler).Sample(drawn, "bits", trainer.Params(), 0, n, 0))
			p := make([]float64, 512)
			for i := range n {
				p[int(drawn[8*i])|int(drawn[8*i+1])<<8] += 1.0 / n
			}
			target, err := NewTarget(3, config.Target.J, config.Target.H, config.Target.Beta)
			require.NoError(t, err)
			pi, err := target.Probabilities()
			require.NoError(t, err)
			var sums [5]float64 // Σπx, Σπf, Σπx², Σπf², Σπxf
			for i := range f {
				x := math.Log(max(p[i], 0.1/n) / pi[i])
				for k, v := range [5]float64{x, f[i], x * x, f[i] * f[i], x * f[i]} {
					sums[k] += pi[i] * v
				}
			}
			correlation := (sums[4] - sums[0]*sums[1]) / math.Sqrt((sums[2]-sums[0]*sums[0])*(sums[3]-sums[1]*sums[1]))
			require.Greater(t, correlation, 0.9)
		})
	}
}

// TestNoWitness: what a loss of pairs of states sees is no function of one.
func TestNoWitness(t *testing.T) {
	trainer := newTrainer(t, mmdConfig(t), 1)
	witness, err := trainer.System().(engine.Witnesser).Witness(trainer.Params())
	require.NoError(t, err)
	require.Nil(t, witness)
}
