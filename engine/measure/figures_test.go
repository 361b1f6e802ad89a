package measure_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/revgen/revgen/engine/measure"
)

// TestFiguresOfWeights computes what importance weights say by definition.
func TestFiguresOfWeights(t *testing.T) {
	const n, logZ = 101, 1.7
	random := rand.New(rand.NewPCG(3, 4))
	r, w, f := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range r {
		r[i] = 0.4*random.NormFloat64() - logZ
		w[i], f[i] = math.Exp(-r[i]), random.NormFloat64()
	}
	kish := func(w []float64) float64 {
		var sum, squares float64
		for _, x := range w {
			sum, squares = sum+x, squares+x*x
		}
		return sum * sum / squares / float64(len(w))
	}
	ess, size := kish(w), gonum.Mean(w, nil)
	logZError := math.Sqrt(gonum.PopVariance(w, nil)/n) / size // of the mean weight, relative
	largest := 0.0
	for _, x := range w {
		largest = max(largest, x/size)
	}
	got := measure.NewWeights(r)
	require.Equal(t, n, got.Samples)
	for name, pair := range map[string][2]float64{
		"size": {ess, got.EffectiveSize}, "ln Z": {math.Log(size), got.LogZ}, "its error": {logZError, got.LogZError},
		"KL": {gonum.Mean(r, nil) + math.Log(size), got.KL}, "largest": {largest, got.Largest},
	} {
		require.InDelta(t, pair[0], pair[1], 1e-12, name)
	}

	// A jackknife over 32 parts, as equal as can be.
	var without []float64
	for k := range 32 {
		var rest []float64
		for i, x := range w {
			if i < k*n/32 || i >= (k+1)*n/32 {
				rest = append(rest, x)
			}
		}
		without = append(without, kish(rest))
	}
	sizeError := math.Sqrt(31.0 / 32 * 32 * gonum.PopVariance(without, nil))
	rows := measure.ImportanceMetrics(r, logZ)
	require.Len(t, rows, 3)
	around := func(x, standardError float64) []float64 {
		return []float64{x - 1.959964*standardError, x + 1.959964*standardError}
	}
	size95 := rows[0]
	require.Equal(t, "effective_sample_size", size95.Name)
	require.InDeltaSlice(t, []float64{1, ess, 1 - ess}, []float64{size95.Exact, size95.Generated, size95.Error}, 1e-12)
	require.InDeltaSlice(t, around(ess, sizeError), size95.Interval[:], 1e-6)
	z := rows[1]
	require.Equal(t, "log_z", z.Name)
	require.InDelta(t, math.Abs(math.Log(size)-logZ), z.Error, 1e-12)
	require.InDelta(t, math.Sqrt(2/math.Pi)*logZError, z.Floor, 1e-9)
	require.InDelta(t, 1.959964*logZError, z.Quantile, 1e-6, "an error of 5 % of exact samples")
	require.InDeltaSlice(t, around(math.Log(size), logZError), z.Interval[:], 1e-6)
	kl := rows[2]
	require.Equal(t, "kl_by_density", kl.Name)
	require.InDelta(t, gonum.Mean(r, nil)+logZ, kl.Generated, 1e-12)
	require.InDelta(t, math.Abs(kl.Generated), kl.Error, 1e-12)
	require.InDeltaSlice(t, around(kl.Generated, gonum.StdDev(r, nil)/math.Sqrt(n)), kl.Interval[:], 1e-6)
	unknown := measure.ImportanceMetrics(r, math.NaN())
	require.Len(t, unknown, 2, "the divergence needs ln Z")
	require.True(t, math.IsNaN(unknown[1].Error) && unknown[1].Floor == 0)
	few := measure.ImportanceMetrics(r[:31], logZ)[0]
	require.True(t, math.IsNaN(few.Interval[0]) && math.IsNaN(few.Interval[1]), "31 samples are no 32 parts")
	require.False(t, math.IsNaN(measure.ImportanceMetrics(r[:32], logZ)[0].Interval[0]))

	// Means by weights, and their errors by the delta method; a sample without weight has any value.
	r, f, w = append(r, math.Inf(1)), append(f, math.NaN()), append(w, 0)
	by := measure.NewReweighing(r)
	delta := func(f []float64) (value, standardError float64) {
		value = gonum.Mean(f[:n], w[:n])
		for i, x := range f[:n] {
			standardError += w[i] * w[i] * (x - value) * (x - value)
		}
		return value, math.Sqrt(standardError) / (n * size)
	}
	value, standardError, apart := by.Mean(f)
	wantValue, wantError := delta(f)
	require.InDelta(t, wantValue, value, 1e-12)
	require.InDelta(t, wantError, standardError, 1e-12)
	// What it differs by from the mean without weights is the mean of (w − 1)(f − value).
	var differences []float64
	for i, x := range f[:n] {
		differences = append(differences, (w[i]/gonum.Mean(w, nil)-1)*(x-wantValue))
	}
	require.InDelta(t, gonum.StdDev(differences, nil)/math.Sqrt(n), apart, 1e-12)
	var squares []float64
	for _, x := range f {
		squares = append(squares, (x-wantValue)*(x-wantValue))
	}
	value, standardError, _ = by.Variance(f)
	wantValue, wantError = delta(squares)
	require.InDelta(t, wantValue, value, 1e-12)
	require.InDelta(t, wantError, standardError, 1e-12)

	m := measure.Metric{Exact: -4}
	m.Reweigh(-3, 0.5, 0.25)
	require.Equal(t, 0.25, m.Reweighted.Apart)
	require.InDeltaSlice(t, around(-3, 0.5), m.Reweighted.Interval[:], 1e-5)
	require.Equal(t, []float64{-3, 0.5, 1}, []float64{m.Reweighted.Value, m.Reweighted.StandardError, m.Reweighted.Error})
	value, standardError, apart = by.Mean(slices.Repeat([]float64{-0.1}, len(f)))
	require.Equal(t, []float64{-0.1, 0, 0}, []float64{value, standardError, apart})
	m.Reweigh(value, standardError, apart)
	require.True(t, math.IsNaN(m.Reweighted.StandardError) && math.IsNaN(m.Reweighted.Interval[0]) && math.IsNaN(m.Reweighted.Interval[1]), "all agree")
	m.Relative = true
	m.Reweigh(-3, 0.5, 0.1)
	require.Equal(t, 0.25, m.Reweighted.Error)
}

