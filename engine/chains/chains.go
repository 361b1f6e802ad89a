// Package chains runs a target's own Markov chains, which owe nothing to a generator,
// and tells what they say of its averages and how far they have mixed: what a
// generator is compared with.
package chains

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// ErrNone says that a system has no chains of its own.
var ErrNone = errors.New("the system has no chains of its own")

// Options say how much is run. Steps are those of engine.Observer's Chains.
type Options struct {
	Chains  int
	Draws   int // of each chain
	BurnIn  int // steps before the first draw's
	Spacing int // steps between draws
}

// Limits of Options.
const (
	MostChains = 1 << 16
	LeastDraws = 4
	MostDraws  = 1 << 24 // of all chains together, which are kept
	MostSteps  = math.MaxInt32
)

// Validate reports what cannot be run; errors begin with the option's name.
func (o *Options) Validate() error {
	switch {
	case o.Chains < 1 || o.Chains > MostChains:
		return fmt.Errorf("chains: %d is not between 1 and %d", o.Chains, MostChains)
	case o.Draws < LeastDraws:
		return fmt.Errorf("draws: %d are fewer than %d", o.Draws, LeastDraws)
	case o.Draws > MostDraws/o.Chains:
		return fmt.Errorf("draws: %d of %d chains are more than %d together; let the spacing be larger", o.Draws, o.Chains, MostDraws)
	case o.BurnIn < 0 || o.BurnIn > MostSteps:
		return fmt.Errorf("burn-in: %d is not between 0 and %d", o.BurnIn, MostSteps)
	case o.Spacing < 1 || o.Spacing > MostSteps:
		return fmt.Errorf("spacing: %d is not between 1 and %d", o.Spacing, MostSteps)
	}
	return nil
}

// What chains are to reach if their averages are to be trusted, as Vehtari et al.,
// Bayesian Analysis 16 (2021), recommend.
const (
	MixedRHat = 1.01
	LeastSize = 400
)

// An Observable is what the chains tell of one. R̂ is the larger of that of ranks and
// of folded ranks, and the effective size the smaller of that of the mean and of
// ranks.
type Observable struct {
	Name string `json:"name"`
	stat.ChainSummary
	// SecondsPerEffective is the time of all draws, without burn-in, divided by
	// EffectiveSize.
	SecondsPerEffective float64 `json:"seconds_per_effective_sample"`
}

// MarshalJSON writes figures that need not be finite.
func (o Observable) MarshalJSON() ([]byte, error) {
	s := o.ChainSummary
	return number.Marshal(struct {
		Name                string  `json:"name"`
		Mean                float64 `json:"mean"`
		StandardError       float64 `json:"standard_error"`
		Deviation           float64 `json:"deviation"`
		Time                float64 `json:"autocorrelation_time"`
		RHat                float64 `json:"r_hat"`
		EffectiveSize       float64 `json:"effective_size"`
		SecondsPerEffective float64 `json:"seconds_per_effective_sample"`
	}{o.Name, s.Mean, s.StandardError, s.Deviation, s.Time, s.RHat, s.EffectiveSize, o.SecondsPerEffective})
}

// Doubtful reports whether the chains have not mixed, or not long enough, for this
// average to be trusted.
func (o *Observable) Doubtful() bool {
	return !(o.RHat <= MixedRHat && o.EffectiveSize >= LeastSize)
}

// A Result is what chains were seen to do.
type Result struct {
	Observables []Observable
	// Values has number j of chain c's draw t at [(t·chains + c)·len(Observables) + j].
	Values  []float64
	BurnIn  float64 // seconds of it
	Seconds float64 // of the draws
}

// Run runs chains of a system, which has to be an engine.Observer: else the error is
// ErrNone. The weight of a generator's density is none of the chains' affair and left
// out. Progress, if not nil, is called with the number of draws made. The values are
// the same for any number of threads.
func Run(ctx context.Context, system engine.System, o Options, progress func(draws int)) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	observer, ok := system.(engine.Observer)
	if !ok {
		return nil, ErrNone
	}
	all := observer.Observables()
	var columns []int
	r := new(Result)
	for j, name := range all {
		if name != engine.LogWeight {
			columns = append(columns, j)
			r.Observables = append(r.Observables, Observable{Name: name})
		}
	}
	perDraw := o.Chains * len(columns)
	if perDraw == 0 {
		return nil, ErrNone
	}
	params := make([]float32, system.NumParams())
	system.Initialize(params)
	w, err := observer.Chains(params, o.Chains)
	if err != nil {
		return nil, err
	}
	observe := w.Observe
	if u, ok := w.(engine.UnweightedWalk); ok {
		observe = u.ObserveUnweighted
	}
	fallible, _ := system.(engine.Fallible)
	if fallible != nil {
		defer context.AfterFunc(ctx, func() { fallible.Interrupt(ctx.Err()) })()
	}
	start := time.Now()
	if err := w.Advance(ctx, o.BurnIn); err != nil {
		return nil, err
	}
	begun := time.Now()
	r.BurnIn = begun.Sub(start).Seconds()
	row := make([]float64, o.Chains*len(all))
	r.Values = make([]float64, 0, o.Draws*perDraw)
	for t := range o.Draws {
		if err := w.Advance(ctx, o.Spacing); err != nil {
			return nil, err
		}
		observe(row)
		if fallible != nil {
			if err := fallible.Err(); err != nil {
				return nil, err
			}
		}
		for c := range o.Chains {
			for _, j := range columns {
				r.Values = append(r.Values, row[c*len(all)+j])
			}
		}
		if progress != nil {
			progress(t + 1)
		}
	}
	r.Seconds = time.Since(begun).Seconds()
	for j, s := range stat.Columns(r.Values, o.Chains, len(columns)) {
		r.Observables[j].ChainSummary = s
		r.Observables[j].SecondsPerEffective = r.Seconds / s.EffectiveSize
	}
	return r, nil
}
