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
	// Trustworthy: as drawn, to what the number of samples can show.
	Trustworthy Verdict = "trustworthy"
	// Refine: usable after Report.Refine Metropolis steps, not as drawn.
	Refine Verdict = "refine"
	// Wrong: not to be used.
	Wrong Verdict = "wrong"
	// Unknown: nothing here can tell.
	Unknown Verdict = "unknown"
)

// A Report is a diagnosis.
type Report struct {
	Verdict  Verdict `json:"verdict"`
	Sentence string  `json:"sentence"`
	// Refine is the number of Metropolis steps after which nothing moves any longer,
	// and chains agree where they mix; −1 if there is none up to Steps.
	Refine int `json:"refine"`
	// Samples first … first+Samples−1 took Steps steps.
	Samples int    `json:"samples"`
	First   uint64 `json:"first"`
	Steps   int    `json:"steps"`
	// Resolution is the least drift of an average, in standard deviations of a
	// sample, that would have been seen for sure if samples moved independently.
	Resolution  float64      `json:"resolution"`
	Observables []Observable `json:"observables"`
	Chains      *Chains      `json:"chains,omitempty"`
	Weights     *Weights     `json:"weights,omitempty"`
	Many        *Weights     `json:"many,omitempty"` // those of many more samples, of which only sums are known
	Prospect    *Prospect    `json:"prospect,omitempty"`
	// Lacking says why the samples seem to leave out a part of the target, of which weights
	// know nothing: of ln Z and of averages by weights there are then no intervals.
	Lacking string `json:"lacking,omitempty"`
	// Limits say what was cut short.
	Limits  []string `json:"limits,omitempty"`
	Seconds float64  `json:"seconds"`
}

// Revise makes the errors by weights of the samples that were measured as wide as chains show that
// they are, or the weights of more samples, by their tail or their ln Z, and takes them back where a part
// of the target is left out.
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
			if lack := -math.Expm1(e.Weights.LogZ - w.LogZ); lack > 2*e.Weights.LogZError {
				unseen = max(unseen, lack)
			}
		}
		e.Widen(unseen)
	}
}

// lacks takes the weights back.
func (r *Report) lacks(why string) {
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
	// Settled is the number of steps after which it no longer moves, −1 if it still
	// does at the end.
	Settled int `json:"settled"`
	// Memory is the correlation of its values before the first step and after the
	// last: near 1 where nothing crosses between its modes.
	Memory  float64     `json:"memory"`
	Refined float64     `json:"refined"` // mean after Report.Refine steps, as drawn if that is −1
	Chains  *Comparison `json:"chains,omitempty"`
	// Weighted is the mean by importance weights, and WeightedError its standard error.
	// The samples' own is off by WeightedZ standard errors, of the samples' mean and the
	// weights'.
	Weighted      *float64 `json:"weighted,omitempty"`
	WeightedError float64  `json:"weighted_error,omitempty"`
	WeightedZ     float64  `json:"weighted_z,omitempty"`
}

// A Drift is the change of a mean since the samples were drawn.
type Drift struct {
	Steps         int     `json:"steps"`
	Change        float64 `json:"change"`
	StandardError float64 `json:"standard_error"`
	Z             float64 `json:"z"` // S = Σd/√Σd² of the samples' changes d
}

// A Comparison holds a mean of refined samples against that of the chains.
type Comparison struct {
	Mean          float64 `json:"mean"`
	StandardError float64 `json:"standard_error"`
	Z             float64 `json:"z"` // of the difference
	// RHat is the chains' own, by ranks and split; RHatBoth that of the samples and
	// the chains as two groups.
	RHat          float64 `json:"r_hat"`
	RHatBoth      float64 `json:"r_hat_both"`
	EffectiveSize float64 `json:"effective_size"`
}

// Chains are the states that owe nothing to the generator.
type Chains struct {
	Number int     `json:"number"`
	Steps  int     `json:"steps"` // of each
	Mixed  bool    `json:"mixed"` // they tell the same, long enough
	RHat   float64 `json:"r_hat"` // the largest of all observables
	// Effective is the least effective size.
	EffectiveSize float64 `json:"effective_size"`
	// Far is the number of chains that ended where no sample is near.
	Far int `json:"far"`
	// Beyond is the number of those that ended where π/q is larger than a generator that
	// covers π lets it be for so many.
	Beyond int `json:"beyond,omitempty"`
	// Thin is the number of those, where chains do not mix, whose places hold too little for
	// averages to miss it.
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
