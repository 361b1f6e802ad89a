//go:build !amd64 || purego

package asm

func probeFMA(start, constant uint64, rounds int) uint64 {
	return probeFMAGeneric(start, constant, rounds)
}

func probeFloat(start, constant uint64, rounds int) uint64 {
	return probeFloatGeneric(start, constant, rounds)
}

func probeInteger(start, constant uint64, rounds int) uint64 {
	return probeIntegerGeneric(start, constant, rounds)
}

func probeMultiply(start, constant uint64, rounds int) uint64 {
	return probeMultiplyGeneric(start, constant, rounds)
}

func probeLookup(start, constant uint64, rounds int) uint64 {
	return probeLookupGeneric(start, constant, rounds)
}

func readWords(x []uint64) uint64 { return readWordsGeneric(x) }
