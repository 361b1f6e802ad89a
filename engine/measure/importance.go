package measure

import (
	"math"

	"github.com/revgen/revgen/internal/stat"
)

// Weigh returns what the weights e^−R of independent samples of a generator say of its density q
// and of a target π, known up to a constant: R = ln q − ln π. They are exact where R is a
// constant, −ln Z. NewWeights also judges the weights' tail.
func Weigh(r []float64) Weights {
	n := float64(len(r))
	low, mean := math.Inf(1), 0.0
	for _, x := range r {
		low = min(low, x)
		mean += x / n
	}
	var sum, squares float64
	for _, x := range r {
		w := math.Exp(low - x)
		sum += w
		squares += w * w
	}
	w := Weights{Samples: len(r), EffectiveSize: sum * sum / (n * squares), Largest: n / sum, LogZ: math.Log(sum/n) - low}
	w.LogZError = math.Sqrt(max(0, 1/w.EffectiveSize-1) / n)
	w.KL = mean + w.LogZ
	return w
}

const logZRow = "log_z"

// ImportanceMetrics returns the rows of a table that a known density makes possible, given R of
// the samples: the effective sample size of importance weights, as a fraction of the samples; ln Z
// by weights; and KL(q‖π). logZ is the exact ln Z, NaN if it is not known: then the row of ln Z has
// no error, and there is no row of the divergence.
func ImportanceMetrics(r []float64, logZ float64) []Metric {
	estimate, kl := NewWeights(r), stat.MeanOf(r)
	rows := []Metric{
		{
			Name: "effective_sample_size", Exact: 1, Generated: estimate.EffectiveSize, Error: max(0, 1-estimate.EffectiveSize),
			Interval: around(estimate.EffectiveSize, sizeError(r)),
		},
		{
			Name: logZRow, Exact: logZ, Generated: estimate.LogZ, Error: math.Abs(estimate.LogZ - logZ),
			Interval: around(estimate.LogZ, estimate.LogZError),
		},
	}
	if math.IsNaN(logZ) {
		return rows
	}
	// Parameters and states in float32 leave ln q uncertain by about this much.
	const rounding = 0x1p-23
	chance := math.Hypot(Weigh(r).LogZError, estimate.Unseen)
	rows[1] = rows[1].Judged(stat.MeanAbsolute(math.Hypot(chance, rounding)), nil)
	divergence := kl.Value() + logZ
	return append(rows, Metric{
		Name: "kl_by_density", Generated: divergence, Error: math.Abs(divergence),
		Interval: around(divergence, kl.StandardError()),
	})
}

// around is stat.Interval, or NaN where the standard error is NaN.
func around(value, standardError float64) [2]float64 {
	if math.IsNaN(standardError) {
		return [2]float64{math.NaN(), math.NaN()}
	}
	return stat.Interval(value, standardError)
}

// sizeError returns the standard error of the effective sample size by the jackknife: it leaves
// out one part of the samples after the other.
func sizeError(r []float64) float64 {
	const parts = 32
	n := len(r)
	if n < parts {
		return math.NaN()
	}
	var without stat.Mean
	others := make([]float64, 0, n)
	for k := range parts {
		others = append(append(others[:0], r[:k*n/parts]...), r[(k+1)*n/parts:]...)
		without.Add(Weigh(others).EffectiveSize)
	}
	return without.Deviation() * (parts - 1) / math.Sqrt(parts)
}
