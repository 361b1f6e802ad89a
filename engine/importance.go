package engine

import (
	"math"
	"slices"

	"github.com/revgen/revgen/internal/stat"
)

// An Importance is what the weights e^−R say of a target π, known up to a
// constant, and of a generator whose density q is known: of independent samples
// of the generator, R = ln q − ln π. It is exact where R is a constant, which then
// is −ln Z.
type Importance struct {
	LogZ, Error float64 // ln Z, with its standard error
	ESS         float64 // effective sample size, as a fraction of the samples
	KL          float64 // E[R] + ln Z, KL(q‖π) if LogZ is right
	Largest     float64 // the largest weight, in units of the mean
}

// NewImportance returns the estimates that R of some samples gives.
func NewImportance(r []float64) Importance {
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
	e := Importance{LogZ: math.Log(sum/n) - low, ESS: sum * sum / (n * squares), Largest: n / sum}
	e.Error = math.Sqrt(max(0, 1/e.ESS-1) / n)
	e.KL = mean + e.LogZ
	return e
}

// ImportanceMetrics returns the rows of a table that a known density makes
// possible, given R of the samples: the effective sample size of importance
// weights, as a fraction of the samples; ln Z by them beside its exact value; and
// KL(q‖π), which needs that value alone. If ln Z is NaN it is not known: the row
// of ln Z is without an error, and that of the divergence is missing.
func ImportanceMetrics(r []float64, logZ float64) []Metric {
	estimate := NewImportance(r)
	var kl stat.Mean
	for _, x := range r {
		kl.Add(x)
	}
	rows := []Metric{
		{
			Name: "effective_sample_size", Exact: 1, Generated: estimate.ESS, Error: max(0, 1-estimate.ESS),
			Interval: around(estimate.ESS, sizeError(r)),
		},
		{
			Name: "log_z", Exact: logZ, Generated: estimate.LogZ, Error: math.Abs(estimate.LogZ - logZ),
			Interval: around(estimate.LogZ, estimate.Error),
		},
	}
	if math.IsNaN(logZ) {
		return rows
	}
	// Parameters and states in float32 leave ln q uncertain by so much.
	const rounding = 0x1p-23
	rows[1] = rows[1].Judged(stat.MeanAbsolute(math.Hypot(estimate.Error, rounding)), nil)
	divergence := kl.Value() + logZ
	return append(rows, Metric{
		Name: "kl_by_density", Generated: divergence, Error: math.Abs(divergence),
		Interval: around(divergence, kl.StandardError()),
	})
}

// around is stat.Interval, of which nothing is left where the error is not known.
func around(value, standardError float64) [2]float64 {
	if math.IsNaN(standardError) {
		return [2]float64{math.NaN(), math.NaN()}
	}
	return stat.Interval(value, standardError)
}

// sizeError returns the standard error of the effective sample size, by
// leaving out one part of the samples after the other.
func sizeError(r []float64) float64 {
	const parts = 32
	n := len(r)
	if n < parts {
		return math.NaN()
	}
	var without stat.Mean
	rest := make([]float64, 0, n)
	for k := range parts {
		rest = append(append(rest[:0], r[:k*n/parts]...), r[(k+1)*n/parts:]...)
		without.Add(NewImportance(rest).ESS)
	}
	return without.Deviation() * (parts - 1) / math.Sqrt(parts)
}

// A Divergence is KL(q‖π) of a generator with a density, for the step of a system:
// its gradient by the score function,
//
//	E_q[(R − E R) ∇ln q],   R = ln q(x) − ln π(x),
//
// needs neither moves nor the target's gradient, and its noise vanishes with the
// variance of R where q = π.
type Divergence struct {
	R      []float64 // of each sample of the batch
	Weight []float64 // the coefficient of its ∇ln q
	Total  float64   // Σ of the coefficients
	// Rate is the fraction of the samples that independence Metropolis would
	// accept.
	Rate float64

	forward uint32 // step after which the coefficients are those of KL(π‖q)
}

// NewDivergence makes room for the batch of a training, in whose last steps, of which
// forward is the fraction, it is KL(π‖q) that is descended.
func NewDivergence(t *Training, forward float64) *Divergence {
	return &Divergence{
		R: make([]float64, t.Batch), Weight: make([]float64, t.Batch),
		forward: uint32(math.Ceil((1 - forward) * float64(t.Steps))),
	}
}

// Measure returns KL(q‖π) as the batch of a step estimates it, with its own ln Z,
// whichever divergence it is whose coefficients it sets, the mean of the others' R taken
// as the baseline.
func (d *Divergence) Measure(step uint32) float64 {
	highest := math.Inf(-1)
	for _, r := range d.R {
		if !math.IsInf(r, 1) {
			highest = max(highest, r)
		}
	}
	var mean float64
	for i, r := range d.R {
		if math.IsInf(r, 1) {
			d.R[i] = highest + outside
		}
		mean += d.R[i]
	}
	n := float64(len(d.R))
	mean /= n
	d.Rate, d.Total = 0, 0
	for i, r := range d.R {
		d.Weight[i] = (r - mean) / (n - 1)
		d.Total += d.Weight[i]
		d.Rate += math.Exp(min(0, r-d.R[(i+1)%len(d.R)])) / n
	}
	if step > d.forward {
		d.turn()
	}
	return NewImportance(d.R).KL
}

// mostWeight is what a sample's weight counts at most in turn, in units of the mean.
const mostWeight = 20

// turn sets the coefficients to those of the gradient of KL(π‖q),
//
//	−E_π[∇ln q] = E_q[(E w − w) ∇ln q],   w = e^−R / E_q[e^−R],
//
// with w by the batch itself and at most mostWeight. Where KL(q‖π) hardly sees what q has
// too little of, this does.
func (d *Divergence) turn() {
	low, sum, n := slices.Min(d.R), 0.0, float64(len(d.R))
	for i, r := range d.R {
		d.Weight[i] = math.Exp(low - r)
		sum += d.Weight[i]
	}
	var mean float64
	for i, w := range d.Weight {
		d.Weight[i] = min(n*w/sum, mostWeight)
		mean += d.Weight[i] / n
	}
	d.Total = 0
	for i, w := range d.Weight {
		d.Weight[i] = (mean - w) / n
		d.Total += d.Weight[i]
	}
}