// TestWeightsThatCannotBeTrusted has a set of weights for each warning, and one at each bound.
func TestWeightsThatCannotBeTrusted(t *testing.T) {
	equal := func(n int) []float64 { return make([]float64, n) }
	few := equal(1000)
	few[3], few[4] = -5, -4
	largest := fmt.Sprintf("%.3g", 1000*math.Exp(5)/(998+math.Exp(5)+math.Exp(4)))
	heavy := make([]float64, 2000)
	random := rand.New(rand.NewPCG(5, 6))
	for i := range heavy {
		heavy[i] = 1.2 * math.Log(random.Float64()) // weights u^−1.2
	}
	require.Equal(t, "the samples have no weights: π vanishes at all of them", measure.NewWeights([]float64{math.Inf(1), math.Inf(1)}).Warning)
	require.Contains(t, measure.NewWeights(few).Warning, "a few weights, up to "+largest+" times the mean, stand out from all others")
	require.Equal(t, "the samples' weights are worth 99 independent samples of the target: neither the weights nor ln Z can be trusted", measure.NewWeights(equal(99)).Warning)
	enough := measure.NewWeights(equal(100))
	require.Empty(t, enough.Warning)
	require.True(t, enough.Trusted())
	w := measure.NewWeights(heavy)
	require.InDelta(t, 1.2, w.ParetoK, 0.5)
	require.Regexp(t, `^the largest weights have a tail of Pareto's k̂ = [01]\.\d\d; above 0\.7 neither the weights nor ln Z can be trusted$`, w.Warning)
	require.False(t, w.Trusted())
	for _, c := range []struct {
		k, tail float64
		above   bool
	}{{0.7, 0.011, true}, {0.69, 0.011, false}, {0.7, 0.01, false}} { // a tenth of 1/√100 is hidden by chance
		w := measure.Weights{Samples: 100, ParetoK: c.k, Tail: c.tail}
		require.Equal(t, c.above, w.TailAbove(0.7), c)
	}
}

