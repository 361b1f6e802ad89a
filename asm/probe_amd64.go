//go:build !purego

package asm

func probeFMA(start, constant uint64, rounds int) uint64 {
	switch {
	case useAVX512:
		return probeFMAAVX512(start, constant, rounds)
	case useAVX2:
		return probeFMAAVX2(start, constant, rounds)
	}
	return probeFMAGeneric(start, constant, rounds)
}

func probeFloat(start, constant uint64, rounds int) uint64 {
	switch {
	case useAVX512:
		return probeFloatAVX512(start, constant, rounds)
	case useAVX2:
		return probeFloatAVX2(start, constant, rounds)
	}
	return probeFloatGeneric(start, constant, rounds)
}

func probeInteger(start, constant uint64, rounds int) uint64 {
	switch {
	case useAVX512:
		return probeIntegerAVX512(start, constant, rounds)
	case useAVX2:
		return probeIntegerAVX2(start, constant, rounds)
	}
	return probeIntegerGeneric(start, constant, rounds)
}

func probeMultiply(start, constant uint64, rounds int) uint64 {
	switch {
	case useAVX512:
		return probeMultiplyAVX512(start, constant, rounds)
	case useAVX2:
		return probeMultiplyAVX2(start, constant, rounds)
	}
	return probeMultiplyGeneric(start, constant, rounds)
}

func probeLookup(start, constant uint64, rounds int) uint64 {
	switch {
	case useAVX512:
		return probeLookupAVX512(start, constant, rounds)
	case useAVX2:
		return probeLookupAVX2(start, constant, rounds)
	}
	return probeLookupGeneric(start, constant, rounds)
}

// readBlock is the number of words that the assembly's loop takes at a time,
// readLimit the number in one call.
const (
	readBlock = 64
	readLimit = 1 << 16
)

func readWords(x []uint64) (sum uint64) {
	for useAVX2 && len(x) >= readBlock {
		var acc [8]uint64
		n := min(len(x), readLimit) &^ (readBlock - 1)
		if useAVX512 {
			readWordsAVX512(x[:n], &acc)
		} else {
			readWordsAVX2(x[:n], &acc)
		}
		for _, a := range acc {
			sum ^= a
		}
		x = x[n:]
	}
	return sum ^ readWordsGeneric(x)
}
