package reals

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/number"
)

// testGenerators are shapes that the presets do not have: odd and even
// dimensions, no hidden layers and several, inputs wide and narrow.
var testGenerators = []struct {
	dim int
	GeneratorConfig
}{
	{2, GeneratorConfig{Kind: "realnvp", Depth: 8, Hidden: []int{64, 64}, Slope: 0.01, Gain: 1, Partition: "parity", Clamp: 1}},
	{2, GeneratorConfig{Kind: "realnvp", Depth: 1, Hidden: []int{5}, Slope: 0.01, Gain: 1, Partition: "halves", Clamp: 2}},
	{3, GeneratorConfig{Kind: "realnvp", Depth: 5, Hidden: []int{}, Slope: 0.2, Gain: 0.7, Partition: "halves", Clamp: 0.5}},
	{5, GeneratorConfig{Kind: "realnvp", Depth: 4, Hidden: []int{16, 7, 9}, Slope: 0.1, Gain: 2, Partition: "parity", Clamp: 1.5}},
	{21, GeneratorConfig{Kind: "realnvp", Depth: 3, Hidden: []int{24, 20}, Slope: 0.01, Gain: 1, Partition: "halves", Clamp: 1}},
	{1, GeneratorConfig{Kind: "residual", Depth: 3, Hidden: []int{16, 16}, Slope: 0.01, Gain: 1}},
	{2, GeneratorConfig{Kind: "residual", Depth: 1, Hidden: []int{}, Slope: 0.01, Gain: 1}},
	{3, GeneratorConfig{Kind: "residual", Depth: 4, Hidden: []int{20}, Slope: 0.3, Gain: 1, Latent: 12}},
}

// testMixtures have a base, and couplings or none.
var testMixtures = []struct {
	dim int
	GeneratorConfig
}{
	{2, GeneratorConfig{Kind: "mixture", Components: 3, Depth: 4, Hidden: []int{16}, Slope: 0.1, Gain: 1, Partition: "parity", Clamp: 1}},
	{5, GeneratorConfig{Kind: "mixture", Components: 2, Depth: 1, Hidden: []int{16, 7}, Slope: 0.1, Gain: 1, Partition: "halves", Clamp: 1}},
	{3, GeneratorConfig{Kind: "mixture", Components: 4}},
	{2, GeneratorConfig{Kind: "mixture", Components: 3, Bent: true, Depth: 4, Hidden: []int{16}, Slope: 0.1, Gain: 1, Partition: "parity", Clamp: 1}},
	{5, GeneratorConfig{Kind: "mixture", Components: 2, Depth: 2, Bent: true, Hidden: []int{16, 7}, Slope: 0.1, Gain: 2, Partition: "listed", Changed: []int{3, 1, 2, 0}, Clamp: 1}},
	{3, GeneratorConfig{Kind: "mixture", Components: 4, Bent: true}},
	{1, GeneratorConfig{Kind: "mixture", Components: 3}},
	{4, GeneratorConfig{Kind: "mixture", Base: "product", Components: 3}},
	{5, GeneratorConfig{Kind: "mixture", Base: "product", Components: 2, Depth: 2, Bent: true, Hidden: []int{16, 7}, Slope: 0.1, Gain: 2, Partition: "listed", Changed: []int{3, 1}, Clamp: 1}},
}

func (g GeneratorConfig) String() string {
	return fmt.Sprintf("%s depth %d hidden %v %s", g.Kind, g.Depth, g.Hidden, g.Partition)
}

// A testPass is a generator with random parameters and one pass of a batch.
type testPass struct {
	generator generator
	nets      *networks
	weights   *weights
	pass      pass
	z, x      []float32
	rows      int
}

