package diagnose

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
)

// Options bound the work.
type Options struct {
	Samples int    // that walk; fewer where they are large
	First   uint64 // of them in the generator's stream
	Refine  int    // most steps, a power of two
	Chains  int
	Draws   int // of each chain, between which steps double until chains agree
	// Evaluation, if not nil, is what was measured before of other samples of the generator,
	// more than are diagnosed. A verdict by weights alone asks its weights too, and what it
	// refutes is not trustworthy.
	Evaluation *measure.Evaluation
	// The report says what a limit cuts short. Moves bounds the steps of all states together,
	// so that the same is seen on any machine; Time bounds the time. 0 is no limit.
	Moves int
	Time  time.Duration
	// Need asks for a glance first where the Evaluation's weights are level: a part of the moves
	// is enough if all that has moved comes to where samples are, and nothing refutes them.
	Need bool
}

// Fresh is the first sample that is diagnosed: no measurement or file comes near it.
const Fresh = 1 << 35

// Full returns the options of a diagnosis by itself, whose Moves are to be those of Work.
// Its time is a limit for targets that take long to answer.
func Full() Options {
	return Options{Samples: 1 << 15, First: Fresh, Refine: 1 << 12, Chains: 512, Draws: 64, Time: 10 * time.Minute}
}

// Work returns the moves of a diagnosis by itself, a minute's or so on two processors,
// so that it says the same on every machine: 2²⁶ of small states, fewer of large ones.
func Work(system engine.System) int {
	const least, most, bytes = 1 << 20, 1 << 26, 1 << 36
	if s, ok := system.(engine.Sampler); ok {
		return min(max(least, bytes/max(1, s.Formats()[0].RowBytes)), most)
	}
	return least
}

// fewMoves are so few that fewer chains go farther.
const fewMoves = 1 << 18

// Brief returns those of one that follows every training, of so many moves at most.
// It ends as soon as it knows.
func Brief(moves int) Options {
	o := Options{Samples: 1 << 13, First: Fresh, Refine: 1 << 8, Chains: 256, Draws: 32, Moves: moves, Need: true}
	if moves > 0 && moves < fewMoves {
		o.Samples, o.Chains = o.Samples/4, o.Chains/4
	}
	return o
}

// Share returns the moves of a brief diagnosis beside a training of so many states,
// that of all steps: a 48th as many, so that it takes a tenth of the time. Small states may have
// 3·2²⁰ at least, a second's or so, larger ones and those of a laborious target fewer, and those that
// are another program's work no more than the training.
func Share(system engine.System, states int) int {
	const few, many, bytes = 1 << 18, 3 << 20, 1 << 28
	const numbers = 1 << 7 // that are computed in the time of a move
	least := few
	if s, ok := system.(engine.Sampler); ok {
		least = min(max(few, bytes/max(1, s.Formats()[0].RowBytes)), many)
	}
	if s, ok := system.(interface{ Operations() int }); ok {
		least = min(least/max(1, s.Operations()/numbers), states)
	}
	return max(states/48, least, 1)
}

// Validate reports the first option that cannot be used, by its name.
func (o *Options) Validate() error {
	switch {
	case o.Samples < minSamples || o.Samples > 1<<24:
		return fmt.Errorf("samples: %d is not between %d and %d", o.Samples, minSamples, 1<<24)
	case o.Refine < 1 || o.Refine > 1<<24 || bits.OnesCount(uint(o.Refine)) != 1:
		return fmt.Errorf("max-refine: %d is not a power of two up to %d", o.Refine, 1<<24)
	case o.Chains < 8 || o.Chains > 1<<16:
		return fmt.Errorf("chains: %d is not between 8 and %d", o.Chains, 1<<16)
	case o.Draws < 8 || o.Draws > 1<<16:
		return fmt.Errorf("draws: %d is not between 8 and %d", o.Draws, 1<<16)
	case o.Moves < 0:
		return fmt.Errorf("moves: %d is negative", o.Moves)
	case o.Time < 0:
		return fmt.Errorf("max-time: %v is negative", o.Time)
	}
	return nil
}

// minSamples is the least number that can show a drift at all: S is at most √n.
const minSamples = 256
