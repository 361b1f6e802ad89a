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
	Tail          float64 `json:"tail"`     // sum of how far these are above the next one, over the sum of all
	Largest       float64 `json:"largest"`  // largest weight in units of the mean
	// Unseen is the part of Z that is expected beyond the largest weight if k̂ is above 0.5, or
	// that chains found there. All errors include it.
	Unseen    float64 `json:"unseen,omitempty"`
	LogZ      float64 `json:"log_z"`
	LogZError float64 `json:"log_z_error"`
	KL        float64 `json:"kl"` // KL(q‖π), if LogZ is right
	// Warning says why means by the weights cannot be trusted, "" if nothing was seen.
	Warning string `json:"warning,omitempty"`
}

// Bounds on weights. k̂ is Pareto's shape of the largest of them.
const (
	minEffective = 100  // independent samples that usable weights are worth
	levelSize    = 0.99 // effective size from which on weights hardly vary
	ampleSize    = 0.9  // effective size from which on the generator covers most of the target
	outlier      = 10   // weight in means, and term in deviations, above which values stand out

	maxK      = 0.7 // k̂ above which means converge too slowly (Vehtari et al., 2024)
	heavyK    = 0.5 // k̂ above which as many weights have less than the variance of more
	noMeanK   = 1   // k̂ from which on weights have no mean, and nothing bounds what is unseen
	slowK     = 0.3 // k̂ of a function's terms above which the largest have much of its variance
	maxSlowK  = 0.9 // k̂ that terms are taken to have at most
	minTail   = 0.1 // 1/√n of the sum of weights, below which a tail is less than a mean's error by chance
	maxUnseen = 0.5 // 1/√n of Z that a tail of usable weights may have unseen
	maxTail   = 0.3 // 1/√n of the sum that a tail without a mean may have
)

// NewWeights judges the weights e^−R of samples.
func NewWeights(r []float64) Weights {
	logs := make([]float64, len(r))
	for i, x := range r {
		logs[i] = -x
	}
	w := Weigh(r)
	w.ParetoK, w.Tail = stat.ParetoK(logs)
	n, k := float64(len(r)), w.ParetoK
	// Where q expects less than one sample, nothing is known of the weights.
	w.LogZError = math.Hypot(w.LogZError, 1/n)
	if k > heavyK {
		// Pareto's law has this share beyond the largest of n weights, which is exceeded with a
		// probability of 1/n. The mean is subtracted: its error by chance is counted already.
		w.Unseen = (w.Largest - 1) / n / (1 - min(k, maxK))
		w.LogZError = math.Hypot(w.LogZError, w.Unseen)
	}
	switch worth := w.EffectiveSize * n; {
	case math.IsNaN(worth):
		w.Warning = "the samples have no weights: π vanishes at all of them"
	case w.HeavyTailed() && (!w.Even() || w.Unseen*math.Sqrt(n) > maxUnseen || k >= noMeanK && w.Tail*math.Sqrt(n) > maxTail):
		w.Warning = fmt.Sprintf("the largest weights have a tail of Pareto's k̂ = %.2f; above %g neither the weights nor ln Z can be trusted", w.ParetoK, maxK)
	case math.IsNaN(k) && w.Largest > outlier:
		w.Warning = fmt.Sprintf("a few weights, up to %.3g times the mean, stand out from all others: what is behind them cannot be told", w.Largest)
	case worth < minEffective:
		w.Warning = fmt.Sprintf("the samples' weights are worth %.3g independent samples of the target: neither the weights nor ln Z can be trusted", worth)
	}
	return w
}

// TailAbove reports whether the largest weights have a tail of a shape of at least k, and one large
// enough to matter beside chance.
func (w *Weights) TailAbove(k float64) bool {
	return w.ParetoK >= k && w.Tail > minTail/math.Sqrt(float64(w.Samples))
}

// TooRare is the inverse of a probability. Exact chains have m states beyond CountBeyond's bound for m
// with a probability of at most 2^(1−m)/TooRare.
const TooRare = 1000

// CountBeyond returns the largest number of states of independent chains that have larger weights than
// a generator that covers π lets so many have. logWeights are the states' ln w. By Markov's
// inequality a state with law π has a weight of more than t times the mean with a probability of
// at most 1/(t·ESS), so m of n states have such weights with one of at most C(n, m)/(t·ESS)ᵐ.
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
// the samples except regions that the samples leave out.
func (w *Weights) Level() bool { return w.Trusted() && w.Even() && !w.TailAbove(heavyK) }

// Ample reports whether the generator covers most of the target that its samples have seen.
func (w *Weights) Ample() bool { return w.EffectiveSize >= ampleSize }

// Even reports whether most of the weights hardly vary.
func (w *Weights) Even() bool { return w.EffectiveSize >= levelSize }

// HeavyTailed reports whether the largest weights have a tail that tells nothing of their mean. Weights of
// a nearly exact density may have one, too.
func (w *Weights) HeavyTailed() bool { return w.TailAbove(maxK) }

// Trusted reports whether means by the weights can be used.
func (w *Weights) Trusted() bool { return w.Warning == "" }

// MarshalJSON implements json.Marshaler: not all figures need be finite.
func (w Weights) MarshalJSON() ([]byte, error) { return number.Marshal(w) }

