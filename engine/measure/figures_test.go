package measure_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	gonum "gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/stat"
)

// ratios returns R of n samples, and their weights e^−R.
func ratios(n int, level float64) (r, weights []float64) {
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		x := level + random.NormFloat64()
		r, weights = append(r, x), append(weights, math.Exp(-x))
	}
	return r, weights
}

// size is Kish's effective sample size as a fraction.
func size(weights []float64) float64 {
	mean, variance := gonum.PopMeanVariance(weights, nil)
	return 1 / (1 + variance/(mean*mean))
}

// unseen is what a tail of k̂ above ½ has beyond the largest of the weights, of their sum.
func unseen(weights []float64) float64 {
	var logs []float64
	for _, w := range weights {
		logs = append(logs, math.Log(w))
	}
	if k, _ := stat.ParetoK(logs); k > 0.5 {
		return (slices.Max(weights)/gonum.Mean(weights, nil) - 1) / float64(len(weights)) / (1 - min(k, 0.7))
	}
	return 0
}

// TestFiguresOfImportance computes what weights say by the textbook's formulas, and the
// error of the effective size by the block jackknife's.
func TestFiguresOfImportance(t *testing.T) {
	for _, n := range []int{32, 100} {
		r, w := ratios(n, 0.3)
		mean, variance := gonum.PopMeanVariance(w, nil)
		e := measure.Weigh(r)
		require.InDelta(t, math.Log(mean), e.LogZ, 1e-12)
		require.InEpsilon(t, math.Sqrt(variance/float64(n))/mean, e.LogZError, 1e-9, "of ln of a mean, by the delta method")
		require.InEpsilon(t, size(w), e.EffectiveSize, 1e-12)
		require.InEpsilon(t, slices.Max(w)/mean, e.Largest, 1e-12)
		require.InDelta(t, gonum.Mean(r, nil)+math.Log(mean), e.KL, 1e-12)
		far, _ := ratios(n, 2000.3) // whose weights underflow
		require.InDelta(t, e.LogZ-2000, measure.Weigh(far).LogZ, 1e-9)
		require.InEpsilon(t, e.LogZError, measure.Weigh(far).LogZError, 1e-9)

		var without []float64
		for k := range 32 {
			without = append(without, size(slices.Concat(w[:k*n/32], w[(k+1)*n/32:])))
		}
		jackknife := math.Sqrt(31 * gonum.PopVariance(without, nil))
		rows := measure.ImportanceMetrics(r, 0.7)
		require.Len(t, rows, 3)
		check := func(m measure.Metric, name string, exact, generated, err, standardError float64) {
			t.Helper()
			require.Equal(t, name, m.Name)
			require.Equal(t, exact, m.Exact)
			require.InDelta(t, generated, m.Generated, 1e-12)
			require.InDelta(t, err, m.Error, 1e-12)
			require.InDeltaSlice(t, []float64{generated - 1.959964*standardError, generated + 1.959964*standardError}, m.Interval[:], 1e-6*standardError)
			require.False(t, m.Relative)
		}
		check(rows[0], "effective_sample_size", 1, e.EffectiveSize, 1-e.EffectiveSize, jackknife)
		wide := math.Hypot(e.LogZError, unseen(w))
		require.Greater(t, wide, e.LogZError)
		check(rows[1], "log_z", 0.7, e.LogZ, math.Abs(e.LogZ-0.7), math.Hypot(wide, 1/float64(n)))
		check(rows[2], "kl_by_density", 0, gonum.Mean(r, nil)+0.7, gonum.Mean(r, nil)+0.7, gonum.StdErr(gonum.StdDev(r, nil), float64(n)))
		// The mean and the 95 % quantile of a half-normal error.
		require.InEpsilon(t, math.Sqrt(2/math.Pi)*wide, rows[1].Floor, 1e-9)
		require.InEpsilon(t, 1.959964*wide, rows[1].Quantile, 1e-6)
		require.Zero(t, rows[0].Floor+rows[2].Floor)

		unknown := measure.ImportanceMetrics(r, math.NaN())
		require.Len(t, unknown, 2)
		require.True(t, math.IsNaN(unknown[1].Error) && unknown[1].Floor == 0)
	}
	// float32 leaves an error in equal weights; with few samples none is known.
	require.Equal(t, math.Sqrt(2/math.Pi)*0x1p-23, measure.ImportanceMetrics(make([]float64, 31), 0)[1].Floor)
	require.True(t, math.IsNaN(measure.ImportanceMetrics(make([]float64, 31), 0)[0].Interval[0]))
	require.Equal(t, [2]float64{1, 1}, measure.ImportanceMetrics(make([]float64, 32), 0)[0].Interval)
}

