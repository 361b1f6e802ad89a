package hybrid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/stat"
)

// paperWells are the values of μ = 1, 9, 25, computed independently.
var paperWells = []struct{ mu, z, logZ, meanAbs, meanSquare float64 }{
	{1, 1.973732150090, 0.679926242894, 0.827392439339, 0.832745487128},
	{9, 0.592204540589, -0.523903196021, 2.992975786952, 8.971958414172},
	{25, 0.354597304137, -1.036772487917, 4.998497817741, 24.989987961409},
}

func paperTarget(t testing.TB) *Target {
	target, err := NewTarget([]float64{1, 9, 25})
	require.NoError(t, err)
	return target
}

func TestWellConstants(t *testing.T) {
	for _, want := range paperWells {
		w, err := NewWell(want.mu)
		require.NoError(t, err)
		require.InDelta(t, want.z, w.Z(), 1e-12)
		require.InDelta(t, want.logZ, w.LogZ(), 1e-12)
		require.InDelta(t, want.meanAbs, w.MeanAbs(), 1e-12)
		require.InDelta(t, want.meanSquare, w.MeanSquare(), 2e-12)
	}
}

// exactBatch returns n exact samples.
func exactBatch(target *Target, n int, seed uint64) (x []float32, k []uint8) {
	x, k = make([]float32, n), make([]uint8, n)
	target.Sample(x, k, &asm.Counter{Seed: seed, Purpose: 9}, 0)
	return x, k
}

// simpson integrates f over a … b in 2n steps.
func simpson(f func(float64) float64, a, b float64, n int) float64 {
	h := (b - a) / float64(2*n)
	sum := f(a) + f(b)
	for i := 1; i < 2*n; i++ {
		sum += float64(2+2*(i&1)) * f(a+float64(i)*h)
	}
	return sum * h / 3
}

// TestWellConstantsByAnotherRule integrates over all x with Simpson's rule and
// checks the virial identity ⟨x E′(x)⟩ = 1, for wells of every width.
func TestWellConstantsByAnotherRule(t *testing.T) {
	for _, mu := range []float64{1e-6, .01, .3, 1, 2.5, 6.5, 9, 25, 144, 1e4} {
		w, err := NewWell(mu)
		require.NoError(t, err)
		a, b := 0.0, math.Sqrt(mu+7)
		if mu > 7 {
			a = math.Sqrt(mu - 7)
		}
		z := 2 * simpson(w.weight, a, b, 20000)
		require.InEpsilon(t, z, w.Z(), 1e-12, "μ=%v", mu)
		second := 2 * simpson(func(x float64) float64 { return x * x * w.weight(x) }, a, b, 20000) / z
		require.InEpsilon(t, second, w.MeanSquare(), 1e-12, "μ=%v", mu)
		virial := 2 * simpson(func(x float64) float64 { return 4 * x * x * (x*x - mu) * w.weight(x) }, a, b, 20000) / w.Z()
		require.InDelta(t, 1, virial, 1e-9*(1+mu), "μ=%v", mu)
		first := 2 * simpson(func(x float64) float64 { return x * w.weight(x) }, a, b, 20000) / z
		require.InEpsilon(t, first, w.MeanAbs(), 1e-12, "μ=%v", mu)
	}
}

func TestNewTargetErrors(t *testing.T) {
	for message, mu := range map[string][]float64{
		"mu: 0 modes":     {},
		"mu[0]: 0 is":     {0},
		"mu[1]: -1 is":    {1, -1},
		"mu[2]: NaN is":   {1, 9, math.NaN()},
		"mu[0]: +Inf is":  {math.Inf(1)},
		"mu: 257 modes":   slices.Repeat([]float64{1}, 257),
		"mu[0]: 20000 is": {20000},
	} {
		_, err := NewTarget(mu)
		require.ErrorContains(t, err, message)
	}
}

type namedLaw struct {
	name string
	law
}

type law interface {
	stat.Law
	Density(x float64) float64
	edge() float64
}

// laws are the marginal and the conditional laws of several targets.
func laws(t *testing.T) (all []namedLaw) {
	for i, mu := range [][]float64{{1, 9, 25}, {1e-3}, {400, 5}, {.5, .5}} {
		target, err := NewTarget(mu)
		require.NoError(t, err)
		all = append(all, namedLaw{fmt.Sprintf("marginal %d", i), target})
		for k := range mu {
			all = append(all, namedLaw{fmt.Sprintf("well %d of %d", k, i), target.Well(k)})
		}
	}
	return all
}

