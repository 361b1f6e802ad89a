package measure

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// Weights are what the importance weights of a generator's samples are worth.
type Weights struct {
	Samples int `json:"samples"`
	// EffectiveSize is Kish's, as a fraction of the samples.
	EffectiveSize float64 `json:"effective_size"`
	ParetoK       float64 `json:"pareto_k"` // shape k̂ of the law of the largest weights
	Tail          float64 `json:"tail"`     // excess of these over the next largest, as a share of the sum of all
	Largest       float64 `json:"largest"`  // largest weight in units of the mean
	// Unseen is the part of Z beyond the largest weight: the part that is expected there if k̂ is
	// above 0.5, or the part that chains found. All errors include it.
	Unseen    float64 `json:"unseen,omitempty"`
	LogZ      float64 `json:"log_z"`
	LogZError float64 `json:"log_z_error"`
	KL        float64 `json:"kl"` // KL(q‖π), if LogZ is right
	// Warning says why means by the weights cannot be trusted, "" if they can.
	Warning string `json:"warning,omitempty"`
}

// Bounds on weights. k̂ is Pareto's shape of the largest of them.
const (
	minEffective = 100  // independent samples that usable weights are worth
	levelSize    = 0.99 // effective size from which on weights hardly vary
	ampleSize    = 0.9  // effective size from which on the generator covers most of the target
	outlier      = 10   // weight, over the mean, and term, over the deviation, above which values stand out

	maxK              = 0.7 // k̂ above which means converge too slowly (Vehtari et al., 2024)
	infiniteVarianceK = 0.5 // k̂ above which the variance is infinite, so that more weights show more of it
	noMeanK           = 1   // k̂ from which on weights have no mean, and nothing bounds the unseen part of Z
	slowK             = 0.3 // k̂ of a function's terms above which the largest have much of the variance
	maxSlowK          = 0.9 // limit of the k̂ of terms
	minTail           = 0.1 // share of a tail that is less than a mean's error by chance, in units of 1/√n
	maxUnseen         = 0.5 // largest unseen part of Z of usable weights, in units of 1/√n
	maxTail           = 0.3 // largest share of a tail without a mean, in units of 1/√n
)

// NewWeights is Weigh of samples with R = r, with the tail of the weights and a warning.
func NewWeights(r []float64) Weights {
	logs := make([]float64, len(r))
	for i, x := range r {
		logs[i] = -x
	}
	w := Weigh(r)
	w.ParetoK, w.Tail = stat.ParetoK(logs)
	n, k := float64(len(r)), w.ParetoK
	// The weights say nothing of a region where q expects less than one sample.
	w.LogZError = math.Hypot(w.LogZError, 1/n)
	if k > infiniteVarianceK {
		// Pareto's law has this share beyond the largest of n weights, which is exceeded with a
		// probability of 1/n. The mean is subtracted: its error by chance is counted already.
		w.Unseen = (w.Largest - 1) / n / (1 - min(k, maxK))
		w.LogZError = math.Hypot(w.LogZError, w.Unseen)
	}
	switch size := w.EffectiveSize * n; {
	case math.IsNaN(size):
		w.Warning = "the samples have no weights: π vanishes at all of them"
	case w.HeavyTailed() && (!w.Even() || w.Unseen*math.Sqrt(n) > maxUnseen || k >= noMeanK && w.Tail*math.Sqrt(n) > maxTail):
		w.Warning = fmt.Sprintf("the largest weights have a tail of Pareto's k̂ = %.2f; above %g neither the weights nor ln Z can be trusted", w.ParetoK, maxK)
	case math.IsNaN(k) && w.Largest > outlier:
		w.Warning = fmt.Sprintf("a few weights, up to %.3g times the mean, stand out from all others: what is behind them cannot be told", w.Largest)
	case size < minEffective:
		w.Warning = fmt.Sprintf("the samples' weights are worth %.3g independent samples of the target: neither the weights nor ln Z can be trusted", size)
	}
	return w
}

// TailAbove reports whether the shape k̂ of the largest weights is at least k, and their tail is larger
// than chance.
func (w *Weights) TailAbove(k float64) bool {
	return w.ParetoK >= k && w.Tail > minTail/math.Sqrt(float64(w.Samples))
}

// TooRare bounds false alarms of CountBeyond: if the generator covers π, m states of exact chains exceed
// the bound for m with a probability of at most 2^(1−m)/TooRare.
const TooRare = 1000

