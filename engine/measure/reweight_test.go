package measure_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/measure"
)

// TestHeavyTails: of weights of Pareto's law of shape 0.6, whose variance is infinite, the
// intervals of ln Z and of an average hold in 90 of 100 cases: of 400 in 337 and more but for a
// probability below 1e-4. Without what lies beyond the largest they do not.
func TestHeavyTails(t *testing.T) {
	const n, repeats, shape, z = 2000, 400, 0.6, 1.96
	random := rand.New(rand.NewPCG(1, 2))
	held, narrow, averages, widened := 0, 0, 0, 0
	for range repeats {
		r, f := make([]float64, n), make([]float64, n)
		for i := range r {
			u := random.Float64()
			r[i] = shape * math.Log(u)  // weights u^−k, of mean 1/(1−k)
			f[i] = math.Pow(u, 1-shape) // whose average is 1/2
		}
		w := measure.NewReweighing(r)
		off := math.Abs(w.LogZ + math.Log(1-shape))
		plain := measure.Weigh(r).LogZError
		if off <= z*w.LogZError {
			held++
		}
		if off <= z*plain {
			narrow++
		}
		if a := w.Mean(f); math.Abs(a.Value-0.5) <= z*a.StandardError {
			averages++
		}
		if w.Unseen == 0 {
			require.LessOrEqual(t, w.ParetoK, 0.5)
			require.Equal(t, math.Hypot(plain, 1./n), w.LogZError, "what one sample more may show")
			continue
		}
		widened++
		require.InEpsilon(t, (w.Largest-1)/n/(1-min(w.ParetoK, 0.7)), w.Unseen, 1e-12)
		require.InEpsilon(t, math.Hypot(math.Hypot(plain, 1./n), w.Unseen), w.LogZError, 1e-12)
	}
	t.Log(held, narrow, averages, widened)
	require.GreaterOrEqual(t, held, 337)
	require.Less(t, narrow, held)
	require.GreaterOrEqual(t, averages, 337)
}

// TestHeavyTerms: level weights say nothing of a function with a tail of its own, like the squares
// of a funnel whose logarithm of the variance has the deviation 2.8. Of 400 intervals 337 hold, as
// of weights with a tail, and none is off by five standard errors; to first order some are.
func TestHeavyTerms(t *testing.T) {
	const n, repeats, z, far = 20000, 400, 1.96, 5
	random := rand.New(rand.NewPCG(5, 6))
	var held, narrow, off, narrowOff int
	for range repeats {
		f := make([]float64, n)
		for i := range f {
			f[i] = math.Exp(2.8 * random.NormFloat64())
		}
		a := measure.NewReweighing(make([]float64, n)).Mean(f)
		value, se := a.Value, a.StandardError
		plain, squares := math.Abs(value-math.Exp(3.92)), 0.0
		for _, v := range f {
			squares += (v - value) * (v - value)
		}
		first := math.Sqrt(squares) / n
		for _, c := range []struct {
			count *int
			in    bool
		}{{&held, plain <= z*se}, {&narrow, plain <= z*first}, {&off, plain > far*se}, {&narrowOff, plain > far*first}} {
			if c.in {
				*c.count++
			}
		}
	}
	t.Log(held, narrow, off, narrowOff)
	require.GreaterOrEqual(t, held, 337)
	require.Less(t, narrow, held)
	require.Zero(t, off)
	require.NotZero(t, narrowOff)
}

// TestWithdraw: where a mode is lost there is no interval of ln Z, and no average by weights.
func TestWithdraw(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	r := make([]float64, 1000)
	for i := range r {
		r[i] = 0.1 * random.NormFloat64()
	}
	w := measure.NewWeights(r)
	e := &measure.Evaluation{Metrics: append([]measure.Metric{{Name: "energy", Exact: 1}}, measure.ImportanceMetrics(r, 0)...), Weights: &w}
	e.Metrics[0].Reweigh(measure.WeightedMean{Value: 1.1, StandardError: 0.1, Apart: 0.1})
	require.False(t, math.IsNaN(e.Metrics[2].Interval[0]))
	e.Lost = []string{"mode 2 is missing"}
	e.Warn()
	require.False(t, w.Trusted())
	require.Contains(t, e.Warnings, "by weights there are neither ln Z nor averages: mode 2 is missing")
	require.Nil(t, e.Metrics[0].Reweighted)
	require.Equal(t, "log_z", e.Metrics[2].Name)
	require.True(t, math.IsNaN(e.Metrics[2].Interval[0]) && math.IsNaN(e.Metrics[2].Interval[1]))
	(&measure.Evaluation{}).Withdraw("no weights, nothing to take back")
}

