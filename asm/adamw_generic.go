package asm

import "math"

func adamWStepGeneric(p, g, m, v, ema []float32, f *adamWFactors) {
	for i := range p {
		gi := f[gradScale] * g[i]
		m[i] = f[beta1]*m[i] + f[beta1Rest]*gi
		v[i] = f[beta2]*v[i] + f[beta2Rest]*(gi*gi)
		root := float32(math.Sqrt(float64(v[i])))
		p[i] = f[keep]*p[i] - f[step]*(m[i]/(root*f[rootScale]+f[epsilon]))
		if ema != nil {
			ema[i] = f[emaDecay]*ema[i] + f[emaRest]*p[i]
		}
	}
}

// sumSquaresGeneric adds to the partial sums; len(x) is a multiple of their
// number.
func sumSquaresGeneric(lanes *squareLanes, x []float32) {
	for ; len(x) >= len(lanes); x = x[len(lanes):] {
		for i := range lanes {
			v := float64(x[i])
			lanes[i] += v * v
		}
	}
}

func accumulateGeneric(dst, src []float32) {
	for i, v := range src {
		dst[i] += v
	}
}

func allFiniteGeneric(x []float32) bool {
	const exponent = 0xff << 23
	for _, v := range x {
		if math.Float32bits(v)&exponent == exponent {
			return false
		}
	}
	return true
}
