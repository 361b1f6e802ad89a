package engine

import (
	"fmt"
	"math"
)

// A Sampler writes independent samples of a trained generator.
type Sampler interface {
	// Formats lists the layouts that samples can be written in, the default
	// first.
	Formats() []Format
	// Reach returns an error if the stream lacks some of the samples first …
	// first+n−1, or the random numbers for refine Metropolis steps of each.
	Reach(first, n uint64, refine int) error
	// Sample fills dst with samples first … first+n−1 of the stream that
	// belongs to the seed, in the named format, after refine Metropolis steps
	// each. len(dst) is n times the format's RowBytes.
	Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error
}

// A Scorer is a Sampler that computes energies and observables of any states, moves them and
// writes them in other formats. Its target is π(s) ∝ e^{−βE(s)}.
type Scorer interface {
	// Energies sets dst[i] = E(s_i), +Inf where π vanishes, for len(dst) states in a
	// Sampler's format that holds all of a state, and returns β.
	Energies(dst []float64, format string, states []byte) (beta float64, err error)
	// Observables names functions of a state, as those of a chains.Observer; LogWeight is
	// the last.
	Observables() []string
	// Score sets values, [states][len(Observables())], row-major, of states in a Sampler's
	// format that holds all of a state. LogWeight is ln π − ln q, π = e^{−βE} by
	// Energies and q the density of the generator with parameters params; if these are
	// nil it is NaN.
	Score(values []float64, params []float32, format string, states []byte) error
	// Refine takes the given number of Metropolis steps from states in a Sampler's
	// format that holds all of a state, in place. State i draws the random numbers
	// of sample first+i: unrefined samples of Sample become the refined ones. Where
	// neighbouring samples share random numbers, as in sweeps of a lattice, that holds
	// for whole blocks of RefineBlock samples.
	Refine(states []byte, format string, first uint64, steps int) error
	// Convert sets dst to states of the default format, written in another one, which may
	// hold a part of each state. It cannot be Weighted.
	Convert(dst []byte, format string, states []byte) error
}

// LogWeight is the observable ln π − ln q of a generator whose density q is known, with π
// unnormalised as the target gives it: if q is the target's law it is ln Z everywhere. It may be −Inf.
const LogWeight = "log_weight"

// A Format is the layout of one sample in a NumPy file.
type Format struct {
	Name     string `json:"name"`      // as --format takes it
	Descr    string `json:"dtype"`     // NumPy dtype description: a Python literal such as '|i1' or [('x', '<f4'), ('k', '<i4')]
	Shape    []int  `json:"shape"`     // shape of one sample; empty for a scalar
	RowBytes int    `json:"row_bytes"` // bytes of one sample
	Doc      string `json:"doc"`       // what the numbers mean, bit order included
	// Unrefined marks a format with numbers that are known only of samples as the generator
	// draws them, such as weights.
	Unrefined bool `json:"-"`
}

// RefineBlock is a multiple of the number of samples that share random numbers in any system.
const RefineBlock = 1 << 9

// SampleRange is Reach for a stream that ends after limit samples, each of which has
// random numbers for refineLimit steps.
func SampleRange(first, limit, n uint64, refine, refineLimit int) error {
	switch {
	case refine < 0 || refine > refineLimit:
		return fmt.Errorf("refine: %d is not between 0 and %d", refine, refineLimit)
	case first > limit || n > limit-first:
		last := first + min(max(n, 1)-1, math.MaxUint64-first)
		return fmt.Errorf("number: samples %d to %d are not all among the %d of a seed; take another seed for more", first, last, limit)
	}
	return nil
}
