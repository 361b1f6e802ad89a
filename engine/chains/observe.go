package chains

import (
	"context"
	"errors"
	"math"

	"github.com/revgen/revgen/engine/rng"
)

// An Observer is a system whose states can be moved and measured. Package diagnose needs it to
// tell how far a generator's samples can be trusted. Nothing exact about the target is required.
type Observer interface {
	// Observables names the functions of a state that are measured. They are the ones whose
	// averages users ask for, and few enough to be looked at one by one. If the generator's
	// density is known, LogWeight is among them. Each has a variance under the target.
	Observables() []string
	// Walk returns samples first … first+n−1 of the generator with parameters params. They
	// take the Metropolis steps of Sampler's refinement, with other random numbers.
	Walk(params []float32, first uint64, n int) (Walk, error)
	// Chains returns n states that are independent of the generator. They begin as far apart
	// as what is known of the target's support, modes and signs allows, and take the moves
	// that mix best. params matter to LogWeight alone.
	Chains(params []float32, n int) (Walk, error)
}

// A Walk is a number of states that move independently of each other. The same bits result for
// any number of threads. It uses its System's memory: no two methods of one system, its walks
// included, may be called at once.
type Walk interface {
	Observed
	// Advance takes that many more steps with every state. Every call draws new random
	// numbers. The error is ctx's, or says why the states cannot be had.
	Advance(ctx context.Context, steps int) error
}

// Observed are states whose observables can be measured.
type Observed interface {
	// Observe sets values, [states][len(Observables())], row-major.
	Observe(values []float64)
	// ObserveUnweighted is Observe without LogWeight, whose entries stay as they are: it may
	// cost more than all other observables.
	ObserveUnweighted(values []float64)
	// States writes them in a format of the system's Sampler that is not Unrefined,
	// [states][RowBytes].
	States(dst []byte, format string) error
	// Own returns which states, lo … hi−1, are this rank's. Where several ranks share the states,
	// each moves, observes and writes its own, and leaves the others' entries as they are.
	Own() (lo, hi int)
}

// Strides divides the steps of a walk into slices. Each slice has a stream of random numbers, and
// the context is looked at between them.
type Strides struct {
	Seed    uint64
	Purpose rng.Purpose
	Slice   int    // steps of a slice
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
	// Prospect is Chains with other starts: at distances from the target that take turns among
	// scales, in units of the target's scale.
	Prospect(params []float32, n int, scales []float64) (Walk, error)
}

// A LevelledWalk has chains that swap states with chains at other temperatures.
type LevelledWalk interface {
	Walk
	// Levels returns how many moves one step of a state costs, as far as that is known.
	Levels() int
}

// ManyCoordinates is the number of coordinates from which on isotropic steps do not take a state
// far within a diagnosis, even if all coordinates have one scale.
const ManyCoordinates = 65

// A VectorWalk is a Walk of states with real coordinates.
type VectorWalk interface {
	Walk
	// Coordinates returns the states, [states][d]. The caller must not change them.
	Coordinates() []float32
	// Moving returns the states in the coordinates in which they move, [states][d]: the
	// target's, but for a target with bounds others, in which walls are infinitely far away.
	// The caller must not change them.
	Moving() []float32
	// LogDensities returns ln π of the states when they were last observed, in the units of
	// ln Z. It is the density in the coordinates of Moving: in the target's own, ln π may be
	// highest at a wall that has hardly any weight.
	LogDensities() []float64
	// Shape lets chains in several coordinates also take steps in the shape of the generator's
	// samples, from number first on. The chains keep their law, and no state is the generator's.
	Shape(first uint64)
}

// A Tempered system has a law at any inverse temperature; its target is one of them.
type Tempered interface {
	Observer
	// Ladder returns n chains at each of several ascending inverse temperatures. They begin
	// as those of Chains do.
	Ladder(betas []float64, n int) (Ladder, error)
}

// A Ladder is replica exchange: chains at ascending inverse temperatures. Chain i of a level
// swaps states with chain i of the next level, and with no other. The same bits result for any
// number of threads. One rank has chain i of all levels.
type Ladder interface {
	// Advance takes that many more steps with every chain. After each step neighbouring levels
	// may swap, by turns in pairs (0, 1), (2, 3), … and (1, 2), (3, 4), ….
	Advance(ctx context.Context, steps int) error
	// Level returns the chains of a level, until they advance. They do not have LogWeight.
	Level(level int) Observed
	// Swaps returns how many swaps of a level with the next were accepted and proposed so far.
	Swaps(level int) (accepted, proposed uint64)
}