func newTestPass(c GeneratorConfig, dim, rows int, backward bool) *testPass {
	t := &testPass{generator: newGenerator(c, dim), rows: rows}
	t.nets = t.generator.networks()
	t.weights = t.nets.newWeights(true)
	t.weights.params = make([]float32, t.nets.params)
	t.nets.initialize(t.weights.params, 3, c.Gain)
	if g, ok := t.generator.(*mixtureFlow); ok {
		// Placed on points at random, and moved from there.
		points := make([]float32, 100*dim)
		stream := rng.Stream(7, rng.Initialization, 1)
		rng.Normals(points, dim, &stream, 0)
		for i := range points {
			points[i] = 3*points[i] + 1
		}
		g.initialize(context.Background(), t.weights.params, &mixture.Found{X: points}, 1)
		learned := t.weights.params[t.nets.learned():]
		rng.Normals(learned, 1, &stream, 1<<40)
		for i := range learned {
			learned[i] *= 0.2
		}
	}
	for part := range t.nets.parts() {
		t.nets.pack(t.weights, part)
	}
	t.z, t.x = make([]float32, rows*t.nets.latent), make([]float32, rows*dim)
	stream := rng.Stream(5, rng.TrainLatent, 1)
	rng.Normals(t.z, t.nets.latent, &stream, 0)
	t.pass = t.generator.newPass(rows+3, backward)
	t.pass.forward(t.x, t.z, t.weights)
	return t
}

// state64 is the generator in float64.
func (t *testPass) state64(params, z []float64) []float64 {
	if f, ok := t.generator.(*flow); ok {
		x, _ := f.forward64(params, z)
		return x
	}
	return t.generator.(*residual).forward64(params, z)
}

func TestForwardMatchesFloat64(t *testing.T) {
	for _, c := range testGenerators {
		for _, backward := range []bool{false, true} {
			p := newTestPass(c.GeneratorConfig, c.dim, 37, backward)
			params, z := number.Widen(p.weights.params), number.Widen(p.z)
			for r := range p.rows {
				want := p.state64(params, z[r*p.nets.latent:][:p.nets.latent])
				require.InDeltaSlice(t, want, number.Widen(p.x[r*c.dim:][:c.dim]), 2e-5, "%v row %d", c, r)
			}
		}
	}
}

// TestBackwardMatchesCentralDifferences differentiates Σ c·x by every
// parameter in float64.
func TestBackwardMatchesCentralDifferences(t *testing.T) {
	for _, c := range testGenerators {
		p := newTestPass(c.GeneratorConfig, c.dim, 6, true)
		r := rand.New(rand.NewPCG(1, 2))
		dx := make([]float32, len(p.x))
		for i := range dx {
			dx[i] = float32(r.NormFloat64())
		}
		grad := make([]float32, p.nets.params)
		p.pass.backward(grad, dx, p.weights, p.nets.newScratch(p.rows+3))

		params, z := number.Widen(p.weights.params), number.Widen(p.z)
		objective := func() (sum float64) {
			for r := range p.rows {
				for i, x := range p.state64(params, z[r*p.nets.latent:][:p.nets.latent]) {
					sum += x * float64(dx[r*c.dim+i])
				}
			}
			return sum
		}
		for i := 0; i < len(params); i += 1 + len(params)/700 {
			want := number.CentralDifference(&params[i], 1e-5, objective)
			require.InDelta(t, want, float64(grad[i]), 3e-5*(1+math.Abs(want)), "%v: %s", c, p.nets.tensorName(i))
		}
	}
}

func TestInverseUndoesForward(t *testing.T) {
	for _, c := range testGenerators {
		p := newTestPass(c.GeneratorConfig, c.dim, 200, false)
		f, ok := p.pass.(*flowPass)
		if !ok {
			continue
		}
		forward, backward := make([]float64, p.rows), make([]float64, p.rows)
		f.logDensity(forward)
		z := make([]float32, len(p.z))
		f.inverse(z, p.x, p.weights)
		f.logDensity(backward)
		require.InDeltaSlice(t, number.Widen(p.z), number.Widen(z), 1e-5, "%v", c)
		require.InDeltaSlice(t, forward, backward, 3e-5, "%v", c)
	}
}