// TestWarningsOfWeights holds the bounds of weights that can be used, and the figures that
// a warning gives.
func TestWarningsOfWeights(t *testing.T) {
	pareto := func(n int, k float64) (r []float64) {
		for i := range n {
			r = append(r, k*math.Log((float64(i)+0.5)/float64(n)))
		}
		return r
	}
	heavy, light := pareto(2000, 1.5), pareto(2000, 0.3)
	logs := func(r []float64) (k, tail float64) {
		var l []float64
		for _, x := range r {
			l = append(l, -x)
		}
		return stat.ParetoK(l)
	}
	k, tail := logs(heavy)
	few := make([]float64, 1000) // two that stand out
	few[3], few[4] = -math.Log(50), -math.Log(60)
	some := slices.Clone(few)
	some[3], some[4] = -math.Log(9), -math.Log(9)
	nowhere := []float64{math.Inf(1), math.Inf(1)}
	for name, c := range map[string]struct {
		r    []float64
		want string
	}{
		"good":    {light, ""},
		"heavy":   {heavy, fmt.Sprintf("the largest weights have a tail of Pareto's k̂ = %.2f; above 0.7 neither the weights nor ln Z can be trusted", k)},
		"a few":   {few, fmt.Sprintf("a few weights, up to %.3g times the mean, stand out from all others: what is behind them cannot be told", 60/(998+110.)*1000)},
		"some":    {some, ""},
		"100":     {make([]float64, 100), ""},
		"99":      {make([]float64, 99), "the samples' weights are worth 99 independent samples of the target: neither the weights nor ln Z can be trusted"},
		"nowhere": {nowhere, "the samples have no weights: π vanishes at all of them"},
	} {
		w := measure.NewWeights(c.r)
		require.Equal(t, c.want, w.Warning, name)
		require.Equal(t, c.want == "", w.Trusted(), name)
	}
	// Level weights without a mean may have 0.3/√n of Z in their tail, of which others may have more.
	for _, c := range []struct {
		shape, tail float64
		trusted     bool
	}{{1.08, 0.28, true}, {1.08, 0.31, false}, {0.9, 0.31, true}, {0.9, 0.34, true}, {0.9, 0.5, false}} {
		r, sum := make([]float64, 10_000), 0.0
		for i := range 300 {
			r[i] = math.Pow(300/float64(i+1), c.shape) - 1
			sum += r[i]
		}
		for i, excess := range r {
			r[i] = -math.Log1p(excess * c.tail * 100 / sum)
		}
		w := measure.NewWeights(r)
		require.InDelta(t, c.tail, w.Tail*100, 0.005)
		require.Equal(t, c.shape > 1, w.ParetoK >= 1, "%v", w)
		require.Less(t, w.Unseen*100, 0.5)
		require.Equal(t, c.shape < 1 && !c.trusted, w.EffectiveSize < 0.99, "%v", w)
		require.Equal(t, c.trusted, w.Trusted(), "%v", c)
	}
	e := measure.Weigh(heavy)
	w := measure.NewWeights(heavy)
	w.Warning = ""
	beyond := w.Unseen
	require.InEpsilon(t, (e.Largest-1)/2000/(1-0.7), beyond, 1e-12) // as of k = 0.7, above which nothing is told
	require.Equal(t, measure.Weights{Samples: 2000, EffectiveSize: e.EffectiveSize, ParetoK: k, Tail: tail, Largest: e.Largest, Unseen: beyond, LogZ: e.LogZ, LogZError: math.Hypot(math.Hypot(e.LogZError, 1./2000), beyond), KL: e.KL}, w)
	// The tail counts where it is more than a tenth of a mean's error by chance, 1/√n.
	for _, c := range []struct {
		k, tail float64
		above   bool
	}{{0.7, 0.0011, true}, {0.7, 0.0009, false}, {0.69, 0.0011, false}, {math.NaN(), 0.0011, false}} {
		w := measure.Weights{Samples: 10_000, ParetoK: c.k, Tail: c.tail}
		require.Equal(t, c.above, w.TailAbove(0.7), "%v", c)
	}
}

