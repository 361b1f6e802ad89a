package asm

import "math"

// A Probe is a loop of independent instructions of one kind in registers. Its
// speed on the active path is a limit of the machine to which the time of a
// kernel with counted operations can be compared.
type Probe int

// The probes. A fused multiply-add counts as one operation.
const (
	ProbeFMA      Probe = iota // float32 multiply-adds
	ProbeFloat                 // float32 multiply-adds and additions in turn, which some machines execute side by side
	ProbeInteger               // 32-bit integer additions, as fast as any bitwise operation
	ProbeMultiply              // products of 32-bit integers with 64-bit results
	ProbeLookup                // choices of one of 32 numbers with AVX-512, of one of 8 with AVX2, which one instruction makes
)

// Chains of the probes, and operations on each in a round.
const (
	probeChains = 14
	probeUnroll = 4
	probeRounds = 1 << 11 // in one call of the assembly: below 50 µs
)

// Run executes the given number of rounds and returns the number of operations
// on single numbers, whatever the width of the path's vectors.
func (p Probe) Run(rounds int) (operations float64) {
	for done := 0; done < rounds; done += probeRounds {
		p.run(min(probeRounds, rounds-done))
	}
	return float64(rounds) * probeChains * probeUnroll * p.lanes()
}

// run returns 64 bits of what every chain holds after the given rounds: for
// ProbeMultiply a power of 3, truncated to 32 bits before each product, for
// ProbeLookup the number of operations modulo 8, twice, and for the others that
// number itself, twice.
func (p Probe) run(rounds int) uint64 {
	const two = 1 + 1<<32
	switch p {
	case ProbeFMA:
		return probeFMA(0, two*uint64(math.Float32bits(1)), rounds)
	case ProbeFloat:
		return probeFloat(0, two*uint64(math.Float32bits(1)), rounds)
	case ProbeInteger:
		return probeInteger(0, two, rounds)
	case ProbeMultiply:
		return probeMultiply(1, 3, rounds)
	case ProbeLookup:
		return probeLookup(0, 0, rounds)
	}
	panic("asm: unknown probe")
}

// lanes is the number of operations that one instruction of the probe makes.
func (p Probe) lanes() float64 {
	words := 0.5 // of 64 bits; the portable loops take one number at a time
	switch {
	case useAVX512:
		words = 8
	case useAVX2:
		words = 4
	case p == ProbeInteger || p == ProbeMultiply:
		words = 1
	}
	if p == ProbeMultiply {
		return words
	}
	return 2 * words
}

// ReadWords returns the exclusive or of all words, read in order: a probe for
// the speed of loads from wherever x lies.
func ReadWords(x []uint64) (sum uint64) {
	for len(x) >= readBlock {
		n := min(len(x), readLimit) &^ (readBlock - 1)
		sum ^= readWords(x[:n])
		x = x[n:]
	}
	return sum ^ readWordsGeneric(x)
}

// readBlock is the number of words that the assembly's loop takes at a time,
// readLimit the number in one call.
const (
	readBlock = 64
	readLimit = 1 << 16
)