// CountBeyond returns the largest m such that the m largest weights of independent chains' states are
// too large for a generator that covers π. logWeights are the states' ln w. By Markov's inequality
// a state with law π has a weight above t times the mean with a probability of at most 1/(t·ESS).
// So m of n states have such weights with a probability of at most C(n, m)/(t·ESS)ᵐ.
func (w *Weights) CountBeyond(logWeights []float64) (largest int) {
	sorted := slices.Sorted(slices.Values(logWeights))
	choose, n := 0.0, len(sorted)
	for m := 1; m <= n; m++ {
		choose += math.Log(float64(n-m+1) / float64(m))
		t := (choose + math.Log(TooRare) + float64(m-1)*math.Ln2) / float64(m)
		if sorted[n-m] > w.LogZ-math.Log(w.EffectiveSize)+t {
			largest = m
		}
	}
	return largest
}

// Level reports whether the weights hardly vary and can be trusted. They then show every error of
// the samples, except for regions that the samples leave out.
func (w *Weights) Level() bool { return w.Trusted() && w.Even() && !w.TailAbove(infiniteVarianceK) }

// Ample reports whether the generator covers most of the target that its samples have seen.
func (w *Weights) Ample() bool { return w.EffectiveSize >= ampleSize }

// Even reports whether most of the weights hardly vary.
func (w *Weights) Even() bool { return w.EffectiveSize >= levelSize }

// HeavyTailed reports whether the tail of the weights is so heavy that means converge too slowly. Even
// weights of a nearly exact density may have such a tail.
func (w *Weights) HeavyTailed() bool { return w.TailAbove(maxK) }

// Trusted reports whether means by the weights can be used.
func (w *Weights) Trusted() bool { return w.Warning == "" }

// MarshalJSON implements json.Marshaler: not all figures need be finite.
func (w Weights) MarshalJSON() ([]byte, error) { return number.Marshal(w) }

// UnmarshalJSON implements json.Unmarshaler.
func (w *Weights) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, w) }

// A Reweighted figure is the average of a Metric's row by importance weights. It converges to the
// exact value for every generator that covers the target.
type Reweighted struct {
	Value         float64    `json:"value"`
	StandardError float64    `json:"standard_error"` // to first order in 1/√n
	Interval      [2]float64 `json:"interval"`       // of 95 %
	Error         float64    `json:"error"`          // |Value − exact|, divided by |exact| if the Metric is relative
	Apart         float64    `json:"apart"`          // standard error of Value − Generated, which share their samples
	Reach         float64    `json:"reach"`          // WeightedMean.Reach
}

// MarshalJSON implements json.Marshaler.
func (r Reweighted) MarshalJSON() ([]byte, error) { return number.Marshal(r) }

// UnmarshalJSON implements json.Unmarshaler.
func (r *Reweighted) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, r) }

// A Reweighing takes means over the target by weights of a generator's samples.
type Reweighing struct {
	Weights
	shares []float64 // the samples' weights e^−R/(n Z), whose sum is 1
	large  float64   // share above which a weight belongs to the tail
}

// NewReweighing returns the Reweighing of samples with R = r.
func NewReweighing(r []float64) *Reweighing {
	w := &Reweighing{Weights: NewWeights(r), shares: make([]float64, len(r))}
	for i, x := range r {
		w.shares[i] = math.Exp(-x-w.LogZ) / float64(len(r))
	}
	if tail := stat.TailSize(len(r)); tail < len(r) {
		w.large = stat.Largest(w.shares, tail+1)[0]
	}
	return w
}

// A WeightedMean is a function's mean over the target, by weights.
type WeightedMean struct {
	Value, StandardError float64
	Deviation            float64 // standard deviation of the function over the target
	// Apart is the standard error of the difference between Value and the mean without weights.
	// Both share their samples, so only the noise of the weights is left. Its upper bound is the
	// error of Value and of a mean of as many exact samples, in quadrature. Without the bound a few
	// samples far away, with no weight, would hide the difference that they make.
	Apart float64
	// Reach is the root mean square of f − Value over the largest weights. An unseen part of Z
	// moves the mean by Reach times that part.
	Reach float64
	// Shape is Pareto's k̂ of the largest w |f − Value|, with w of 1 at most in units of the mean
	// weight. It is 0 if k̂ is small, or no such term is many deviations large.
	Shape float64
}

// Slow reports whether the function's own tail is so heavy that averages of it hardly converge.
func (a WeightedMean) Slow() bool { return a.Shape >= maxK }

// Times returns the mean of the function times x > 0.
func (a WeightedMean) Times(x float64) WeightedMean {
	return WeightedMean{x * a.Value, x * a.StandardError, x * a.Deviation, x * a.Apart, x * a.Reach, a.Shape}
}

