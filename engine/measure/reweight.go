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
	ParetoK       float64 `json:"pareto_k"` // shape of the law of the largest
	Tail          float64 `json:"tail"`     // what those have above the next one, of the sum of all
	Largest       float64 `json:"largest"`  // in units of the mean
	// Unseen is the part of Z that a tail of k̂ above 0.5 has on average beyond the largest of
	// as many weights, or that chains found there. It is in all errors.
	Unseen    float64 `json:"unseen,omitempty"`
	LogZ      float64 `json:"log_z"`
	LogZError float64 `json:"log_z_error"`
	KL        float64 `json:"kl"` // KL(q‖π), if LogZ is right
	// Warning says why means by the weights cannot be trusted, "" if nothing was seen.
	Warning string `json:"warning,omitempty"`
}

// Bounds of weights that can be used.
const (
	largestK   = 0.7  // above it their means converge too slowly (Vehtari et al., 2024),
	leastTail  = 0.1  // unless the tail seen is smaller than this much of a mean's error by chance
	fewestLeft = 100  // independent samples that they are worth
	farAbove   = 10   // largest weight, where too few are large to tell their law, and least deviations of a tail
	heavy      = 0.5  // k̂ from which on the variance of as many weights is less than that of more,
	long       = 0.3  // or of a function's terms, whose largest then have a good part of it,
	longest    = 0.9  // and that which they are taken to have at most
	level      = 0.99 // effective size of weights that hardly vary
	ample      = 0.9  // and of those by which states that chains met and samples lack are few
	mostUnseen = 0.5  // 1/√n of Z, which a tail may have unseen: less than a mean's error by chance
	noMean     = 1    // k̂ from which on weights have no mean, so that nothing bounds what is unseen,
	mostSeen   = 0.3  // 1/√n of Z, which a tail of such may have
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
	// Where q has less than one sample, nothing is known of its weights.
	w.LogZError = math.Hypot(w.LogZError, 1/n)
	if k > heavy {
		// What Pareto's law holds beyond the largest of n weights, which is exceeded with a probability
		// of 1/n, less the mean, of which the error by chance is counted already.
		w.Unseen = (w.Largest - 1) / n / (1 - min(k, largestK))
		w.LogZError = math.Hypot(w.LogZError, w.Unseen)
	}
	switch worth := w.EffectiveSize * n; {
	case math.IsNaN(worth):
		w.Warning = "the samples have no weights: π vanishes at all of them"
	case w.Heavy() && (!w.Even() || w.Unseen*math.Sqrt(n) > mostUnseen || k >= noMean && w.Tail*math.Sqrt(n) > mostSeen):
		w.Warning = fmt.Sprintf("the largest weights have a tail of Pareto's k̂ = %.2f; above %g neither the weights nor ln Z can be trusted", w.ParetoK, largestK)
	case math.IsNaN(k) && w.Largest > farAbove:
		w.Warning = fmt.Sprintf("a few weights, up to %.3g times the mean, stand out from all others: what is behind them cannot be told", w.Largest)
	case worth < fewestLeft:
		w.Warning = fmt.Sprintf("the samples' weights are worth %.3g independent samples of the target: neither the weights nor ln Z can be trusted", worth)
	}
	return w
}

// TailAbove reports whether the largest weights have a tail of a shape above k, and one that
// chance does not hide.
func (w *Weights) TailAbove(k float64) bool {
	return w.ParetoK >= k && w.Tail > leastTail/math.Sqrt(float64(w.Samples))
}

// TooRare is one over the probability that chains of π's law are all where Beyond says, of each
// number of them as often as of one more twice.
const TooRare = 1000

// Beyond returns how many of the states of independent chains, whose ln w are given, are where a
// generator that covers π lets not so many be. By Markov's inequality a state of π's law has a
// weight of more than t times the mean with a probability of at most 1/(t·ESS), so that m of n
// have with one of C(n, m)/(t·ESS)ᵐ.
func (w *Weights) Beyond(logs []float64) (most int) {
	sorted := slices.Sorted(slices.Values(logs))
	choose, n := 0.0, len(sorted)
	for m := 1; m <= n; m++ {
		choose += math.Log(float64(n-m+1) / float64(m))
		t := (choose + math.Log(TooRare) + float64(m-1)*math.Ln2) / float64(m)
		if sorted[n-m] > w.LogZ-math.Log(w.EffectiveSize)+t {
			most = m
		}
	}
	return most
}

// Level reports whether the weights hardly vary, so that they show every error of the samples
// but what these leave out.
func (w *Weights) Level() bool { return w.Trusted() && w.Even() && !w.TailAbove(heavy) }

// Ample reports whether the generator covers most of what weights have seen.
func (w *Weights) Ample() bool { return w.EffectiveSize >= ample }

// Even reports whether most of the weights hardly vary, and Heavy whether the largest have a tail
// that tells nothing of their mean. Of a nearly exact density they have such tails, too.
func (w *Weights) Even() bool  { return w.EffectiveSize >= level }
func (w *Weights) Heavy() bool { return w.TailAbove(largestK) }

// Trusted reports whether means by the weights can be used.
func (w *Weights) Trusted() bool { return w.Warning == "" }

