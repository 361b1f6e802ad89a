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
		plain := measure.NewImportance(r).Error
		if off <= z*w.LogZError {
			held++
		}
		if off <= z*plain {
			narrow++
		}
		value, se := w.Mean(f)
		if math.Abs(value-0.5) <= z*se {
			averages++
		}
		if w.Unseen == 0 {
			require.LessOrEqual(t, w.ParetoK, 0.5)
			require.Equal(t, plain, w.LogZError)
			continue
		}
		widened++
		require.InEpsilon(t, w.Largest/n/(1-min(w.ParetoK, 0.7)), w.Unseen, 1e-12)
		require.InEpsilon(t, math.Hypot(plain, w.Unseen), w.LogZError, 1e-12)
	}
	t.Log(held, narrow, averages, widened)
	require.GreaterOrEqual(t, held, 337)
	require.Less(t, narrow, held)
	require.GreaterOrEqual(t, averages, 337)
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
	e.Metrics[0].Reweigh(1.1, 0.1)
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