// The first and the last bin hold all beyond them.
func TestBins(t *testing.T) {
	b := measure.Bins{Origin: -1, Width: 0.5, N: 4}
	for x, bin := range map[float64]int{-9: 0, -1: 0, -0.51: 0, -0.5: 1, 0: 2, 0.49: 2, 0.5: 3, 1: 3, 9: 3} {
		require.Equal(t, bin, b.Of(x), x)
	}
	require.Equal(t, -0.75, b.Centre(0))
	require.Equal(t, 0.75, b.Centre(3))
}

// TestVariationOfWhatIsImpossible: draws that the law does not have count in full.
func TestVariationOfWhatIsImpossible(t *testing.T) {
	m := measure.Variation("total_variation", []measure.Estimate{{Value: 0.5}, {Value: 0.5}, {}, {}}, []float64{40, 39, 20, 1})
	require.InDelta(t, 0.21, m.Generated, 1e-12)
	require.Equal(t, m.Generated, m.Error)
}

// TestVariationOfWeights: a law is given up to its sum, and what is not known of its values is
// half of their sum.
func TestVariationOfWeights(t *testing.T) {
	counts := []float64{60, 20, 10, 10}
	whole := measure.Variation("x", []measure.Estimate{{Value: 0.5}, {Value: 0.25}, {Value: 0.125}, {Value: 0.125}}, counts)
	part := measure.Variation("x", []measure.Estimate{{Value: 2, Uncertainty: 0.1}, {Value: 1, Uncertainty: 0.02}, {Value: 0.5}, {Value: 0.5}}, counts)
	require.InDelta(t, 0.1, whole.Generated, 1e-12)
	require.InDelta(t, 0.06, part.Uncertainty, 1e-12)
	part.Uncertainty = 0
	require.Equal(t, whole, part)
	floor := 0.0 // of binomial counts, by De Moivre's sum
	for _, p := range []float64{0.5, 0.25, 0.125, 0.125} {
		for k := range 101 {
			floor += 0.5 * math.Abs(float64(k)/100-p) * distuv.Binomial{N: 100, P: p}.Prob(float64(k))
		}
	}
	require.InDelta(t, floor, whole.Floor, 1e-9)
}

// TestPanelOfBins: frequencies stand over the middles of bins that have any, with intervals, and
// bars of the law over all.
func TestPanelOfBins(t *testing.T) {
	b := measure.Bins{Origin: 2, Width: 3, N: 3}
	law := []measure.Estimate{{Value: 0.5}, {Value: 0.3}, {Value: 0.2}}
	p := b.Panel(law, []float64{30, 0, 10}, "law", "drawn", "E", "share")
	require.Equal(t, []string{"E", "share"}, []string{p.X.Label, p.Y.Label})
	bars, points := p.Layers[0], p.Layers[1]
	require.Equal(t, []string{"law", "drawn"}, []string{bars.Label, points.Label})
	require.Equal(t, []float64{3.5, 6.5, 9.5}, bars.X)
	require.Equal(t, []float64{0.5, 0.3, 0.2}, bars.Y)
	require.InDelta(t, 2.4, bars.Width, 1e-12)
	require.Equal(t, []float64{3.5, 9.5}, points.X)
	require.Equal(t, []float64{0.75, 0.25}, points.Y)
	for i, share := range points.Y {
		require.True(t, points.Low[i] < share && share < points.High[i])
		// Of 40 samples, as a normal law has it.
		require.InDelta(t, 2*1.96*math.Sqrt(share*(1-share)/40), points.High[i]-points.Low[i], 0.03)
	}
	require.Len(t, b.Panel(nil, []float64{30, 0, 10}, "law", "drawn", "E", "share").Layers, 1)
}
