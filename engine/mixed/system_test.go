package mixed

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/npy"
)

// testConfigs are small training runs of every generator, loss and method.
func testConfigs() map[string]*testConfig {
	all := map[string]*testConfig{}
	for _, d := range configDims {
		name := func(what string) string { return fmt.Sprintf("%s in %d", what, d) }
		all[name("pairs")] = small(paperConfig(), threeTwins(d))
		for _, method := range []string{"evolution", "consensus"} {
			c := small(paperConfig(), threeTwins(d))
			c.Loss.Statistic, c.Training.ClipNorm = mmd.U, 0
			c.Training.Method, c.Training.Evolution.Pairs, c.Training.Consensus.Particles = method, 2, 3
			c.Training.Consensus.Spread = 0.01
			all[name(method)] = c
		}
		for _, partners := range []float64{0, 0.5, 1} {
			c := small(bestConfig(), threeTwins(d))
			c.Loss.Partners, c.Generator.Bent = partners, d > 1
			c.Transition.Annealing = engine.Annealing{Anneal: 0.5, AnnealFrom: 0.3}
			all[name(fmt.Sprintf("balance, partners %v", partners))] = c
		}
	}
	all["unplaced"] = small(bestConfig(), unplaced{threeTwins(1)})
	return all
}

var configDims = []int{1, 3}

func TestContract(t *testing.T) {
	for name, c := range testConfigs() {
		t.Run(name, func(t *testing.T) { systemtest.Run(t, c) })
	}
}

