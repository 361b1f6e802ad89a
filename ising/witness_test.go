package ising

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/diagnose"
	"github.com/revgen/revgen/internal/state"
)

// TestWitnessOfStates holds witnesses fitted to a generator that is near its target
// against the logarithm of the ratio of the two laws, which is what the best witness
// is then, up to a constant. The generator's law is that of many samples.
func TestWitnessOfStates(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a large batch")
	}
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
			witness, err := s.(engine.Witnesser).Witness(t.Context(), trainer.Params(), 0)
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

// TestWitnessTellsTheDivergence: ½Var(g) of a diagnosis, the noise of its fits taken off,
// is the divergence of generators stopped early from their target, by all configurations,
// to second order, and so is the mean of what batches of a training tell; and the training
// goes on as if nothing had been fitted. Of 3×3, and with -v the table of docs/trust.md, if
// REVGEN_TEST_CALIBRATION is set: these take minutes in plain Go.
func TestWitnessTellsTheDivergence(t *testing.T) {
	type stopped struct {
		l     int
		beta  float64
		steps int
	}
	generators := []stopped{{2, 0.2, 150}, {2, 0.2, 250}}
	if os.Getenv("REVGEN_TEST_CALIBRATION") != "" {
		generators = []stopped{{3, 0.2, 20}, {3, 0.2, 40}, {3, 0.2, 80}, {3, 0.2, 400}, {3, 0.4, 150}, {3, 0.4, 400}}
	}
	var table strings.Builder
	for _, c := range generators {
		config, err := Preset("quick")
		require.NoError(t, err)
		config.Target.L, config.Target.Beta, config.Training.Steps = c.l, c.beta, c.steps
		if c.l == 2 {
			config.Generator.Hidden, config.Training.Batch = []int{32}, 512
		}
		trainer := newTrainer(t, config, 2)
		for range c.steps {
			require.NoError(t, trainer.Step())
		}
		s := trainer.System()
		before := fmt.Sprint(state.Of(s))
		r, err := diagnose.Run(t.Context(), s, trainer.Params(), diagnose.Options{
			Samples: 1 << 14, First: diagnose.Fresh, Refine: 8, Chains: 16, Draws: 8, Witness: true,
		})
		require.NoError(t, err)
		require.NotNil(t, r.Witness)
		require.Equal(t, before, fmt.Sprint(state.Of(s)))

		var trained float64
		const batches = 64
		for i := range batches {
			step := uint32(1000 + i)
			s.Generate(trainer.Params(), step)
			s.Transition(step)
			s.Discrepancy(step)
			trained += s.(engine.Foreteller).WitnessDivergence() / batches
		}

		const n = 1 << 19
		states := 1 << (c.l * c.l)
		drawn, p := make([]byte, n*8), make([]float64, states)
		require.NoError(t, s.(engine.Sampler).Sample(drawn, "bits", trainer.Params(), 0, n, 0))
		for i := range n {
			p[int(drawn[8*i])|int(drawn[8*i+1])<<8] += 1.0 / n
		}
		target, err := NewTarget(c.l, config.Target.J, config.Target.H, config.Target.Beta)
		require.NoError(t, err)
		pi, err := target.Probabilities()
		require.NoError(t, err)
		kl := -float64(states-1) / (2 * n) // what so many samples add
		for i, v := range p {
			if v > 0 {
				kl += v * math.Log(v/pi[i])
			}
		}
		fmt.Fprintf(&table, "| %d×%[1]d, β = %g, %d steps | %.2g | %.2g | %.2g | %.2g |\n", c.l, c.beta, c.steps, kl, r.Witness.Divergence, r.Witness.Noise, trained)
		require.InDelta(t, kl, r.Witness.Divergence, 0.3*kl+2e-4, "%+v", c)
		require.InDelta(t, kl, trained, 0.3*kl+2e-4, "%+v", c)
	}
	t.Logf("| generator | KL(q‖π) | ½Var(g) | noise of a fit | of 64 batches |\n|---|--:|--:|--:|--:|\n%s", table.String())
}

// TestNoWitness: what a loss of pairs of states sees is no function of one.
func TestNoWitness(t *testing.T) {
	trainer := newTrainer(t, mmdConfig(t), 1)
	witness, err := trainer.System().(engine.Witnesser).Witness(t.Context(), trainer.Params(), 0)
	require.NoError(t, err)
	require.Nil(t, witness)
	require.True(t, math.IsNaN(trainer.System().(engine.Foreteller).WitnessDivergence()))
}
