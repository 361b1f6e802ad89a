//go:build !purego

package asm

// spinsLimit bounds the values in one call of the assembly, which cannot be
// preempted. Rows longer than that are taken one at a time.
const spinsLimit = 1 << 15

func signMask(dst []uint64, logits []float32, rows, n int) {
	if !useAVX2 {
		signMaskGeneric(dst, logits, rows, n)
		return
	}
	words := (n + 63) / 64
	for rows > 0 {
		part := min(rows, max(1, spinsLimit/n))
		if useAVX512 {
			signMaskAVX512(&dst[0], &logits[0], part, n)
		} else {
			signMaskAVX2(&dst[0], &logits[0], part, n)
		}
		dst, logits, rows = dst[part*words:], logits[part*n:], rows-part
	}
}

func unpack(dst []float32, spins []uint64, rows, n int) {
	if !useAVX2 {
		unpackGeneric(dst, spins, rows, n)
		return
	}
	words := (n + 63) / 64
	for rows > 0 {
		part := min(rows, max(1, spinsLimit/n))
		if useAVX512 {
			unpackAVX512(&dst[0], &spins[0], part, n)
		} else {
			unpackAVX2(&dst[0], &spins[0], part, n)
		}
		dst, spins, rows = dst[part*n:], spins[part*words:], rows-part
	}
}

func transpose64(a *[64]uint64) {
	switch {
	case useAVX512:
		transpose64AVX512(a)
	case useAVX2:
		transpose64AVX2(a)
	default:
		transpose64Generic(a)
	}
}
