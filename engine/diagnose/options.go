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
	Samples int    // number of samples that walk; Run takes fewer if states are large
	First   uint64 // number of the first sample in the generator's stream
	Refine  int    // largest number of steps, a power of two
	Chains  int    // number of independent chains
	Draws   int    // number of draws of each chain
	// Evaluation, if not nil, was measured on other samples of the generator, more than are
	// diagnosed. No verdict trusts samples that it refutes, nor weights alone if its own cannot be
	// trusted.
	Evaluation *measure.Evaluation
	Moves      int           // limit of the steps of all states together, the same on any machine; 0 for none
	Time       time.Duration // limit of the time, 0 for none; the report says what a limit cuts short
	// Need asks for a glance first if the Evaluation's weights are level. It takes a part of the
	// moves, and is the diagnosis if its chains come to where samples are and it trusts the samples.
	Need bool
}

// Fresh is the default of Options.First. No measurement or file reaches so far into the stream.
const Fresh = 1 << 35

// Full returns the options of a diagnosis by itself. The caller sets Moves, by Work. Time is a limit
// for targets that take long to answer.
func Full() Options {
	return Options{Samples: 1 << 15, First: Fresh, Refine: 1 << 12, Chains: 512, Draws: 64, Time: 10 * time.Minute}
}

// Work returns the moves of a diagnosis by itself: 2²⁶ of small states, fewer of large ones. They
// take about a minute on two processors. A limit of moves gives the same verdict on every machine.
func Work(system engine.System) int {
	const least, most, bytes = 1 << 20, 1 << 26, 1 << 36
	if s, ok := system.(engine.Sampler); ok {
		return min(max(least, bytes/max(1, s.Formats()[0].RowBytes)), most)
	}
	return least
}

// fewMoves is the limit of moves below which fewer samples and chains, each with more steps, see more.
const fewMoves = 1 << 18

// Brief returns the options of the diagnosis that follows every training, of so many moves at most.
// A glance may end it early.
func Brief(moves int) Options {
	o := Options{Samples: 1 << 13, First: Fresh, Refine: 1 << 8, Chains: 256, Draws: 32, Moves: moves, Need: true}
	if moves > 0 && moves < fewMoves {
		o.Samples, o.Chains = o.Samples/4, o.Chains/4
	}
	return o
}

// Share returns the moves of a brief diagnosis after a training whose steps draw so many states in
// all. A 48th as many moves take about a tenth of the training's time. Short trainings have at
// least 3·2²⁰ for small states, about a second, and fewer for larger states and laborious targets. If the
// system tells its Operations, this minimum is at most the number of states.
func Share(system engine.System, states int) int {
	const few, many, bytes = 1 << 18, 3 << 20, 1 << 28
	const operations = 1 << 7 // operations in the time of a move
	least := few
	if s, ok := system.(engine.Sampler); ok {
		least = min(max(few, bytes/max(1, s.Formats()[0].RowBytes)), many)
	}
	if s, ok := system.(interface{ Operations() int }); ok {
		least = min(least/max(1, s.Operations()/operations), states)
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
