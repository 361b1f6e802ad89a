package vectors

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/long"
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
	{5, GeneratorConfig{Kind: "mixture", Components: 2, Depth: 2, Bent: true, Bend: 0.3, Hidden: []int{16, 7}, Slope: 0.1, Gain: 2, Partition: "listed", Changed: []int{3, 1, 2, 0}, Clamp: 1}},
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
	t := &testPass{generator: newGenerator(c, dim, 0), rows: rows}
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
		g.placeBase(context.Background(), t.weights.params, &mixture.Found{X: points, LogPi: make([]float64, len(points)/dim)}, 1)
		learned := t.weights.params[t.nets.learnedStart():]
		rng.Normals(learned, 1, &stream, 1<<40)
		for i := range learned {
			learned[i] *= 0.2
		}
	}
	for part := range t.nets.packs() {
		t.nets.pack(t.weights, part)
	}
	t.z, t.x = make([]float32, rows*t.nets.latent), make([]float32, rows*dim)
	stream := rng.Stream(5, rng.TrainLatent, 1)
	rng.Normals(t.z, t.nets.latent, &stream, 0)
	t.pass = t.generator.newPass(rows+3, backward)
	t.forward(t.x, t.z)
	return t
}

// forward sets x to the states of z.
func (t *testPass) forward(x, z []float32) { t.pass.forward(states(x, t.nets.dim), z, nil, t.weights) }

// state64 is the generator in float64.
func (t *testPass) state64(params, z []float64) []float64 {
	x, _ := t.generator.(interface {
		forward64(params, z []float64) (x, probabilities []float64)
	}).forward64(params, z)
	return x
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
	long.SkipShort(t)
	for _, c := range testGenerators {
		p := newTestPass(c.GeneratorConfig, c.dim, 6, true)
		r := rand.New(rand.NewPCG(1, 2))
		dx := make([]float32, len(p.x))
		for i := range dx {
			dx[i] = float32(r.NormFloat64())
		}
		grad := make([]float32, p.nets.params)
		p.pass.(pathPass).backward(grad, stateGradient{dim: c.dim, x: dx}, p.weights, p.nets.newScratch(p.rows+3))

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
			_, logVolume := f.flow.transform64(params, row)
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
			p.forward(x[:cut*c.dim], p.z[:cut*latent])
			p.forward(x[cut*c.dim:], p.z[cut*latent:])
			require.Equal(t, p.x, x, "%v cut at %d", c, cut)
		}
	}
}