// Mean returns the self-normalised mean Σ w f / Σ w of a function's values. Its standard error is that
// of the delta method and of a tail, in quadrature. The tail is the larger of two: the weights'
// unseen tail, with f as at the largest weights, and the tail of the terms w |f − mean|, which a
// funnel's squares have for any weights. Values of samples without weight do not count.
func (w *Reweighing) Mean(f []float64) WeightedMean {
	var a WeightedMean
	low, high := math.Inf(1), math.Inf(-1)
	for i, share := range w.shares {
		if share > 0 {
			a.Value += share * f[i]
			low, high = min(low, f[i]), max(high, f[i])
		}
	}
	if low == high {
		a.Value = low // without the rounding of the sum
	}
	var variance, squares, excesses, excessSquares float64
	terms, capped := make([]float64, len(f)), make([]float64, len(f)) // w |f − value|, and with w of 1 at most
	var difference stat.Mean                                          // mean of (w − 1)(f − value)
	for i, share := range w.shares {
		if share > 0 {
			off := f[i] - a.Value
			variance += share * off * off
			squares += share * share * off * off
			terms[i], capped[i] = share*math.Abs(off), min(share, 1/float64(len(f)))*math.Abs(off)
			if excess := share - w.large; excess > 0 {
				excesses += excess
				excessSquares += excess * off * off
			}
		}
		if number.Finite(f[i]) {
			difference.Add((share*float64(len(f)) - 1) * (f[i] - a.Value))
		}
	}
	if excesses > 0 {
		a.Reach = math.Sqrt(excessSquares / excesses)
	}
	tail := w.Unseen * a.Reach
	if k, _ := stat.ParetoTail(terms); k > slowK {
		tail = max(tail, slices.Max(terms)/(1-min(k, maxSlowK)))
	}
	if k, _ := stat.ParetoTail(capped); k > slowK && slices.Max(capped)*float64(len(f)) > outlier*math.Sqrt(variance) {
		a.Shape = k
	}
	a.StandardError, a.Deviation = math.Hypot(math.Sqrt(squares), tail), math.Sqrt(variance)
	a.Apart = min(difference.StandardError(), math.Hypot(a.StandardError, a.Deviation/math.Sqrt(float64(len(f)))))
	return a
}

// Variance returns the Mean of the squared distances of a function's values from their Mean.
func (w *Reweighing) Variance(f []float64) WeightedMean {
	mean := w.Mean(f).Value
	squares := make([]float64, len(f))
	for i, v := range f {
		squares[i] = (v - mean) * (v - mean)
	}
	return w.Mean(squares)
}

// Widen raises the weights' Unseen to at least unseen, and widens all intervals by weights with it.
func (e *Evaluation) Widen(unseen float64) {
	w := e.Weights
	if w == nil {
		return
	}
	increase := w.Widen(unseen)
	for i := range e.Metrics {
		switch m := &e.Metrics[i]; {
		case m.Name == logZRow && !math.IsNaN(m.Interval[0]): // not withdrawn
			m.Interval = around(m.Generated, w.LogZError)
		case m.Reweighted != nil:
			m.Reweighted.widen(increase)
		}
	}
}

// Widen raises Unseen to at least unseen. It returns the increase in quadrature, which LogZError has too.
func (w *Weights) Widen(unseen float64) (increase float64) {
	increase = math.Sqrt(max(0, unseen*unseen-w.Unseen*w.Unseen))
	w.Unseen, w.LogZError = max(w.Unseen, unseen), math.Hypot(w.LogZError, increase)
	return increase
}

// widen adds the error by an unseen part of Z.
func (r *Reweighted) widen(unseen float64) {
	r.StandardError = math.Hypot(r.StandardError, unseen*r.Reach)
	r.Interval = around(r.Value, r.StandardError)
}

// Withdraw removes the averages by weights and the interval of ln Z, for samples that lack a part of
// the target. Weights do not see that part.
func (e *Evaluation) Withdraw(why string) {
	if e.Weights == nil {
		return
	}
	e.Weights.Warning = why
	for i := range e.Metrics {
		m := &e.Metrics[i]
		m.Reweighted = nil
		if m.Name == logZRow {
			m.Interval = [2]float64{math.NaN(), math.NaN()}
		}
	}
}

// Reweigh adds a row's average by weights. The average has no interval if it hardly converges, or if
// all samples have one value: they do not tell how often the target has another.
func (m *Metric) Reweigh(a WeightedMean) {
	if a.StandardError == 0 || a.Slow() {
		a.StandardError = math.NaN()
	}
	r := &Reweighted{
		Value: a.Value, StandardError: a.StandardError, Interval: around(a.Value, a.StandardError),
		Error: math.Abs(a.Value - m.Exact), Apart: a.Apart, Reach: a.Reach,
	}
	if m.Relative {
		r.Error /= math.Abs(m.Exact)
	}
	m.Reweighted = r
}