// TestWiden: errors hold what a tail has unseen by weights of more samples, ln Z's as it is and a
// mean's times how far the function is where the largest weights are.
func TestWiden(t *testing.T) {
	r := make([]float64, 1000)
	r[0] = -1
	w := measure.NewWeights(r)
	w.Unseen, w.LogZError = 0.03, 0.05
	e := &measure.Evaluation{Metrics: append([]measure.Metric{{Name: "energy"}, {Name: "order"}}, measure.ImportanceMetrics(r, 0)...), Weights: &w}
	e.Metrics[0].Reweigh(measure.WeightedMean{Value: 1, StandardError: 0.6, Reach: 20})
	before := *e.Metrics[0].Reweighted
	for _, less := range []float64{0, 0.01, 0.03} {
		e.Widen(less)
		require.Equal(t, before, *e.Metrics[0].Reweighted)
		require.Equal(t, 0.05, w.LogZError)
	}
	e.Widen(0.05)
	require.Equal(t, 0.05, w.Unseen)
	require.InDelta(t, math.Hypot(0.05, 0.04), w.LogZError, 1e-12)
	require.InDelta(t, 1, e.Metrics[0].Reweighted.StandardError, 1e-12)
	require.InDeltaSlice(t, []float64{1 - 1.959964, 1 + 1.959964}, e.Metrics[0].Reweighted.Interval[:], 1e-5)
	require.Nil(t, e.Metrics[1].Reweighted)
	require.InDeltaSlice(t, []float64{w.LogZ - 1.959964*w.LogZError, w.LogZ + 1.959964*w.LogZError}, e.Metrics[3].Interval[:], 1e-6)
	e.Withdraw("a mode is lost")
	e.Widen(1)
	require.Nil(t, e.Metrics[0].Reweighted)
	require.True(t, math.IsNaN(e.Metrics[3].Interval[0]) && math.IsNaN(e.Metrics[3].Interval[1]), "what was taken back stays so")
	(&measure.Evaluation{}).Widen(1)
}

// TestBeyond: of n states of π's law so many are beyond what a generator that covers π lets
// be as the definition says, where one is just beyond and just within the bound of each number.
func TestBeyond(t *testing.T) {
	const n, logZ, ess = 6, 3.0, 0.5
	w := measure.Weights{LogZ: logZ, EffectiveSize: ess}
	for m, choose := range []float64{6, 15, 20, 15, 6, 1} {
		m++
		bound := logZ + math.Log(math.Pow(choose*measure.TooRare*math.Pow(2, float64(m-1)), 1/float64(m))/ess)
		for _, by := range []float64{-1e-9, 1e-9} {
			logs := []float64{math.Inf(-1), logZ, 0, -1, logZ + 0.1, -2}
			for i := range m {
				logs[i] = bound + by
			}
			want := 0
			if by > 0 {
				want = m
			}
			require.Equal(t, want, w.CountBeyond(logs), "%d, %v", m, by)
		}
	}
	require.Zero(t, (&measure.Weights{LogZ: math.NaN(), EffectiveSize: math.NaN()}).CountBeyond([]float64{1e9}))
	require.Zero(t, w.CountBeyond(nil))
}

// TestBeyondByChance: states of the law itself are beyond in no more than one of five hundred trials,
// where weights have two values whose ESS is one half.
func TestBeyondByChance(t *testing.T) {
	const trials, n, part = 2000, 128, 1.0 / 128
	random := rand.New(rand.NewPCG(7, 8))
	// q is at the heavier states with a probability of part, whose weight is such that π is with
	// p, and the mean is 1.
	p := math.Sqrt(part)
	high, low := math.Log(p/part), math.Log((1-p)/(1-part))
	w := measure.Weights{EffectiveSize: 1 / (p*p/part + (1-p)*(1-p)/(1-part))}
	require.InDelta(t, 0.544, w.EffectiveSize, 1e-3)
	alarms := 0
	for range trials {
		logs := make([]float64, n)
		for i := range logs {
			if logs[i] = low; random.Float64() < p {
				logs[i] = high
			}
		}
		if w.CountBeyond(logs) > 0 {
			alarms++
		}
	}
	require.LessOrEqual(t, alarms, trials/500)
}

// TestLevel: weights are level by their size and their tail, unless chance hides that.
func TestLevel(t *testing.T) {
	for _, c := range []struct {
		w    measure.Weights
		want bool
	}{
		{measure.Weights{Samples: 10_000, EffectiveSize: 0.99, ParetoK: 0.49, Tail: 0.1}, true},
		{measure.Weights{Samples: 10_000, EffectiveSize: 0.989, ParetoK: 0.1}, false},
		{measure.Weights{Samples: 10_000, EffectiveSize: 1, ParetoK: 0.5, Tail: 0.0011}, false},
		{measure.Weights{Samples: 10_000, EffectiveSize: 1, ParetoK: 0.5, Tail: 0.0009}, true},
		{measure.Weights{Samples: 10_000, EffectiveSize: 1, Warning: "a few stand out"}, false},
	} {
		require.Equal(t, c.want, c.w.Level(), "%+v", c.w)
	}
}