func TestTensorNames(t *testing.T) {
	p := newTestPass(testGenerators[0].GeneratorConfig, 2, 1, false)
	require.Equal(t, "coupling 1, scale: layer 1 weights", p.nets.tensorName(0))
	require.Equal(t, "coupling 8, translation: layer 3 biases", p.nets.tensorName(p.nets.params-1))
	require.Equal(t, 69_648, p.nets.params)
	// Those of a mixture are followed by its place and the names of its base.
	for _, c := range testMixtures {
		p := newTestPass(c.GeneratorConfig, c.dim, 1, false)
		n := 0
		for _, net := range p.nets.nets {
			n += net.NumParams()
		}
		require.Equal(t, []int{n, n + 2*c.dim, p.nets.params}, []int{p.nets.placeStart, p.nets.baseStart, p.nets.baseStart + p.nets.base.NumParams()})
		for i := range p.nets.params {
			name := p.nets.tensorName(i)
			switch {
			case i < n:
				require.Contains(t, name, "coupling ")
			case i < n+2*c.dim:
				require.Equal(t, "place", name)
			default:
				require.Equal(t, p.nets.base.TensorName(i-n-2*c.dim), name)
			}
		}
	}
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
			p.forward(p.x, p.z)
		}
	})
	b.Run("backward", func(b *testing.B) {
		for b.Loop() {
			p.pass.(pathPass).backward(grad, stateGradient{dim: c.dim, x: p.x}, p.weights, s)
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
		pass.density(back, states(p.x, c.dim), p.weights)
		require.InDeltaSlice(t, there, back, 1e-4, "%v", c)
	}
}

// TestGeneratorDrawsFromSoftmax compares how often each mode is drawn with its
// probability, and takes the coordinates as they are.
func TestGeneratorDrawsFromSoftmax(t *testing.T) {
	c := small(modalPaper(), threeTwins(3))
	c.Training.Batch = 1 << 14
	trainer := newTrainer(t, c, 2)
	s := trainer.System().(*System)
	params, g, batch := trainer.Params(), s.generator.nets, s.form.(*pairs).S
	width := g.dim + g.modes
	for i := range params {
		params[i] *= 3 // probabilities far from uniform
	}
	s.generator.Draw(batch, params, 1)
	expected, variance, seen := make([]float64, g.modes), make([]float64, g.modes), make([]float64, g.modes)
	for i, k := range batch.K {
		p, row := s.generator.passes[i/nn.BlockRows()].(*chainPass), i%nn.BlockRows()
		out, probabilities := p.h[1][row*width:][:width], p.probabilities[row*g.modes:]
		var total float64
		for _, h := range out[g.dim:] {
			total += math.Exp(float64(h))
		}
		for c, h := range out[g.dim:] {
			p := math.Exp(float64(h)) / total
			require.InDelta(t, p, probabilities[c], 1e-6)
			expected[c] += p
			variance[c] += p * (1 - p)
		}
		seen[k]++
		require.Equal(t, out[:g.dim], batch.X[i*g.dim:][:g.dim])
	}
	for c := range seen {
		require.InDelta(t, expected[c], seen[c], 6*math.Sqrt(variance[c]), "mode %d", c)
	}
}

// TestDrawAtTheEdges selects by the bounds of cumulative probability.
func TestDrawAtTheEdges(t *testing.T) {
	for u, want := range map[float32]int{0: 1, 0.2: 1, 0.25: 2, 0.999: 2, 0x1p-24: 1, 1 - 0x1p-24: 2} {
		weights := []float32{0, 1, 3}
		require.Equal(t, want, chooseIndex(weights, u), "u=%v", u)
		require.Equal(t, []float32{0, 0.25, 0.75}, weights)
	}
}

// TestInitializeScalesHeads multiplies the weights of both heads by the gain and leaves all
// others alone.
func TestInitializeScalesHeads(t *testing.T) {
	c := small(modalPaper(), threeTwins(1))
	c.Generator.Gain = 1
	plain := newTrainer(t, c, 1)
	c.Generator.Gain = 8
	scaled := newTrainer(t, c, 1)
	g := plain.System().(*System).generator.nets.nets[0]
	w := g.Weights(plain.Params(), g.Layers()-1)
	for i := range w {
		w[i] *= 8
	}
	require.Equal(t, plain.Params(), scaled.Params())
}

// TestLaws: a generator is a mixture of the images of standard normal noise. Those of a product
// are all choices of a Gaussian for each coordinate, those of the first changing fastest, with
// the product of their weights; and its samples have the law of the images.
func TestLaws(t *testing.T) {
	for _, c := range []struct {
		dim, laws int
		GeneratorConfig
	}{
		{3, 8, GeneratorConfig{Kind: "mixture", Base: "product", Components: 2}},
		{2, 9, GeneratorConfig{Kind: "mixture", Base: "product", Components: 3, Depth: 2, Hidden: []int{8}, Slope: 0.1, Gain: 1, Partition: "parity", Clamp: 1}},
		{2, 4, GeneratorConfig{Kind: "mixture", Components: 4}},
		{2, 1, GeneratorConfig{Kind: "realnvp", Depth: 2, Hidden: []int{8}, Slope: 0.1, Gain: 1, Partition: "parity", Clamp: 1}},
	} {
		const rows = 20
		p := newTestPass(c.GeneratorConfig, c.dim, rows, false)
		pass := p.pass.(densePass)
		weights := pass.laws(p.weights)
		require.Len(t, weights, c.laws)
		z, x := make([]float32, rows*c.dim), make([][]float32, c.laws)
		stream := rng.Stream(6, rng.TrainLatent, 1)
		rng.Normals(z, c.dim, &stream, 0)
		var sum float64
		for law := range x {
			sum += weights[law]
			x[law] = make([]float32, rows*c.dim)
			pass.image(x[law], z, law, p.weights)
			there, back := make([]float64, rows), make([]float64, rows)
			pass.logDensity(there)
			pass.density(back, states(x[law], c.dim), p.weights)
			require.InDeltaSlice(t, there, back, 1e-4)
		}
		require.InDelta(t, 1, sum, 1e-6)
		if c.Base == "product" {
			// The weight of a Gaussian of one coordinate is the sum over those of the others.
			each := make([][]float64, c.dim)
			for law, w := range weights {
				for i := range c.dim {
					k := law / int(math.Pow(float64(c.Components), float64(i))) % c.Components
					each[i] = append(each[i], make([]float64, c.Components-min(c.Components, len(each[i])))...)
					each[i][k] += w
				}
			}
			for law, w := range weights {
				want, first := 1.0, make([]int, c.dim)
				for i := range c.dim {
					k := law / int(math.Pow(float64(c.Components), float64(i))) % c.Components
					want *= each[i][k]
					first[i] = k * int(math.Pow(float64(c.Components), float64(i))) // with the first of the others
				}
				require.InDelta(t, want, w, 1e-6)
				for r := 0; r < rows && c.Depth == 0; r++ {
					for i := range c.dim {
						require.Equal(t, x[first[i]][r*c.dim+i], x[law][r*c.dim+i])
					}
				}
			}
			require.Greater(t, slices.Max(weights)-slices.Min(weights), 1e-3)
		}
		if c.dim == 2 {
			// Both agree on how often x_0 < 0 and x_1 < 1.
			const many = 1 << 14
			p := newTestPass(c.GeneratorConfig, c.dim, many, false)
			wide := make([]float32, many*c.dim)
			stream := rng.Stream(7, rng.TrainLatent, 1)
			rng.Normals(wide, c.dim, &stream, 0)
			below := func(x []float32) (share float64) {
				for r := range many {
					if x[2*r] < 0 && x[2*r+1] < 1 {
						share += 1. / many
					}
				}
				return share
			}
			var want float64
			got := below(p.x)
			for law := range c.laws {
				image := make([]float32, len(wide))
				p.pass.(densePass).image(image, wide, law, p.weights)
				want += weights[law] * below(image)
			}
			require.InDelta(t, want, got, 8*0.5/math.Sqrt(many))
		}
	}
}