// TestFiguresOfReweighing: means and variances by weights, and their errors by the delta
// method.
func TestFiguresOfReweighing(t *testing.T) {
	r, w := ratios(50, -3)
	random := rand.New(rand.NewPCG(5, 6))
	f := make([]float64, len(r))
	for i := range f {
		f[i] = 2 + random.NormFloat64()
	}
	r[7], w[7], f[7] = math.Inf(1), 0, math.NaN() // where π vanishes, nothing counts
	byHand := func(f []float64) measure.WeightedMean {
		sum := floats.Sum(w)
		var mean, variance, squares, above, beyond float64
		var apart []float64
		for i := range w {
			if w[i] > 0 {
				mean += w[i] * f[i] / sum
			}
		}
		cut := slices.Sorted(slices.Values(w))[len(w)-11] // a fifth of 50 are the largest
		for i := range w {
			if w[i] > 0 {
				variance += w[i] / sum * math.Pow(f[i]-mean, 2)
				squares += math.Pow(w[i]/sum*(f[i]-mean), 2)
				above += max(0, w[i]-cut)
				beyond += max(0, w[i]-cut) * math.Pow(f[i]-mean, 2)
				apart = append(apart, (w[i]/sum*float64(len(w))-1)*(f[i]-mean))
			}
		}
		reach := math.Sqrt(beyond / above) // what is beyond the largest weight is where the largest are
		var terms []float64
		for i := range w {
			terms = append(terms, w[i]/sum*math.Abs(f[i]-mean))
		}
		terms[7] = 0
		tail := unseen(w) * reach
		var logs []float64
		for _, term := range terms {
			logs = append(logs, math.Log(term))
		}
		if k, _ := stat.ParetoK(logs); k > 0.3 {
			tail = max(tail, slices.Max(terms)/(1-min(k, 0.9)))
		}
		return measure.WeightedMean{Value: mean, StandardError: math.Hypot(math.Sqrt(squares), tail), Deviation: math.Sqrt(variance),
			Apart: gonum.StdErr(gonum.StdDev(apart, nil), float64(len(apart))), Reach: reach}
	}
	agree := func(want, got measure.WeightedMean) {
		require.InDeltaSlice(t, []float64{want.Value, want.StandardError, want.Deviation, want.Apart, want.Reach}, []float64{got.Value, got.StandardError, got.Deviation, got.Apart, got.Reach}, 1e-12)
	}
	reweighing := measure.NewReweighing(r)
	require.Positive(t, reweighing.Unseen)
	want := byHand(f)
	agree(want, reweighing.Mean(f))
	squares := make([]float64, len(f))
	for i := range f {
		squares[i] = (f[i] - want.Value) * (f[i] - want.Value)
	}
	agree(byHand(squares), reweighing.Variance(f))
	require.Equal(t, measure.WeightedMean{Value: -12, StandardError: 6, Deviation: 15, Apart: 3, Reach: 9}, measure.WeightedMean{Value: -4, StandardError: 2, Deviation: 5, Apart: 1, Reach: 3}.Times(3))
	astray := slices.Clone(f)
	astray[7] = 1e9 // without weight, and no noise of the rest
	got := reweighing.Mean(astray)
	require.InDelta(t, math.Hypot(got.StandardError, got.Deviation/math.Sqrt(float64(len(f)))), got.Apart, 1e-12)
	require.InDelta(t, want.Deviation, got.Deviation, 1e-12)
	alike := reweighing.Mean(slices.Repeat([]float64{-0.1}, len(f)))
	require.Equal(t, measure.WeightedMean{Value: -0.1}, alike)
	// What is bounded has no tail, however heavy that of the weights is; what has one has it whatever they are.
	draws := rand.New(rand.NewPCG(8, 9))
	heavy, bounded, powers := make([]float64, 20_000), make([]float64, 20_000), make([]float64, 20_000)
	for i := range heavy {
		heavy[i], bounded[i], powers[i] = 0.9*math.Log(1-draws.Float64()), draws.Float64(), math.Pow(1-draws.Float64(), -0.8)
	}
	few := slices.Clone(powers) // rounded logarithms, none of which is ten deviations large
	for i, v := range few {
		few[i] = math.Round(math.Log(v))
	}
	require.Zero(t, measure.NewReweighing(heavy).Mean(bounded).Shape)
	require.Zero(t, measure.NewReweighing(heavy).Mean(few).Shape)
	require.InDelta(t, 0.8, measure.NewReweighing(heavy).Mean(powers).Shape, 0.15)
	require.InDelta(t, 0.8, measure.NewReweighing(make([]float64, 20_000)).Mean(powers).Shape, 0.1)

	for k, slow := range map[float64]bool{0.69: false, 0.7: true} {
		var m measure.Metric
		a := measure.WeightedMean{Value: 1, StandardError: 2, Shape: k}
		m.Reweigh(a)
		require.Equal(t, []bool{slow, slow, slow}, []bool{a.Slow(), a.Times(3).Slow(), math.IsNaN(m.Reweighted.Interval[1])})
	}
	var same measure.Metric
	same.Reweigh(alike)
	require.True(t, math.IsNaN(same.Reweighted.StandardError) && math.IsNaN(same.Reweighted.Interval[0]) && math.IsNaN(same.Reweighted.Interval[1]))

	for _, relative := range []bool{false, true} {
		m := measure.Metric{Exact: -4, Relative: relative}
		m.Reweigh(measure.WeightedMean{Value: -5, StandardError: 0.5, Apart: 0.25})
		require.Equal(t, map[bool]float64{false: 1, true: 0.25}[relative], m.Reweighted.Error)
		require.Equal(t, []float64{-5, 0.5, 0.25}, []float64{m.Reweighted.Value, m.Reweighted.StandardError, m.Reweighted.Apart})
		require.InDeltaSlice(t, []float64{-5 - 0.979982, -5 + 0.979982}, m.Reweighted.Interval[:], 1e-6)
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

// TestBinsOf: about a quarter of a standard deviation, and whole points of a grid.
func TestBinsOf(t *testing.T) {
	many := make([]float64, 1001)
	for i := range many {
		many[i] = float64(2 * i % 20)
	}
	many[1000] = 0.5 // is not looked at any more
	for _, c := range []struct {
		values          []float64
		mean, deviation float64
		want            measure.Bins
	}{
		{[]float64{3, 3}, 3, 0, measure.Bins{Origin: 2.5, Width: 1, N: 1}},
		{[]float64{3, 3}, 3, 4e-9, measure.Bins{Origin: 2.5, Width: 1, N: 1}},
		{[]float64{2, 0, 1, 5}, 2, 1.5, measure.Bins{Origin: -6.5, Width: 1, N: 17}},
		{[]float64{0, 1, 2, 5}, 2, 6, measure.Bins{Origin: -28.5, Width: 2, N: 32}},
		{[]float64{0, 1, 2.5}, 2, 1.5, measure.Bins{Origin: -5.5, Width: 0.375, N: 41}},
		{[]float64{0, 1, math.Sqrt2}, 2, 2, measure.Bins{Origin: -8, Width: 0.5, N: 41}},
		{[]float64{7, 7}, 2, 2, measure.Bins{Origin: -8, Width: 0.5, N: 41}},
		{many, 10, 4, measure.Bins{Origin: -11, Width: 2, N: 22}},
		{many[1:], 10, 4, measure.Bins{Origin: -10.25, Width: 1, N: 42}},
	} {
		got := measure.BinsOf(c.values, c.mean, c.deviation)
		require.InDelta(t, c.want.Origin, got.Origin, 1e-12, "%v", c.want)
		require.InDelta(t, c.want.Width, got.Width, 1e-12, "%v", c.want)
		require.Equal(t, c.want.N, got.N, "%v", c.want)
	}
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

// TestGroups: means over groups of draws with the standard errors by the groups' scatter, none of
// a single group; and the laws of draws in bins.
func TestGroups(t *testing.T) {
	groups := [][]float64{{1, 2, 2, 9}, {3, 1, 2, 2}, {-1, 2, 3, 3}}
	of := func(g int) float64 { return groups[g][0] }
	require.Equal(t, measure.Estimate{Value: 1}, measure.Scatter(1, of))
	e := measure.Scatter(3, of) // of 1, 3 and −1
	require.InDelta(t, 1, e.Value, 1e-15)
	require.InDelta(t, 2/math.Sqrt(3), e.Uncertainty, 1e-15)
	means, uncertainty := measure.Scatters(3, 2, func(g, k int) float64 { return groups[g][k] })
	require.InDeltaSlice(t, []float64{1, 5. / 3}, means, 1e-15)
	require.InDelta(t, (2+1/math.Sqrt(3))/math.Sqrt(3)/2, uncertainty, 1e-15)
	none, _ := measure.Scatters(3, 0, nil)
	require.Empty(t, none)
	mean, variance := measure.Moments(groups, nil) // of means 3.5, 2 and 1.75, and of squares
	require.InDelta(t, 29./12, mean.Value, 1e-15)
	require.InDelta(t, gonum.StdDev([]float64{3.5, 2, 1.75}, nil)/math.Sqrt(3), mean.Uncertainty, 1e-15)
	var squares []float64
	for _, group := range groups {
		var sum float64
		for _, x := range group {
			sum += (x - 29./12) * (x - 29./12) / 4
		}
		squares = append(squares, sum)
	}
	require.InDelta(t, gonum.Mean(squares, nil), variance.Value, 1e-14)
	require.InDelta(t, gonum.StdDev(squares, nil)/math.Sqrt(3), variance.Uncertainty, 1e-14)
	mean, variance = measure.Moments(groups[:1], []float64{0.125, 0.5, 0.25, 0.125})
	require.Equal(t, []measure.Estimate{{Value: 2.75}, {Value: 5.6875}}, []measure.Estimate{mean, variance})

	b := measure.Bins{Origin: 0.5, Width: 1, N: 3} // of 1 or less, of 2, of 3 or more
	law := b.Law(groups, nil)
	require.Len(t, law, 3)
	for k, shares := range [][]float64{{0.25, 0.25, 0.25}, {0.5, 0.5, 0.25}, {0.25, 0.25, 0.5}} {
		mean, deviation := gonum.MeanStdDev(shares, nil)
		require.InDelta(t, mean, law[k].Value, 1e-15)
		require.InDelta(t, deviation/math.Sqrt(3), law[k].Uncertainty, 1e-15)
	}
	require.Equal(t, []measure.Estimate{{Value: 0.125}, {Value: 0.75}, {Value: 0.125}}, b.Law(groups[:1], []float64{0.125, 0.5, 0.25, 0.125}))
}
