//go:build !amd64 || purego

package asm

func adamWStep(p, g, m, v, ema []float32, f *adamWFactors) {
	adamWStepGeneric(p, g, m, v, ema, f)
}

func sumSquares(lanes *squareLanes, x []float32) { sumSquaresGeneric(lanes, x) }

func accumulate(dst, src []float32) { accumulateGeneric(dst, src) }

func allFinite(x []float32) bool { return allFiniteGeneric(x) }
