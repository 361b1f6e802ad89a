package hybrid

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/npy"
	"github.com/revgen/revgen/internal/pool"
)

// small returns a preset cut down to run in milliseconds.
func small(t *testing.T, preset string) *Config {
	t.Helper()
	c, err := Preset(preset)
	require.NoError(t, err)
	c.Training.Batch, c.Training.Steps = 600, 4
	c.Generator.Hidden, c.Generator.Latent = []int{16, 16}, 5
	return c
}

func newTrainer(t *testing.T, c *Config, threads int) *engine.Trainer {
	t.Helper()
	workers := pool.New(threads)
	t.Cleanup(workers.Close)
	trainer, err := engine.NewTrainer(c, workers)
	require.NoError(t, err)
	return trainer
}

// testConfigs returns small configurations of every preset and estimator.
func testConfigs(t *testing.T) map[string]*Config {
	all := map[string]*Config{}
	for _, preset := range Presets {
		all[preset] = small(t, preset)
	}
	for _, method := range []string{"evolution", "consensus"} {
		c := small(t, "best")
		c.Loss.Kind, c.Training.ClipNorm = "mmd", 0
		c.Training.Method, c.Training.Evolution.Pairs, c.Training.Consensus.Particles = method, 2, 3
		all[method] = c
	}
	for _, preset := range []string{"paper", "best"} {
		c := small(t, preset)
		c.Loss.Witness.Features.Number = 20
		for _, objective := range losses {
			for _, gradient := range gradients {
				d := *c
				d.Loss.Kind, d.Loss.Gradient, d.Loss.Discriminator.Hidden = objective, gradient, []int{12}
				all[objective+", "+gradient+", "+c.Generator.Head] = &d
			}
		}
	}
	return all
}

func TestContract(t *testing.T) {
	for name, c := range testConfigs(t) {
		c.Evaluation.Samples = 1000
		t.Run(name, func(t *testing.T) { systemtest.Run(t, c) })
	}
}

// TestGeneratorDrawsFromSoftmax compares how often each choice is drawn with
// its probability, and takes the coordinate and mode that belong to it.
func TestGeneratorDrawsFromSoftmax(t *testing.T) {
	for _, preset := range []string{"paper", "best"} {
		c := small(t, preset)
		c.Training.Batch = 1 << 14
		c.Target.Mu = []float64{1, 4, 9, 16, 25} // so that choices and modes do not share a factor
		trainer := newTrainer(t, c, 2)
		s := trainer.System().(*system)
		params, g := trainer.Params(), s.generator
		for i := range params {
			params[i] *= 3 // probabilities far from uniform
		}
		s.Generate(params, 1)
		expected, variance, seen := make([]float64, g.choices), make([]float64, g.choices), make([]float64, g.choices)
		for i, choice := range s.batch.choice {
			out := s.batch.activations.Output()[i*g.net.Out():][:g.net.Out()]
			var total float64
			for _, h := range out[g.coordinates:] {
				total += math.Exp(float64(h))
			}
			for c, h := range out[g.coordinates:] {
				p := math.Exp(float64(h)) / total
				require.InDelta(t, p, s.batch.probabilities[i*g.choices+c], 1e-6)
				expected[c] += p
				variance[c] += p * (1 - p)
			}
			seen[choice]++
			require.EqualValues(t, int(choice)%5, s.batch.k[i])
			if g.branched {
				require.Equal(t, out[choice], s.batch.x[i])
			} else {
				require.Equal(t, out[0], s.batch.x[i])
			}
		}
		for c := range seen {
			require.InDelta(t, expected[c], seen[c], 6*math.Sqrt(variance[c]), "%s: choice %d", preset, c)
		}
	}
}

// TestDrawAtTheEdges selects by the bounds of cumulative probability.
func TestDrawAtTheEdges(t *testing.T) {
	for u, want := range map[float32]int{0: 1, 0.2: 1, 0.25: 2, 0.999: 2, 0x1p-24: 1, 1 - 0x1p-24: 2} {
		weights := []float32{0, 1, 3}
		require.Equal(t, want, draw(weights, u), "u=%v", u)
		require.Equal(t, []float32{0, 0.25, 0.75}, weights)
	}
}