// UnmarshalJSON implements json.Unmarshaler.
func (w *Weights) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, w) }

// A Reweighted figure is a Metric's Generated by importance weights. It converges to the exact
// value whatever the generator's law is, if the generator covers the target.
type Reweighted struct {
	Value         float64    `json:"value"`
	StandardError float64    `json:"standard_error"` // to first order in 1/√n
	Interval      [2]float64 `json:"interval"`       // of 95 %
	Error         float64    `json:"error"`          // like the Metric's, relative if that is
	Apart         float64    `json:"apart"`          // standard error of Value − Generated, of the same samples
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

// NewReweighing returns the Reweighing of samples whose R is given.
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
	// Both have the noise of the same samples, and only that of the weights is left. It is bounded
	// by the error of Value and that of a mean of as many exact samples, together: otherwise a few
	// samples far away, without weight, would hide the difference that they make.
	Apart float64
	// Reach is the root mean square of f − Value over the largest weights. A part of Z that is not
	// seen there moves the mean by Reach times that part.
	Reach float64
	// Shape is Pareto's k̂ of the largest |f − Value|, where weights above the mean count as the
	// mean. It is 0 if k̂ is small, or no |f − Value| is many deviations large.
	Shape float64
}

// Slow reports whether the function's own tail is so heavy that averages of it hardly converge.
func (a WeightedMean) Slow() bool { return a.Shape >= maxK }

// Times returns the mean of the function times x > 0.
func (a WeightedMean) Times(x float64) WeightedMean {
	return WeightedMean{x * a.Value, x * a.StandardError, x * a.Deviation, x * a.Apart, x * a.Reach, a.Shape}
}

// Mean returns the self-normalised mean Σ w f / Σ w of a function's values. Its standard error adds
// to that of the delta method what a tail may hold: the larger of the weights' unseen tail, with f
// as at the largest weights, and the tail of the function's own terms, which a funnel's squares
// have whatever the weights are. Values of samples without weight do not count.
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
	var variance, squares, beyond, above float64
	terms, own := make([]float64, len(f)), make([]float64, len(f)) // w |f − value|, and with w of 1 at most
	var difference stat.Mean                                       // of the mean of (w − 1)(f − value)
	for i, share := range w.shares {
		if share > 0 {
			off := f[i] - a.Value
			variance += share * off * off
			squares += share * share * off * off
			terms[i], own[i] = share*math.Abs(off), min(share, 1/float64(len(f)))*math.Abs(off)
			if excess := share - w.large; excess > 0 {
				above += excess
				beyond += excess * off * off
			}
		}
		if number.Finite(f[i]) {
			difference.Add((share*float64(len(f)) - 1) * (f[i] - a.Value))
		}
	}
	if above > 0 {
		a.Reach = math.Sqrt(beyond / above)
	}
	tail := w.Unseen * a.Reach
	if k, _ := stat.ParetoTail(terms); k > slowK {
		tail = max(tail, slices.Max(terms)/(1-min(k, maxSlowK)))
	}
	if k, _ := stat.ParetoTail(own); k > slowK && slices.Max(own)*float64(len(f)) > outlier*math.Sqrt(variance) {
		a.Shape = k
	}
	a.StandardError, a.Deviation = math.Hypot(math.Sqrt(squares), tail), math.Sqrt(variance)
	a.Apart = min(difference.StandardError(), math.Hypot(a.StandardError, a.Deviation/math.Sqrt(float64(len(f)))))
	return a
}

// Variance returns Mean of the squared distances from the function's mean.
func (w *Reweighing) Variance(f []float64) WeightedMean {
	mean := w.Mean(f).Value
	squares := make([]float64, len(f))
	for i, v := range f {
		squares[i] = (v - mean) * (v - mean)
	}
	return w.Mean(squares)
}

// Widen raises Unseen to a part of Z, and widens all intervals by weights accordingly.
func (e *Evaluation) Widen(unseen float64) {
	w := e.Weights
	if w == nil {
		return
	}
	beyond := w.Widen(unseen)
	for i := range e.Metrics {
		switch m := &e.Metrics[i]; {
		case m.Name == logZRow && !math.IsNaN(m.Interval[0]): // not withdrawn
			m.Interval = around(m.Generated, w.LogZError)
		case m.Reweighted != nil:
			m.Reweighted.widen(beyond)
		}
	}
}

// Widen raises Unseen to a part of Z, if that is more. It returns the increase in quadrature.
func (w *Weights) Widen(unseen float64) (more float64) {
	more = math.Sqrt(max(0, unseen*unseen-w.Unseen*w.Unseen))
	w.Unseen, w.LogZError = max(w.Unseen, unseen), math.Hypot(w.LogZError, more)
	return more
}

// widen adds the error by a part of Z beyond the largest weights.
func (r *Reweighted) widen(beyond float64) {
	r.StandardError = math.Hypot(r.StandardError, beyond*r.Reach)
	r.Interval = around(r.Value, r.StandardError)
}

// Withdraw removes the averages by weights and the interval of ln Z. It is for samples that lack a
// part of the target: weights know only the rest of it.
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

// Reweigh adds a row's average by weights. It has no interval where the average hardly converges,
// or where all samples have one value: they do not tell how often the target has another.
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
