package asm

import "math"

// The conversions keep the compiler from fusing products with sums.
func adamWStepGeneric(p, g, m, v, ema []float32, f *adamWFactors) {
	for i := range p {
		gi := float32(f[gradScale] * g[i])
		m[i] = float32(f[beta1]*m[i]) + float32(f[beta1Rest]*gi)
		v[i] = float32(f[beta2]*v[i]) + float32(f[beta2Rest]*float32(gi*gi))
		root := float32(math.Sqrt(float64(v[i])))
		move := m[i] / (float32(root*f[rootScale]) + f[epsilon])
		p[i] = float32(f[keep]*p[i]) - float32(f[step]*move)
		if ema != nil {
			ema[i] = float32(f[emaDecay]*ema[i]) + float32(f[emaRest]*p[i])
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