func TestDistributionFunctions(t *testing.T) {
	long.SkipShort(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range laws(t) {
		name := l.name
		edge := l.edge()
		require.InDelta(t, 0, l.CDF(-edge), 1e-12, name)
		require.InDelta(t, 1, l.CDF(edge), 1e-12, name)
		require.Equal(t, 1.0, l.CDF(1e300), name)
		require.Equal(t, 0.0, l.CDF(math.Inf(-1)), name)
		require.Equal(t, 0.5, l.CDF(0), name)
		for range 10 {
			// F and ∫F against Simpson's rule from the left edge.
			a := edge * (2*r.Float64() - 1)
			b := a + (edge-a)*r.Float64()
			mass := simpson(l.Density, a, b, 20000)
			require.InDelta(t, mass, l.CDF(b)-l.CDF(a), 1e-10, "%s: %v to %v", name, a, b)
			area := simpson(l.CDF, a, b, 20000)
			require.InDelta(t, area, l.CDFIntegral(b)-l.CDFIntegral(a), 1e-10*(1+edge), "%s: %v to %v", name, a, b)
		}
		for range 300 {
			u := r.Float64()
			x := l.Quantile(u)
			require.InDelta(t, u, l.CDF(x), 1e-12, "%s: u=%v", name, u)
			require.InDelta(t, -x, l.Quantile(1-u), 1e-9/l.Density(x)*1e-4, "%s: u=%v", name, u)
		}
		for _, u := range []float64{1e-300, 1e-12, 0.5, 1 - 0x1p-53} {
			require.InDelta(t, u, l.CDF(l.Quantile(u)), 1e-12, name)
		}
	}
}

// TestSample compares exact samples with the target by χ² on cells of
// equal probability. The bound has a false-alarm rate of 1e-9.
func TestSample(t *testing.T) {
	target := paperTarget(t)
	const n, cells = 1 << 18, 32
	x, k := make([]float32, n), make([]uint8, n)
	target.Sample(x, k, &asm.Counter{Seed: 5, Purpose: 9}, 0)
	count := make([]float64, cells*3)
	for i := range x {
		u := target.Well(int(k[i])).CDF(float64(x[i]))
		count[int(k[i])*cells+min(cells-1, int(u*cells))]++
	}
	require.Less(t, chiSquare(count, n), 190.0) // 95 degrees of freedom

	part, mode := make([]float32, 1000), make([]uint8, 1000)
	target.Sample(part, mode, &asm.Counter{Seed: 5, Purpose: 9}, 77)
	require.Equal(t, x[77:1077], part)
	require.Equal(t, k[77:1077], mode)
}

// TestSamplesFollowTheirWords: a sample's block has 53 bits for the quantile and 32 for the mode.
func TestSamplesFollowTheirWords(t *testing.T) {
	target := paperTarget(t)
	const n, first = 100, 7
	x, k := exactBatch(target, n+first, 4)
	target.Sample(x[:n], k[:n], &asm.Counter{Seed: 4, Purpose: 9}, first)
	for i := range n {
		var words [4]uint32
		asm.PhiloxBlocks(words[:], &asm.Counter{Seed: 4, Purpose: 9}, uint64(first+i))
		require.Equal(t, uint8(float64(words[2])*3*0x1p-32), k[i])
		u := float64(words[0])*0x1p-32 + float64(words[1]>>11)*0x1p-53 + 0x1p-54
		require.InDelta(t, target.Well(int(k[i])).Quantile(u), x[i], 1e-6*math.Abs(float64(x[i]))+1e-9)
	}
}

// chiSquare returns the statistic of counts of n samples in equally likely
// cells.
func chiSquare(count []float64, n int) float64 {
	want := float64(n) / float64(len(count))
	var sum float64
	for _, c := range count {
		sum += (c - want) * (c - want) / want
	}
	return sum
}

func meanAndDeviation(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, math.Sqrt(deviation)
}

func BenchmarkQuantile(b *testing.B) {
	t := paperTarget(b)
	r := rand.New(rand.NewPCG(1, 1))
	b.Run("well", func(b *testing.B) {
		for b.Loop() {
			t.Well(2).Quantile(r.Float64())
		}
	})
	b.Run("marginal", func(b *testing.B) {
		for b.Loop() {
			t.Quantile(r.Float64())
		}
	})
}

// TestLimits: wells and modes at their limits, and just beyond.
func TestLimits(t *testing.T) {
	for mu, want := range map[float64]string{1e-6: "", 1e4: "", 0.999e-6: "mu[0]: 9.99e-07 is not between 1e-06 and 10000", 1.0001e4: "mu[0]: 10001 is not between 1e-06 and 10000"} {
		target, err := NewTarget([]float64{mu})
		if want != "" {
			require.EqualError(t, err, want)
			continue
		}
		require.NoError(t, err)
		w := target.Well(0)
		require.Equal(t, mu, w.Mu())
		require.Equal(t, math.Log(w.Z()), w.LogZ())
		require.InDelta(t, 1, w.CDF(w.edge()), 1e-12)
		require.Equal(t, []float64{0, 1}, []float64{w.CDF(-2 * w.edge()), w.CDF(2 * w.edge())})
		require.Equal(t, 0.5, w.CDF(w.low/2))
		require.InDelta(t, 0.75, w.CDF(w.Quantile(0.75)), 1e-11)
		require.InDelta(t, -w.Quantile(0.75), w.Quantile(0.25), 1e-12)
		require.InDelta(t, 1/(8*math.Sqrt(8*mu+16)), w.step, 1e-15)
	}
	target, err := NewTarget(slices.Repeat([]float64{2}, 256))
	require.NoError(t, err)
	require.Equal(t, 256, target.Modes())
	require.Equal(t, 2.25, target.Energy(math.Sqrt(0.5), 255))
}
