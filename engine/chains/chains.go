// Package chains runs a target's own Markov chains, and measures averages and how far the
// chains have mixed. They owe nothing to a generator, so its samples are compared with them.
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

// Options say how much is run. Steps are those of Observer's Chains, or of
// Tempered's Ladder.
type Options struct {
	Chains  int
	Draws   int // of each chain
	BurnIn  int // steps before the first draw's; HalfBurnIn for half of those after it
	Spacing int // steps between draws; AutoSpacing for what makes draws all but independent
	// Ladder, if it is not empty, holds ascending inverse temperatures: replica
	// exchange, with every level observed.
	Ladder []float64
	// Start, if not nil, gives the chains in place of the system's own, as Observer's
	// Chains does.
	Start func(params []float32, n int) (Walk, error) `json:"-"`
	// Ranks, if not nil, is the pool of the system where several ranks share the chains, or
	// each runs all where these cannot be shared. All call Run with the same options.
	Ranks *pool.Pool
	// States names a format of the system's Sampler in which states are kept, "" for
	// none.
	States string
}

// Values of Options that are chosen.
const (
	HalfBurnIn  = -1
	AutoSpacing = -1
)

// Limits of Options.
const (
	MaxChains = 1 << 16
	MinDraws  = 4
	MaxDraws  = 1 << 24 // of all chains together, which are kept
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

// Averages of chains that reach these can be trusted, as Vehtari et al., Bayesian
// Analysis 16 (2021), recommend.
const (
	MaxRHat          = 1.01
	MinEffectiveSize = 400
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
func (o Observable) MarshalJSON() ([]byte, error) { return number.Marshal(o) }

// Doubtful reports whether the chains have not mixed, or not long enough, for this
// average to be trusted.
func (o *Observable) Doubtful() bool {
	return !(o.RHat <= MaxRHat && o.EffectiveSize >= MinEffectiveSize)
}

// A Level is what the chains of a temperature were seen to do: those of the target,
// or of a level of a ladder.
type Level struct {
	Observables []Observable
	// Values has number j of chain c's draw t at [(t·chains + c)·len(Observables) + j].
	Values []float64
	// States has the state of chain c's draw t at row (c−Lo)·draws + t, if it was asked
	// for.
	States []byte
	// Swaps with the next level of a ladder, among the draws.
	Accepted, Proposed uint64
}

// Swaps returns the part of the swaps with the next level that succeeded, nil where
// there is none.
func (l *Level) Swaps() *float64 {
	if l.Proposed == 0 {
		return nil
	}
	part := float64(l.Accepted) / float64(l.Proposed)
	return &part
}

// An OptionError says of an option, by its name, why this system cannot have it.
type OptionError struct{ err error }

func (e *OptionError) Error() string { return e.err.Error() }
func (e *OptionError) Unwrap() error { return e.err }

// A Result is what chains were seen to do.
type Result struct {
	Levels   []Level        // of the ladder, or one
	Lo, Hi   int            // the rank's chains are Lo … Hi−1, all of them without ranks
	BurnedIn int            // steps before the first draw's, those that measured the spacing too
	Spacing  int            // steps between draws
	Format   *engine.Format // of States
	// Unresolved is a lower bound of the autocorrelation time in steps, if that was
	// too long to be measured.
	Unresolved int
	BurnIn     float64 // seconds of it
	Seconds    float64 // of the draws
}

// Run runs chains of a system, which has to be an Observer: else the error is
// ErrNone, as it is for states of one whose chains give none, and for a ladder of one
// that is not Tempered. The weight of a generator's density is none of the
// chains' affair and left out. Progress, if not nil, is called with the number of draws
// made. The values are the same for any number of threads, and of ranks, which all have
// them; states are those of a rank's own chains. After an error elsewhere that is
// engine.ErrElsewhere.
func Run(ctx context.Context, system engine.System, o Options, progress func(draws int)) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	r, err := newRun(ctx, system, o)
	if err := o.agree(err); err != nil {
		return nil, err
	}
	r.own()
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
	r.collect()
	r.result.Seconds = time.Since(begun).Seconds()
	r.summarize()
	return &r.result, nil
}
