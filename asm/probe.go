package asm

import "math"

// A Probe is a loop of independent instructions of one kind in registers. Its speed on the
// active path is a limit of the machine, with which the speed of kernels can be compared.
type Probe int

// The probes. A fused multiply-add counts as one operation.
const (
	ProbeFMA      Probe = iota // float32 multiply-adds
	ProbeFloat                 // alternating float32 multiply-adds and additions, which some machines execute in parallel
	ProbeInteger               // 32-bit integer additions, as fast as any bitwise operation
	ProbeMultiply              // products of 32-bit integers with 64-bit results
	ProbeLookup                // choices of one of 32 numbers with AVX-512, or of 8 with AVX2, by one instruction
)

const (
	probeChains = 14      // independent chains of operations
	probeUnroll = 4       // operations on each chain in a round
	probeRounds = 1 << 11 // most rounds in one call of the assembly: below 50 µs
)

// Run executes the given number of rounds and returns the number of operations
// on single numbers, whatever the width of the path's vectors.
func (p Probe) Run(rounds int) (operations float64) {
	for done := 0; done < rounds; done += probeRounds {
		p.run(min(probeRounds, rounds-done))
	}
	return float64(rounds) * probeChains * probeUnroll * p.lanes()
}

// run returns 64 bits of every chain's result after the given rounds. ProbeMultiply's is a
// power of 3, truncated to 32 bits before each product. ProbeLookup's is the number of a
// chain's operations modulo 8, in both halves; the others' is that number itself.
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

// lanes is the number of operations of one instruction of the probe.
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

const (
	readBlock = 64      // words of a round of the assembly's loop
	readLimit = 1 << 16 // most words in one call
)

// The generic probes work on single numbers, on as many chains as the compiler
// keeps in registers.

// probeFMAGeneric multiplies by one and adds one.
func probeFMAGeneric(start, constant uint64, rounds int) uint64 {
	c, x := math.Float32frombits(uint32(constant)), math.Float32frombits(uint32(start))
	x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13 := x, x, x, x, x, x, x, x, x, x, x, x, x, x
	for range rounds * probeUnroll {
		x0 = x0*c + c
		x1 = x1*c + c
		x2 = x2*c + c
		x3 = x3*c + c
		x4 = x4*c + c
		x5 = x5*c + c
		x6 = x6*c + c
		x7 = x7*c + c
		x8 = x8*c + c
		x9 = x9*c + c
		x10 = x10*c + c
		x11 = x11*c + c
		x12 = x12*c + c
		x13 = x13*c + c
	}
	x = max(x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13)
	bits := uint64(math.Float32bits(x))
	return bits | bits<<32
}

// probeFloatGeneric multiplies by one and adds one on half of the chains, and only adds on the others.
func probeFloatGeneric(start, constant uint64, rounds int) uint64 {
	c, x := math.Float32frombits(uint32(constant)), math.Float32frombits(uint32(start))
	x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13 := x, x, x, x, x, x, x, x, x, x, x, x, x, x
	for range rounds * probeUnroll {
		x0 = x0*c + c
		x1 += c
		x2 = x2*c + c
		x3 += c
		x4 = x4*c + c
		x5 += c
		x6 = x6*c + c
		x7 += c
		x8 = x8*c + c
		x9 += c
		x10 = x10*c + c
		x11 += c
		x12 = x12*c + c
		x13 += c
	}
	x = max(x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13)
	bits := uint64(math.Float32bits(x))
	return bits | bits<<32
}

// probeIntegerGeneric adds two 32-bit integers at a time.
func probeIntegerGeneric(start, constant uint64, rounds int) (x uint64) {
	for range probeChains / 7 {
		x0, x1, x2, x3, x4, x5, x6 := start, start, start, start, start, start, start
		for range rounds * probeUnroll {
			x0 += constant
			x1 += constant
			x2 += constant
			x3 += constant
			x4 += constant
			x5 += constant
			x6 += constant
		}
		x = max(x, x0, x1, x2, x3, x4, x5, x6)
	}
	return x
}

// probeMultiplyGeneric multiplies 32-bit integers into 64-bit products.
func probeMultiplyGeneric(start, constant uint64, rounds int) (x uint64) {
	for range probeChains / 7 {
		x0, x1, x2, x3, x4, x5, x6 := start, start, start, start, start, start, start
		for range rounds * probeUnroll {
			x0 = uint64(uint32(x0)) * constant
			x1 = uint64(uint32(x1)) * constant
			x2 = uint64(uint32(x2)) * constant
			x3 = uint64(uint32(x3)) * constant
			x4 = uint64(uint32(x4)) * constant
			x5 = uint64(uint32(x5)) * constant
			x6 = uint64(uint32(x6)) * constant
		}
		x = max(x, x0, x1, x2, x3, x4, x5, x6)
	}
	return x
}

// probeLookupGeneric looks one number up after another in a table of the next
// larger number modulo 8, plus a constant.
func probeLookupGeneric(start, constant uint64, rounds int) (x uint64) {
	var table [32]uint32
	for i := range table {
		table[i] = uint32(i+1)&7 + uint32(constant)
	}
	for range probeChains / 7 {
		s := uint32(start)
		x0, x1, x2, x3, x4, x5, x6 := s, s, s, s, s, s, s
		for range rounds * probeUnroll {
			x0 = table[x0&31]
			x1 = table[x1&31]
			x2 = table[x2&31]
			x3 = table[x3&31]
			x4 = table[x4&31]
			x5 = table[x5&31]
			x6 = table[x6&31]
		}
		x = max(x, uint64(max(x0, x1, x2, x3, x4, x5, x6)))
	}
	return x | x<<32
}

// readWordsGeneric returns the exclusive or of all words.
func readWordsGeneric(x []uint64) (sum uint64) {
	for len(x) >= 4 {
		sum ^= x[0] ^ x[1] ^ x[2] ^ x[3]
		x = x[4:]
	}
	for _, w := range x {
		sum ^= w
	}
	return sum
}
