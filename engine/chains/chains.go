// Package chains runs a target's own Markov chains, and measures averages and how far the
// chains have mixed. They are independent of the generator: its samples are compared with them.
package chains

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// ErrNone says that a system has no chains of its own.
var ErrNone = errors.New("the system has no chains of its own")

// Options say how much is run. Steps are those of Observer.Chains, or of Tempered.Ladder.
type Options struct {
	Chains  int
	Draws   int // of each chain
	BurnIn  int // steps before those of the first draw, or HalfBurnIn
	Spacing int // steps between draws, or AutoSpacing
	// Ladder, if it is not empty, holds ascending inverse temperatures of replica exchange. Every
	// level is observed.
	Ladder []float64
	// Start, if not nil, replaces Observer.Chains.
	Start func(params []float32, n int) (Walk, error) `json:"-"`
	// Ranks, if not nil, is the system's pool. Its ranks share the chains, or each runs them all
	// where they cannot be shared. All ranks call Run with the same options.
	Ranks *pool.Pool
	// States names a format of the system's Sampler in which states are kept, "" for none.
	States string
}

const (
	HalfBurnIn  = -1 // as BurnIn: half as many steps as the draws take
	AutoSpacing = -1 // as Spacing: the least at which draws are all but independent
)

// Limits of Options.
const (
	MaxChains = 1 << 16
	MinDraws  = 4
	MaxDraws  = 1 << 24 // of all chains together: their values are kept
	MaxSteps  = math.MaxInt32
	MaxLevels = 256
)

// Validate reports what cannot be run; errors begin with the option's name.
func (o *Options) Validate() error {
	levels := max(1, len(o.Ladder))
	switch {
	case o.Chains < 1 || o.Chains > MaxChains:
		return fmt.Errorf("chains: %d is not between 1 and %d", o.Chains, MaxChains)
	case o.Draws < MinDraws:
		return fmt.Errorf("draws: %d are fewer than %d", o.Draws, MinDraws)
	case o.Start != nil && len(o.Ladder) > 0:
		return fmt.Errorf("ladder: chains that are given have none")
	case len(o.Ladder) == 1 || levels > MaxLevels:
		return fmt.Errorf("ladder: %d inverse temperatures; give 2 to %d", len(o.Ladder), MaxLevels)
	case o.Draws > MaxDraws/o.Chains/levels:
		if levels > 1 {
			return fmt.Errorf("draws: %d of %d chains at %d temperatures are more than %d together; let the spacing be larger", o.Draws, o.Chains, levels, MaxDraws)
		}
		return fmt.Errorf("draws: %d of %d chains are more than %d together; let the spacing be larger", o.Draws, o.Chains, MaxDraws)
	case (o.BurnIn < 0 || o.BurnIn > MaxSteps) && o.BurnIn != HalfBurnIn:
		return fmt.Errorf("burn-in: %d is not between 0 and %d", o.BurnIn, MaxSteps)
	case (o.Spacing < 1 || o.Spacing > MaxSteps) && o.Spacing != AutoSpacing:
		return fmt.Errorf("spacing: %d is not between 1 and %d", o.Spacing, MaxSteps)
	}
	for i, beta := range o.Ladder {
		switch {
		case !(beta >= 0) || math.IsInf(beta, 0):
			return fmt.Errorf("ladder: %v is not a finite number ≥ 0", beta)
		case i > 0 && !(o.Ladder[i-1] < beta):
			return fmt.Errorf("ladder: %v comes after %v; inverse temperatures ascend", beta, o.Ladder[i-1])
		}
	}
	return nil
}

// Averages of chains within these limits can be trusted, as Vehtari et al., Bayesian
// Analysis 16 (2021), recommend.
const (
	MaxRHat          = 1.01
	MinEffectiveSize = 400
)

// An Observable is what the chains tell of one observable, as stat.Columns summarizes it.
type Observable struct {
	Name string `json:"name"`
	stat.ChainSummary
	// SecondsPerEffective is the time of all draws, without burn-in, over EffectiveSize.
	SecondsPerEffective float64 `json:"seconds_per_effective_sample"`
}

// MarshalJSON writes figures that need not be finite.
func (o Observable) MarshalJSON() ([]byte, error) { return number.Marshal(o) }

// Doubtful reports whether the chains have not mixed, or are too short, for this average to be
// trusted.
func (o *Observable) Doubtful() bool {
	return !(o.RHat <= MaxRHat && o.EffectiveSize >= MinEffectiveSize)
}

// A Level holds the draws of the chains at one temperature: the target's, or that of a level of
// a ladder.
type Level struct {
	Observables []Observable
	// Values has number j of chain c's draw t at [(t·chains + c)·len(Observables) + j].
	Values []float64
	// States has the state of chain c's draw t at row (c−Lo)·draws + t. It is nil if none are kept.
	States []byte
	// Swaps with the next level of a ladder, from the first draw to the last.
	Accepted, Proposed uint64
}

// Swaps returns the share of swaps with the next level that were accepted, nil where none were
// proposed.
func (l *Level) Swaps() *float64 {
	if l.Proposed == 0 {
		return nil
	}
	share := float64(l.Accepted) / float64(l.Proposed)
	return &share
}

// An OptionError names an option that this system cannot have, and says why.
type OptionError struct{ err error }

func (e *OptionError) Error() string { return e.err.Error() }
func (e *OptionError) Unwrap() error { return e.err }

// A Result holds the draws of all chains.
type Result struct {
	Levels   []Level        // of the ladder, ascending; one without a ladder
	Lo, Hi   int            // the rank keeps states of chains Lo … Hi−1; of all without ranks
	BurnedIn int            // steps before those of the first draw, a pilot's included
	Spacing  int            // steps between draws
	Format   *engine.Format // of States, nil if none are kept
	// Unresolved is a lower bound of the autocorrelation time in steps. It is 0 if that time
	// could be measured.
	Unresolved int
	BurnIn     float64 // seconds that burn-in took
	Seconds    float64 // seconds that the draws took
}

// Run runs chains of a system, and returns the values of all its observables but LogWeight,
// which is a matter of the generator. The error wraps ErrNone if the system is no Observer, if
// its chains cannot give the states that are asked for, or if there is a ladder and the system
// is not Tempered. progress, if not nil, is called with the number of draws made. Values do not
// depend on the number of threads or ranks, and all ranks have them; states are those of a rank's
// own chains. The error is engine.ErrElsewhere where only another rank failed.
func Run(ctx context.Context, system engine.System, o Options, progress func(draws int)) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	r, err := newRun(ctx, system, o)
	if err := o.agree(err); err != nil {
		return nil, err
	}
	r.shareChains()
	r.allocate()
	if fallible, ok := system.(engine.Fallible); ok {
		defer context.AfterFunc(ctx, func() { fallible.Interrupt(ctx.Err()) })()
	}
	start := time.Now()
	if err := r.burnIn(); err != nil {
		return nil, err
	}
	begun := time.Now()
	r.result.BurnIn = begun.Sub(start).Seconds()
	if err := r.agree(r.draw(progress)); err != nil {
		return nil, err
	}
	r.gather()
	r.result.Seconds = time.Since(begun).Seconds()
	r.summarize()
	return &r.result, nil
}