// TestGeneratorDrawsFromSoftmax compares how often each mode is drawn with its
// probability, and takes the coordinates as they are.
func TestGeneratorDrawsFromSoftmax(t *testing.T) {
	c := small(paperConfig(), threeTwins(3))
	c.Training.Batch = 1 << 14
	trainer := newTrainer(t, c, 2)
	s := trainer.System().(*System)
	params, g, b := trainer.Params(), s.generator.(*perceptron), s.learner.(*pairs).batch
	for i := range params {
		params[i] *= 3 // probabilities far from uniform
	}
	s.Generate(params, 1)
	expected, variance, seen := make([]float64, g.modes), make([]float64, g.modes), make([]float64, g.modes)
	for i, k := range b.K {
		out := b.activations.Output()[i*g.Out():][:g.Out()]
		var total float64
		for _, h := range out[g.dim:] {
			total += math.Exp(float64(h))
		}
		for c, h := range out[g.dim:] {
			p := math.Exp(float64(h)) / total
			require.InDelta(t, p, b.probabilities[i*g.modes+c], 1e-6)
			expected[c] += p
			variance[c] += p * (1 - p)
		}
		seen[k]++
		require.Equal(t, out[:g.dim], b.X[i*g.dim:][:g.dim])
	}
	for c := range seen {
		require.InDelta(t, expected[c], seen[c], 6*math.Sqrt(variance[c]), "mode %d", c)
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

// TestInitializeScalesHeads multiplies the weights of both heads by the gain and leaves all
// others alone.
func TestInitializeScalesHeads(t *testing.T) {
	c := small(paperConfig(), threeTwins(1))
	c.Generator.Gain = 1
	plain := newTrainer(t, c, 1)
	c.Generator.Gain = 8
	scaled := newTrainer(t, c, 1)
	g := plain.System().(*System).generator.(*perceptron)
	w := g.Weights(plain.Params(), g.Layers()-1)
	for i := range w {
		w[i] *= 8
	}
	require.Equal(t, plain.Params(), scaled.Params())
}

// TestFormats of the same samples say the same.
func TestFormats(t *testing.T) {
	for _, d := range configDims {
		trainer := newTrainer(t, small(paperConfig(), threeTwins(d)), 3)
		s := trainer.System().(*System)
		const n = 700
		row := 4*d + 4
		states, x, plain := make([]byte, n*row), make([]byte, n*4*d), make([]byte, n*row)
		require.NoError(t, s.Sample(states, "states", trainer.Params(), 1000, n, 2))
		require.NoError(t, s.Sample(x, "x", trainer.Params(), 1000, n, 2))
		require.NoError(t, s.Sample(plain, "states", trainer.Params(), 1000, n, 0))
		require.NotEqual(t, states, plain, "refinement moves")
		for r := range n {
			require.Equal(t, states[r*row:][:4*d], x[r*4*d:][:4*d])
			require.Less(t, binary.LittleEndian.Uint32(states[r*row+4*d:]), uint32(3))
		}
		for _, f := range s.Formats() {
			size, err := npy.ItemSize(f.Descr)
			require.NoError(t, err)
			for _, m := range f.Shape {
				size *= m
			}
			require.Equal(t, f.RowBytes, size)
		}
		require.Contains(t, s.TensorName(0), "layer 1")
	}
}

func TestSampleErrors(t *testing.T) {
	trainer := newTrainer(t, small(bestConfig(), threeTwins(1)), 1)
	s := trainer.System().(*System)
	dst := make([]byte, 8)
	require.ErrorContains(t, s.Sample(dst, "states", trainer.Params(), 0, 1, -1), "refine: -1")
	require.ErrorContains(t, s.Sample(dst, "bits", trainer.Params(), 0, 1, 0), `format: "bits"`)
	require.ErrorContains(t, s.Sample(dst, "states", trainer.Params(), maxSamples, 1, 0), "not all among")
	require.ErrorContains(t, s.Sample(dst, "states", trainer.Params(), math.MaxUint64, 1, 0), "not all among")
}

// TestSamplesAreNotTheTrainingBatch draws both with the same parameters: their
// noise comes from streams apart.
func TestSamplesAreNotTheTrainingBatch(t *testing.T) {
	trainer := newTrainer(t, small(paperConfig(), threeTwins(1)), 1)
	s := trainer.System().(*System)
	x, k := make([]float32, len(s.s.X)), make([]uint8, len(s.s.K))
	s.NewSampler(trainer.Params()).Draw(vectors.States{Dim: s.Dim, X: x, K: k}, nil, 0, 0)
	for step := range uint32(4) {
		s.Generate(trainer.Params(), step)
		for i, v := range s.s.X {
			require.NotEqual(t, v, x[i])
		}
	}
}

// TestRecipeLearnsTheTarget: of a target of which nothing is known but its density,
// the recipe finds all modes, and so little is left of the divergence that the
// weights of modes are those of the target.
func TestRecipeLearnsTheTarget(t *testing.T) {
	target := threeTwins(2)
	c := small(bestConfig(), unplaced{target})
	why, err := c.Recipe(t.Context(), c.target, Seen{}, true)
	require.NoError(t, err)
	require.Contains(t, why, "for each of 3 modes")
	c.Training.Steps, c.Generator.Scout.Population = 150, 512
	require.NoError(t, c.Validate())
	trainer := newTrainer(t, c, 2)
	for range c.Training.Steps {
		require.NoError(t, trainer.Step())
	}
	s := trainer.System().(*System)
	const n = 20_000
	r, x, k := make([]float64, n), make([]float32, 2*n), make([]uint8, n)
	s.NewSampler(trainer.Params()).Weigh(r, vectors.States{Dim: s.Dim, X: x, K: k}, 0)
	e := measure.NewImportance(r)
	require.Greater(t, e.ESS, 0.98)
	require.Less(t, target.deviation(x, k), 12.0)
}

// TestGradientOfTheBalance compares a step's gradient with central differences of the
// loss, its pairs held fixed.
func TestGradientOfTheBalance(t *testing.T) {
	for name, c := range testConfigs() {
		trainer := newTrainer(t, c, 2)
		s, params := trainer.System().(*System), trainer.Params()
		g, ok := s.generator.(*density)
		if !ok {
			continue
		}
		for i := g.Placement(); i < len(params); i++ {
			params[i] += 0.2 * float32(i%7-3) // away from where it was placed
		}
		worst, tensors := engine.GradientError(s, params, s.Backward)
		t.Logf("%s: %.1e", name, worst)
		require.Less(t, worst, 1e-3, name)
		require.Greater(t, tensors, 5)
		require.Equal(t, c.Loss.Partners == 1, s.count.total().Proposed == 0, name)
		require.Equal(t, c.Loss.Partners == 1, s.learner.(*balance).after == nil, name)
	}
}
