//go:build !purego

package asm

// The assembly walks blocks of streamBlock elements, and at most streamLimit
// of them in one call, which bounds the time that the goroutine cannot be
// preempted. The generic kernels finish the rest with the same bits.
const (
	streamBlock = 32
	streamLimit = 1 << 15
)

func adamWStep(p, g, m, v, ema []float32, f *adamWFactors) {
	for useAVX2 && len(p) >= streamBlock {
		n := min(len(p), streamLimit) &^ (streamBlock - 1)
		var average []float32
		if ema != nil {
			average, ema = ema[:n], ema[n:]
		}
		if useAVX512 {
			adamWStepAVX512(p[:n], g[:n], m[:n], v[:n], average, f)
		} else {
			adamWStepAVX2(p[:n], g[:n], m[:n], v[:n], average, f)
		}
		p, g, m, v = p[n:], g[n:], m[n:], v[n:]
	}
	adamWStepGeneric(p, g, m, v, ema, f)
}

func sumSquares(lanes *squareLanes, x []float32) {
	for useAVX2 && len(x) >= streamBlock {
		n := min(len(x), streamLimit) &^ (streamBlock - 1)
		if useAVX512 {
			sumSquaresAVX512(lanes, x[:n])
		} else {
			sumSquaresAVX2(lanes, x[:n])
		}
		x = x[n:]
	}
	sumSquaresGeneric(lanes, x)
}

func accumulate(dst, src []float32) {
	for useAVX2 && len(dst) >= streamBlock {
		n := min(len(dst), streamLimit) &^ (streamBlock - 1)
		if useAVX512 {
			accumulateAVX512(dst[:n], src[:n])
		} else {
			accumulateAVX2(dst[:n], src[:n])
		}
		dst, src = dst[n:], src[n:]
	}
	accumulateGeneric(dst, src)
}

func allFinite(x []float32) bool {
	for useAVX2 && len(x) >= streamBlock {
		n := min(len(x), streamLimit) &^ (streamBlock - 1)
		finite := false
		if useAVX512 {
			finite = allFiniteAVX512(x[:n])
		} else {
			finite = allFiniteAVX2(x[:n])
		}
		if !finite {
			return false
		}
		x = x[n:]
	}
	return allFiniteGeneric(x)
}
