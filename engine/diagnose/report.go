package diagnose

import (
	"math"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/number"
)

// A Verdict is what a diagnosis comes to.
type Verdict string

// The verdicts.
const (
	// Trustworthy samples can be used as drawn: no error that their number can show was seen.
	Trustworthy Verdict = "trustworthy"
	// Refine says that samples are usable after Report.Refine Metropolis steps, not as drawn.
	Refine Verdict = "refine"
	// Wrong samples are not to be used.
	Wrong Verdict = "wrong"
	// Unknown says that the evidence does not decide.
	Unknown Verdict = "unknown"
)

// A Report is a diagnosis.
type Report struct {
	Verdict  Verdict `json:"verdict"`
	Sentence string  `json:"sentence"`
	// Refine is the number of Metropolis steps after which nothing moves any longer,
	// and chains agree where they mix; −1 if there is none up to Steps.
	Refine int `json:"refine"`
	// Samples First … First+Samples−1 of the generator's stream took Steps steps.
	Samples int    `json:"samples"`
	First   uint64 `json:"first"`
	Steps   int    `json:"steps"`
	// Resolution is the least drift of an average, in standard deviations of a
	// sample, that would have been seen for sure if samples moved independently.
	Resolution  float64      `json:"resolution"`
	Observables []Observable `json:"observables"`
	Chains      *Chains      `json:"chains,omitempty"`
	Weights     *Weights     `json:"weights,omitempty"`
	Many        *Weights     `json:"many,omitempty"` // of many more samples, of which only sums are kept
	Prospect    *Prospect    `json:"prospect,omitempty"`
	// Lacking says why the samples seem to leave out a part of the target. Weights do not see
	// that part, so ln Z and averages by weights then have no intervals.
	Lacking string `json:"lacking,omitempty"`
	// Limits say what was cut short.
	Limits  []string `json:"limits,omitempty"`
	Seconds float64  `json:"seconds"`
}

// Revise corrects the errors by weights of an evaluation. It widens them by the part of Z that the
// measured samples have not seen, as chains show it, or the tail or the ln Z of more weights. It
// withdraws the averages by weights if the samples leave out a part of the target.
func (r *Report) Revise(e *measure.Evaluation) {
	switch {
	case e == nil:
	case r.Lacking != "":
		e.Withdraw(r.Lacking)
	default:
		var unseen float64
		if r.Chains != nil {
			unseen = r.Chains.Unseen
		}
		for _, w := range []*Weights{r.Weights, r.Many} {
			if w == nil || e.Weights == nil || w.Samples <= e.Weights.Samples {
				continue
			}
			unseen = max(unseen, w.Unseen)
			if missing := -math.Expm1(e.Weights.LogZ - w.LogZ); missing > 2*e.Weights.LogZError {
				unseen = max(unseen, missing)
			}
		}
		e.Widen(unseen)
	}
}

// withdrawWeights says that the weights cannot be trusted, and why.
func (r *Report) withdrawWeights(why string) {
	r.Lacking = "by weights there are neither ln Z nor averages: " + why
	if r.Weights != nil {
		r.Weights.Warning = r.Lacking
	}
}

// An Observable is what was seen of one function of states.
type Observable struct {
	Name      string  `json:"name"`
	Mean      float64 `json:"mean"` // of the samples as drawn
	Deviation float64 `json:"deviation"`
	Drift     []Drift `json:"drift"`
	// Settled is the number of steps after which its mean no longer moves, −1 if the walk did
	// not go on for four times as many.
	Settled int `json:"settled"`
	// Memory is the correlation of its values before the first step and after the
	// last: near 1 where nothing crosses between its modes.
	Memory        float64     `json:"memory"`
	Refined       float64     `json:"refined"` // mean at the stage of the walk that the verdict speaks of
	Chains        *Comparison `json:"chains,omitempty"`
	Weighted      *float64    `json:"weighted,omitempty"`       // mean by importance weights
	WeightedError float64     `json:"weighted_error,omitempty"` // standard error of Weighted
	// WeightedZ is Weighted − Mean, in units of the standard errors of that and of Mean together.
	WeightedZ float64 `json:"weighted_z,omitempty"`
}

// A Drift is the change of a mean since the samples were drawn.
type Drift struct {
	Steps         int     `json:"steps"`
	Change        float64 `json:"change"`
	StandardError float64 `json:"standard_error"`
	Z             float64 `json:"z"` // S = Σd/√Σd² of the samples' changes d
}

// A Comparison compares a mean of refined samples with that of the chains.
type Comparison struct {
	Mean          float64 `json:"mean"`
	StandardError float64 `json:"standard_error"`
	Z             float64 `json:"z"`          // the samples' mean less the chains', in standard errors
	RHat          float64 `json:"r_hat"`      // rank-normalised split R̂ of the chains
	RHatBoth      float64 `json:"r_hat_both"` // R̂ of the samples and the chains as two groups
	EffectiveSize float64 `json:"effective_size"`
}

// Chains says what Markov chains show that begin independently of the generator.
type Chains struct {
	Number int     `json:"number"`
	Steps  int     `json:"steps"` // steps of each chain
	Mixed  bool    `json:"mixed"` // whether they agree with each other, by R̂ and effective size
	RHat   float64 `json:"r_hat"` // largest R̂ of all observables
	// EffectiveSize is the least of all observables.
	EffectiveSize float64 `json:"effective_size"`
	// Far is the number of chains that ended where no sample is near.
	Far int `json:"far"`
	// Beyond is the number of chains that ended in states with weights π/q too large for a
	// generator that covers π, by Weights.CountBeyond.
	Beyond int `json:"beyond,omitempty"`
	// Thin replaces Far and Beyond if chains do not mix and the places where those beyond ended
	// hold too little of the target to show in averages.
	Thin int `json:"thin,omitempty"`
	// Unseen is the part of Z that is beyond q times the largest weight of all samples,
	// E[(1 − w_max/w)₊] over the chains' states.
	Unseen float64 `json:"unseen,omitempty"`
}

// Weights are importance weights of the samples as drawn.
type Weights = measure.Weights

// MarshalJSON implements json.Marshaler.
func (c Chains) MarshalJSON() ([]byte, error) { return number.Marshal(c) }

// UnmarshalJSON implements json.Unmarshaler.
func (c *Chains) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, c) }

// MarshalJSON implements json.Marshaler.
func (c Comparison) MarshalJSON() ([]byte, error) { return number.Marshal(c) }

// UnmarshalJSON implements json.Unmarshaler.
func (c *Comparison) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, c) }
