package run_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	gonum "gonum.org/v1/gonum/stat"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
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
		return slices.Max(weights) / gonum.Mean(weights, nil) / float64(len(weights)) / (1 - min(k, 0.7))
	}
	return 0
}

// TestFiguresOfImportance computes what weights say by the textbook's formulas, and the
// error of the effective size by the block jackknife's.
func TestFiguresOfImportance(t *testing.T) {
	for _, n := range []int{32, 100} {
		r, w := ratios(n, 0.3)
		mean, variance := gonum.PopMeanVariance(w, nil)
		e := measure.NewImportance(r)
		require.InDelta(t, math.Log(mean), e.LogZ, 1e-12)
		require.InEpsilon(t, math.Sqrt(variance/float64(n))/mean, e.Error, 1e-9, "of ln of a mean, by the delta method")
		require.InEpsilon(t, size(w), e.ESS, 1e-12)
		require.InEpsilon(t, slices.Max(w)/mean, e.Largest, 1e-12)
		require.InDelta(t, gonum.Mean(r, nil)+math.Log(mean), e.KL, 1e-12)
		far, _ := ratios(n, 2000.3) // whose weights underflow
		require.InDelta(t, e.LogZ-2000, measure.NewImportance(far).LogZ, 1e-9)
		require.InEpsilon(t, e.Error, measure.NewImportance(far).Error, 1e-9)

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
		check(rows[0], "effective_sample_size", 1, e.ESS, 1-e.ESS, jackknife)
		wide := math.Hypot(e.Error, unseen(w))
		require.Greater(t, wide, e.Error)
		check(rows[1], "log_z", 0.7, e.LogZ, math.Abs(e.LogZ-0.7), wide)
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
	e := measure.NewImportance(heavy)
	w := measure.NewWeights(heavy)
	w.Warning = ""
	beyond := w.Unseen
	require.InEpsilon(t, e.Largest/2000/(1-0.7), beyond, 1e-12) // as of k = 0.7, above which nothing is told
	require.Equal(t, measure.Weights{Samples: 2000, EffectiveSize: e.ESS, ParetoK: k, Tail: tail, Largest: e.Largest, Unseen: beyond, LogZ: e.LogZ, LogZError: math.Hypot(e.Error, beyond), KL: e.KL}, w)
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
	byHand := func(f []float64) (mean, standardError float64) {
		var sum, weights, squares, all float64
		for i := range w {
			if w[i] > 0 {
				sum, weights = sum+w[i]*f[i], weights+w[i]
			}
		}
		for i := range w {
			if w[i] > 0 {
				squares += math.Pow(w[i]*(f[i]-sum/weights), 2)
				all += w[i] * w[i]
			}
		}
		// What is beyond the largest weight is spread as the largest are.
		return sum / weights, math.Hypot(math.Sqrt(squares)/weights, unseen(w)*math.Sqrt(squares/all))
	}
	reweighing := measure.NewReweighing(r)
	mean, standardError, _ := reweighing.Mean(f)
	wantMean, wantError := byHand(f)
	require.InDelta(t, wantMean, mean, 1e-12)
	require.InDelta(t, wantError, standardError, 1e-12)
	squares := make([]float64, len(f))
	for i := range f {
		squares[i] = (f[i] - wantMean) * (f[i] - wantMean)
	}
	mean, standardError, _ = reweighing.Variance(f)
	wantMean, wantError = byHand(squares)
	require.InDelta(t, wantMean, mean, 1e-12)
	require.InDelta(t, wantError, standardError, 1e-12)

	for _, relative := range []bool{false, true} {
		m := measure.Metric{Exact: -4, Relative: relative}
		m.Reweigh(-5, 0.5, 0.25)
		require.Equal(t, map[bool]float64{false: 1, true: 0.25}[relative], m.Reweighted.Error)
		require.Equal(t, []float64{-5, 0.5}, []float64{m.Reweighted.Value, m.Reweighted.StandardError})
		require.InDeltaSlice(t, []float64{-5 - 0.979982, -5 + 0.979982}, m.Reweighted.Interval[:], 1e-6)
	}
}

// TestFloors: errors in units of those of exact samples, with that of the reference, and
// none where float32 may be to blame.
func TestFloors(t *testing.T) {
	for _, c := range []struct {
		m    measure.Metric
		want float64
	}{
		{measure.Metric{Error: 0.06, Floor: 0.02}, 3},
		{measure.Metric{Error: 0.1, Floor: 0.03, Uncertainty: 0.04 * math.Sqrt(math.Pi/2)}, 2},
		{measure.Metric{Exact: -20, Error: 1.9e-5, Floor: 1e-5}, 0},
		{measure.Metric{Exact: -20, Error: 2.1e-5, Floor: 1e-5}, 2.1},
		{measure.Metric{Exact: 0.1, Error: 0.9e-6, Floor: 1e-6}, 0},
		{measure.Metric{Exact: 0.1, Error: 1.1e-6, Floor: 1e-6}, 1.1},
		{measure.Metric{Exact: 20, Relative: true, Error: 0.9e-6, Floor: 1e-6}, 0},
		{measure.Metric{Exact: 20, Relative: true, Error: 1.1e-6, Floor: 1e-6}, 1.1},
	} {
		require.InDelta(t, c.want, c.m.Floors(), 1e-9, "%+v", c.m)
	}
	// Far at a level of 0.1 % of a table's rows: of one average 3.2905/0.7979 = 4.124 floors; by a
	// law of errors as far above 1 as its 95 % are, times 3.0902/1.6449; and half of 0.1 % of two.
	law := stat.NewNull([]float64{0.01, 0.02, 0.03})
	for _, c := range []struct {
		err, quantile float64
		law           stat.Null
		rows          int
		sound         bool
	}{
		{0.0412, 0, nil, 1, true}, {0.0413, 0, nil, 1, false}, {0.0413, 0, nil, 2, true}, {0.0437, 0, nil, 2, false},
		{0.087, 0.051, law, 1, true}, {0.0871, 0.051, law, 1, false}, {0.0299, 0.011, law, 1, true}, {0.0301, 0.011, law, 1, false},
	} {
		e := measure.Evaluation{Metrics: []measure.Metric{{Error: c.err, Floor: 0.01, Quantile: c.quantile, Law: c.law}}}
		for len(e.Metrics) < c.rows {
			e.Metrics = append(e.Metrics, measure.Metric{Error: 0.01, Floor: 0.01})
		}
		require.Equal(t, c.sound, len(e.Refuted()) == 0, "%v", c)
		e.Warn()
		require.Equal(t, c.sound, len(e.Warnings) == 0, "%v", c)
	}
	e := measure.Evaluation{Weights: &measure.Weights{Warning: "k̂"}}
	e.Warn()
	require.Equal(t, []string{"k̂"}, e.Warnings, "that of the weights")
}

// TestRejectedProposals: what a warning says of the first steps, and once.
func TestRejectedProposals(t *testing.T) {
	for acceptance, want := range map[float64]string{
		0.0099: "only 0.99 % of the proposals of the first 50 steps were accepted: the generator starts too far from the target",
		0.01:   "",
	} {
		for _, steps := range []int{150, 20} {
			c := newToy()
			c.Training.Steps, c.acceptance = steps, acceptance
			r, err := train(t, context.Background(), c, 1, run.Options{})
			require.NoError(t, err)
			if want == "" {
				require.Empty(t, r.Warnings)
				continue
			}
			require.Len(t, r.Warnings, 1)
			require.Contains(t, r.Warnings[0], "only 0.99 % of the proposals of the first "+fmt.Sprint(min(steps, 50))+" steps were accepted: the generator starts too far from the target")
		}
	}
}

// TestAnnealing: β rises along a straight line and then is 1.
func TestAnnealing(t *testing.T) {
	a := engine.Annealing{Anneal: 0.4, AnnealFrom: 0.2}
	require.NoError(t, a.Validate())
	for step, want := range map[int]float64{0: 0.2, 10: 0.4, 30: 0.8, 39: 0.98, 40: 1, 41: 1, 99: 1} {
		require.InDelta(t, want, a.At(step, 100), 1e-12, step)
	}
	require.Equal(t, 1.0, (&engine.Annealing{}).At(0, 100))
	for bad, key := range map[engine.Annealing]string{{Anneal: 1.1, AnnealFrom: 0.5}: "anneal:", {Anneal: 0.5, AnnealFrom: 1.1}: "anneal_from: 1.1 is more than 1", {Anneal: 0.5}: "anneal_from:"} {
		require.ErrorContains(t, bad.Validate(), key)
	}
	require.NoError(t, (&engine.Annealing{Anneal: 1, AnnealFrom: 1}).Validate())
}

// TestSentences: what a report says of how a generator was trained.
func TestSentences(t *testing.T) {
	for partners, want := range map[float64]string{
		0: "pairs (s, s′) are one sweep apart", 1: "pairs (s, s′) are independent samples",
		0.3: "pairs (s, s′): 70 % are one sweep apart, 30 % are independent samples",
	} {
		require.Equal(t, "trained by reversibility on its log density; loss ½ E (R(s) − R(s′))² with R = ln q − ln π; "+want, (&engine.Balancing{Partners: partners}).Explain(engine.Moves(1, "sweep")))
	}
	require.Equal(t, "3 steps", engine.Moves(3, "step"))
	require.Equal(t, "trained by reversibility on pairs of samples; loss: MMD between the laws of (s, s′) and (s′, s); s and s′ are 3 steps apart", engine.ByPairs("MMD", "3 steps"))
	var c engine.Count
	require.Zero(t, c.Rate())
	c.Add(engine.Count{Proposed: 8, Accepted: 2})
	c.Add(engine.Count{Proposed: 8, Accepted: 1})
	require.Equal(t, 3.0/16, c.Rate())
}