// TestLogDensity compares the log-density with ln N(z) minus the logarithm of
// the Jacobian's determinant, by central differences of the float64 flow.
func TestLogDensity(t *testing.T) {
	for _, c := range testGenerators {
		p := newTestPass(c.GeneratorConfig, c.dim, 8, false)
		f, ok := p.pass.(*flowPass)
		if !ok {
			continue
		}
		got := make([]float64, p.rows)
		f.logDensity(got)
		params, z := number.Widen(p.weights.params), number.Widen(p.z)
		for r := range p.rows {
			row := z[r*c.dim:][:c.dim]
			want := -float64(c.dim) / 2 * math.Log(2*math.Pi)
			for _, v := range row {
				want -= v * v / 2
			}
			want -= numericalLogVolume(func(z []float64) []float64 { return p.state64(params, z) }, row)
			_, logVolume := f.flow.forward64(params, row)
			require.InDelta(t, want, got[r], 2e-5, "%v", c)
			require.InDelta(t, numericalLogVolume(func(z []float64) []float64 { return p.state64(params, z) }, row), logVolume, 1e-6)
		}
	}
}

// TestForwardSplitsIntoAnyRows cuts a batch at several places.
func TestForwardSplitsIntoAnyRows(t *testing.T) {
	for _, c := range slices.Concat(testGenerators, testMixtures) {
		p := newTestPass(c.GeneratorConfig, c.dim, 53, false)
		latent := p.nets.latent
		for _, cut := range []int{1, 16, 17, 52} {
			x := make([]float32, len(p.x))
			p.pass.forward(x[:cut*c.dim], p.z[:cut*latent], p.weights)
			p.pass.forward(x[cut*c.dim:], p.z[cut*latent:], p.weights)
			require.Equal(t, p.x, x, "%v cut at %d", c, cut)
		}
	}
}

func TestTensorNames(t *testing.T) {
	p := newTestPass(testGenerators[0].GeneratorConfig, 2, 1, false)
	require.Equal(t, "coupling 1, scale: layer 1 weights", p.nets.tensorName(0))
	require.Equal(t, "coupling 8, translation: layer 3 biases", p.nets.tensorName(p.nets.params-1))
	require.Equal(t, 69_648, p.nets.params)
}

// TestGainStartsAtTheIdentity: with last layers of nothing, x = z.
func TestGainStartsAtTheIdentity(t *testing.T) {
	for _, c := range testGenerators {
		c.Gain = 1e-30
		p := newTestPass(c.GeneratorConfig, c.dim, 5, false)
		for r := range p.rows {
			require.Equal(t, p.z[r*p.nets.latent:][:c.dim], p.x[r*c.dim:][:c.dim], "%v", c)
		}
	}
}

func BenchmarkFlow(b *testing.B) {
	c := testGenerators[0]
	p := newTestPass(c.GeneratorConfig, c.dim, 256, true)
	s := p.nets.newScratch(p.rows + 3)
	grad := make([]float32, p.nets.params)
	b.Run("forward", func(b *testing.B) {
		for b.Loop() {
			p.pass.forward(p.x, p.z, p.weights)
		}
	})
	b.Run("backward", func(b *testing.B) {
		for b.Loop() {
			p.pass.backward(grad, p.x, p.weights, s)
		}
	})
}

// TestDensityOfDrawnStates: the way back finds the density of the way there.
func TestDensityOfDrawnStates(t *testing.T) {
	for _, c := range testMixtures {
		p := newTestPass(c.GeneratorConfig, c.dim, 200, false)
		pass := p.pass.(densePass)
		there, back := make([]float64, p.rows), make([]float64, p.rows)
		pass.logDensity(there)
		pass.density(back, p.x, p.weights)
		require.InDeltaSlice(t, there, back, 1e-4, "%v", c)
	}
}
