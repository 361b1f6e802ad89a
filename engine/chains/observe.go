package chains

import (
	"context"
	"errors"
	"math"

	"github.com/revgen/revgen/engine/rng"
)

// Observer is what a system has whose states can be walked and measured, as package diagnose
// needs it to tell how far a generator's samples can be trusted. It asks for nothing
// that is known exactly of the target.
type Observer interface {
	// Observables names the functions of a state that are measured: those whose
	// averages users ask for, and few enough to be looked at one by one. A generator
	// whose density is known has LogWeight among them. If the law is right, all
	// have a variance.
	Observables() []string
	// Walk returns samples first … first+n−1 of the generator with parameters
	// params, each of which takes the Metropolis steps of Sampler's refinement, with
	// random numbers that no refinement has.
	Walk(params []float32, first uint64, n int) (Walk, error)
	// Chains returns n states that owe nothing to the generator: they begin as far
	// apart as is known of the target's support, modes and signs, and take whatever
	// moves mix best. params are those of LogWeight alone.
	Chains(params []float32, n int) (Walk, error)
}

// A Walk is a number of states that move independently of each other. The same
// bits result for any number of threads. What it is, and what it takes of memory,
// is its System's: of one system no two methods may be called at once.
type Walk interface {
	Observed
	// Advance takes that many more steps with every state; they are drawn anew by
	// every call. The error is ctx's, or says why the states cannot be had.
	Advance(ctx context.Context, steps int) error
}

// Observed are states whose observables can be measured.
type Observed interface {
	// Observe sets values, [states][len(Observables())], row-major.
	Observe(values []float64)
	// ObserveUnweighted is Observe that leaves LogWeight as it is, whose computing may cost
	// more than all else.
	ObserveUnweighted(values []float64)
	// States writes them in a format of the system's Sampler that is not Unrefined,
	// [states][RowBytes].
	States(dst []byte, format string) error
	// Own returns which of the states, lo … hi−1, are this rank's, where several ranks move
	// them: each moves, observes and writes its own, and leaves what it says of the others
	// as it is.
	Own() (lo, hi int)
}

// Strides are the steps of a walk in slices between which it looks at its context. Each
// has random numbers of its own.
type Strides struct {
	Seed    uint64
	Purpose rng.Purpose
	Slice   int    // steps
	Calls   uint32 // slices so far
}

// Take calls move slice by slice for a number of steps.
func (s *Strides) Take(ctx context.Context, steps int, move func(stream rng.Counter, steps int)) error {
	for ; steps > 0; steps -= s.Slice {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.Calls == math.MaxUint32 {
			return errors.New("the walk's random numbers have come to their end")
		}
		move(rng.Stream(s.Seed, s.Purpose, s.Calls), min(s.Slice, steps))
		s.Calls++
	}
	return nil
}

// A Prospector is an Observer whose chains can begin far from where the target is known to
// have weight.
type Prospector interface {
	Observer
	// Prospect is Chains that begin in turns so many times the scale of the target away
	// from it as scales say.
	Prospect(params []float32, n int, scales []float64) (Walk, error)
}

// A LevelledWalk is of chains that others at a ladder of temperatures move with.
type LevelledWalk interface {
	Walk
	// Levels returns how many moves a step of a state is, as far as that is known.
	Levels() int
}

// ManyCoordinates are more than isotropic steps take far within a diagnosis, even where all are
// of one scale.
const ManyCoordinates = 65

// A VectorWalk is one of states of real coordinates.
type VectorWalk interface {
	Walk
	// Coordinates returns those of the states, [states][d], which are not to be changed.
	Coordinates() []float32
	// Moving returns the coordinates in which the states move, [states][d], which are not to be
	// changed: those of the target, or of targets with bounds others.
	Moving() []float32
	// LogDensities returns ln π of the states when they were last observed, in the coordinates
	// that they move in and in the units of ln Z: of a target with bounds, where ln π may be highest at a wall that has
	// hardly any weight, those in which walls are infinitely far away.
	LogDensities() []float64
	// Shape lets chains in several coordinates take steps in the shape of the generator's
	// samples, from number first on, beside their own. All leave the target as it is, and
	// no state is the generator's.
	Shape(first uint64)
}

// A Tempered system has a law at any inverse temperature; its target is one of them.
type Tempered interface {
	Observer
	// Ladder returns n chains at each of several inverse temperatures, ascending, that
	// begin as those of Chains.
	Ladder(betas []float64, n int) (Ladder, error)
}

// A Ladder is replica exchange: chains at a ladder of inverse temperatures, of which
// chain i of a level swaps states with chain i of the next, and with no other. The same
// bits result for any number of threads, and the same rank has chain i of all levels.
type Ladder interface {
	// Advance takes that many more steps with every chain. After each of them every
	// other pair of neighbouring levels, in turns, may swap.
	Advance(ctx context.Context, steps int) error
	// Level returns the chains of a level, until they advance. LogWeight is not among
	// what they show.
	Level(level int) Observed
	// Swaps returns how many swaps of a level with the next were accepted so far, of
	// how many.
	Swaps(level int) (accepted, proposed uint64)
}
