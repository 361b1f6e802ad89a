package spins

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/pool"
)

// An Ensemble is what the configurations of any generator are drawn, refined,
// weighed and observed by, for systems to embed.
type Ensemble struct {
	Spins int
	Shape []int  // of an array of a configuration's spins
	Order string // which spin is which, as the end of a sentence

	Beta   float64                             // inverse temperature of the target
	Energy func(dst []float64, batch []uint64) // of packed configurations
	Even   bool                                // whether flipping all spins leaves the energy as it is
	Kernel Kernel                              // of refinement
	Mixing func(beta float64) (Kernel, error)  // what mixes best at an inverse temperature
	Draws  func(params []float32) Draws        // of the generator
	// Weigher returns ln π − ln q + const as a function of packed configurations. It is
	// nil for a generator without a density; otherwise Draws are Weighed.
	Weigher func(params []float32) func(dst []float64, batch []uint64)
	Names   []string                                           // of observables
	Observe func(values []float64, stride int, batch []uint64) // sets them, [configurations][stride]

	Seed    uint64 // of the training
	Workers *pool.Pool

	kept struct {
		params []float32 // of the generator
		states []uint64  // its samples 0, 1, …
	}
}

// Draws are packed configurations of a trained generator, the same for any number
// of threads.
type Draws interface {
	// Generate fills dst with samples first, first+1, ….
	Generate(dst []uint64, first uint64)
}

// Weighed are Draws of a generator with a density.
type Weighed interface {
	Draws
	// Weigh draws n samples, with their spins if dst is not nil, and returns their
	// R = ln q + βE, which the next call overwrites.
	Weigh(dst []uint64, n int, first uint64) (r []float64)
}

// Words returns the number of words of a configuration.
func (e *Ensemble) Words() int { return (e.Spins + 63) / 64 }

// byRows splits n rows among the threads.
func (e *Ensemble) byRows(n, rows int, run func(lo, hi int)) {
	e.Workers.Run((n+rows-1)/rows, func(piece int) { run(piece*rows, min(n, (piece+1)*rows)) })
}

// Energies implements engine.Scorer.
func (e *Ensemble) Energies(dst []float64, format string, states []byte) (beta float64, err error) {
	packed, err := ReadStates(format, states, e.Spins)
	words := e.Words()
	if err == nil && len(packed) != len(dst)*words {
		err = fmt.Errorf("states: there are %d for %d energies", len(packed)/words, len(dst))
	}
	if err != nil {
		return 0, err
	}
	e.byRows(len(dst), 1024, func(lo, hi int) { e.Energy(dst[lo:hi], packed[lo*words:hi*words]) })
	return e.Beta, nil
}

// Score implements engine.Scorer.
func (e *Ensemble) Score(values []float64, params []float32, format string, states []byte) error {
	packed, err := ReadStates(format, states, e.Spins)
	stride, words := len(e.Observables()), e.Words()
	if err == nil && len(packed)/words*stride != len(values) {
		err = fmt.Errorf("states: there are %d for %d values of %d each", len(packed)/words, len(values), stride)
	}
	if err != nil {
		return err
	}
	o := Observed{Packed: packed, hi: len(packed) / words, ensemble: e}
	switch {
	case e.Weigher == nil:
	case params != nil:
		o.weigh = e.Weigher(params)
	default:
		for i := stride - 1; i < len(values); i += stride {
			values[i] = math.NaN()
		}
	}
	o.Observe(values)
	return nil
}

// Observables implements chains.Observer.
func (e *Ensemble) Observables() []string {
	if e.Weigher == nil {
		return e.Names
	}
	return append(e.Names[:len(e.Names):len(e.Names)], engine.LogWeight)
}

var (
	_ engine.Sampler = (*Ensemble)(nil)
	_ engine.Scorer  = (*Ensemble)(nil)
)
