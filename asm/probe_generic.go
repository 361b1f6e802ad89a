package asm

import "math"

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