// MarshalJSON implements json.Marshaler: not all figures need be finite.
func (w Weights) MarshalJSON() ([]byte, error) { return number.Marshal(w) }

// UnmarshalJSON implements json.Unmarshaler.
func (w *Weights) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, w) }

// A Reweighted figure is a Metric's Generated by importance weights, which converges
// to the exact value whatever the generator's law is, if that lacks nothing.
type Reweighted struct {
	Value         float64    `json:"value"`
	StandardError float64    `json:"standard_error"` // to first order in 1/√n
	Interval      [2]float64 `json:"interval"`       // of 95 %
	Error         float64    `json:"error"`          // like the Metric's, relative if that is
	// Apart is the standard error of Value − Generated, which are of the same samples.
	Apart float64 `json:"apart"`
	Reach float64 `json:"reach"` // a WeightedMean's
}

// MarshalJSON implements json.Marshaler.
func (r Reweighted) MarshalJSON() ([]byte, error) { return number.Marshal(r) }

// UnmarshalJSON implements json.Unmarshaler.
func (r *Reweighted) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, r) }

// A Reweighing makes means over the target of samples of a generator.
type Reweighing struct {
	Weights
	shares []float64 // of the samples, whose sum is 1
	large  float64   // a share above which they are of the largest
}

// NewReweighing returns that of samples whose R is given.
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

// A WeightedMean is that of a function over the target, by weights.
type WeightedMean struct {
	Value, StandardError float64
	Deviation            float64 // of the function
	// Apart is the standard error of what Value differs by from the mean without weights, which
	// has the same noise but for that of the weights. It is not more than that of Value and of the
	// mean of as many exact samples: a few samples without weight, far away, do not hide themselves.
	Apart float64
	// Reach is how far from Value the function is where the largest weights are, by root mean
	// square: a part of Z that is not seen there moves the mean by so much of that part.
	Reach float64
	// Shape is Pareto's k̂ of the largest |f − value|, whatever the weights are above 1: 0 if it is small,
	// or none is many deviations large, as of what has few values.
	Shape float64
}

// Slow reports that the function's own tail is such that averages of it hardly converge.
func (a WeightedMean) Slow() bool { return a.Shape >= largestK }

// Times returns that of the function times x, which is positive.
func (a WeightedMean) Times(x float64) WeightedMean {
	return WeightedMean{x * a.Value, x * a.StandardError, x * a.Deviation, x * a.Apart, x * a.Reach, a.Shape}
}

// Mean returns the self-normalised mean Σ w f / Σ w of a function's values and its
// standard error by the delta method, and by what a tail may hold: that of the weights, of which
// the function's values are those of the largest, or that of its own terms, such as a funnel's
// squares have whatever the weights are. Values of samples without weight do not count.
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
		a.Value = low // without what its sum rounds
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
	if k, _ := stat.ParetoTail(terms); k > long {
		tail = max(tail, slices.Max(terms)/(1-min(k, longest)))
	}
	if k, _ := stat.ParetoTail(own); k > long && slices.Max(own)*float64(len(f)) > farAbove*math.Sqrt(variance) {
		a.Shape = k
	}
	a.StandardError, a.Deviation = math.Hypot(math.Sqrt(squares), tail), math.Sqrt(variance)
	a.Apart = min(difference.StandardError(), math.Hypot(a.StandardError, a.Deviation/math.Sqrt(float64(len(f)))))
	return a
}

// Variance is Mean of the variance.
func (w *Reweighing) Variance(f []float64) WeightedMean {
	mean := w.Mean(f).Value
	squares := make([]float64, len(f))
	for i, v := range f {
		squares[i] = (v - mean) * (v - mean)
	}
	return w.Mean(squares)
}

// Widen takes for unseen a part of Z that is not less than what is, in all intervals that there are.
func (e *Evaluation) Widen(unseen float64) {
	w := e.Weights
	if w == nil {
		return
	}
	beyond := w.Widen(unseen)
	for i := range e.Metrics {
		switch m := &e.Metrics[i]; {
		case m.Name == logZRow && !math.IsNaN(m.Interval[0]): // and not taken back
			m.Interval = around(m.Generated, w.LogZError)
		case m.Reweighted != nil:
			m.Reweighted.widen(beyond)
		}
	}
}

// Widen takes for unseen a part of Z that is not less than what is. It returns by how much in
// quadrature it is more.
func (w *Weights) Widen(unseen float64) (more float64) {
	more = math.Sqrt(max(0, unseen*unseen-w.Unseen*w.Unseen))
	w.Unseen, w.LogZError = max(w.Unseen, unseen), math.Hypot(w.LogZError, more)
	return more
}

// widen adds what as large a part of Z beyond the largest weights may hold.
func (r *Reweighted) widen(beyond float64) {
	r.StandardError = math.Hypot(r.StandardError, beyond*r.Reach)
	r.Interval = around(r.Value, r.StandardError)
}

// Withdraw takes back what the weights say, whose samples lack a part of the target: ln Z and
// averages are then those of the rest, and their intervals hold nothing.
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

// Reweigh adds what weights make of a row. Samples that all have the same value do not tell how
// many of the target's have another: then there is no interval, nor where the average hardly converges.
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