// TestInitializeScalesCoordinates multiplies the coordinates' weights by the
// gain and leaves all others alone.
func TestInitializeScalesCoordinates(t *testing.T) {
	for _, preset := range []string{"paper", "best"} {
		c := small(t, preset)
		c.Generator.Gain = 1
		plain := newTrainer(t, c, 1)
		c = small(t, preset)
		c.Generator.Gain = 8
		scaled := newTrainer(t, c, 1)
		g := plain.System().(*system).generator
		last := g.net.Layers() - 1
		w := g.net.Weights(plain.Params(), last)
		for i := range w {
			if i%g.net.Out() < g.coordinates {
				w[i] *= 8
			}
		}
		require.Equal(t, plain.Params(), scaled.Params(), preset)
	}
}

// TestTraining runs a few steps of a small problem with each objective.
func TestTraining(t *testing.T) {
	for _, objective := range losses {
		t.Run(objective, func(t *testing.T) { testTraining(t, objective) })
	}
}

func testTraining(t *testing.T, objective string) {
	c := small(t, "best")
	c.Loss.Kind = objective
	c.Loss.Witness.Features = kfd.Features{Number: 20, Scale: 0.5, Range: 1}
	c.Target.Mu = []float64{0.5, 1}
	c.Training.Steps, c.Training.Optimizer.LearningRate = 300, 5e-3
	c.Generator.Gain = 5
	c.Loss.Kernel = mmd.Kernel{Bandwidths: []float64{1}}
	trainer := newTrainer(t, c, 2)
	require.NoError(t, trainer.Step())
	s := trainer.System().(*system)
	before, err := s.Evaluate(context.Background(), trainer.Params(), 20000)
	require.NoError(t, err)
	for trainer.Steps() < c.Training.Steps {
		require.NoError(t, trainer.Step())
	}
	after, err := s.Evaluate(context.Background(), trainer.Params(), 20000)
	require.NoError(t, err)
	for i := range after.Metrics {
		bound := before.Metrics[i].Error / 2
		if objective == "discriminator" && i == 0 {
			bound = 0.1 // which begins where the modes happen to balance
		}
		require.Less(t, after.Metrics[i].Error, bound, after.Metrics[i].Name)
	}
	rates := s.AcceptanceByMove()
	require.Len(t, rates, 3)
	for name, rate := range rates {
		require.Greater(t, rate, 0.2, name)
	}
	require.Contains(t, s.TensorName(0), "layer 1")
}

// TestFormats of the same samples say the same.
func TestFormats(t *testing.T) {
	trainer := newTrainer(t, small(t, "best"), 3)
	s := trainer.System().(*system)
	const n = 700
	states, x, plain := make([]byte, n*8), make([]byte, n*4), make([]byte, n*8)
	require.NoError(t, s.Sample(states, "states", trainer.Params(), 1000, n, 2))
	require.NoError(t, s.Sample(x, "x", trainer.Params(), 1000, n, 2))
	require.NoError(t, s.Sample(plain, "states", trainer.Params(), 1000, n, 0))
	require.NotEqual(t, states, plain, "refinement moves")
	for r := range n {
		require.Equal(t, states[r*8:r*8+4], x[r*4:r*4+4])
		require.Less(t, binary.LittleEndian.Uint32(states[r*8+4:]), uint32(3))
	}
	for _, f := range s.Formats() {
		size, err := npy.ItemSize(f.Descr)
		require.NoError(t, err)
		require.Equal(t, f.RowBytes, size)
	}
}

func TestSampleErrors(t *testing.T) {
	trainer := newTrainer(t, small(t, "quick"), 1)
	s := trainer.System().(*system)
	dst := make([]byte, 8)
	require.ErrorContains(t, s.Sample(dst, "states", trainer.Params(), 0, 1, -1), "refine: -1")
	require.ErrorContains(t, s.Sample(dst, "bits", trainer.Params(), 0, 1, 0), `format: "bits"`)
	require.ErrorContains(t, s.Sample(dst, "states", trainer.Params(), maxSamples, 1, 0), "not all among")
	require.ErrorContains(t, s.Sample(dst, "states", trainer.Params(), math.MaxUint64, 1, 0), "not all among")
}
