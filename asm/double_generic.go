package asm

import "math"

func exp64Generic(dst, x []float64) {
	for i, v := range x {
		dst[i] = math.Exp(v)
	}
}

func log64Generic(dst, x []float64) {
	for i, v := range x {
		dst[i] = math.Log(v)
	}
}

func log1p64Generic(dst, x []float64) {
	for i, v := range x {
		dst[i] = math.Log1p(v)
	}
}

func combine64Generic(dst, weights, v []float64, stride int) {
	for i := range dst {
		sum := weights[0] * v[i]
		for j, w := range weights[1:] {
			sum += float64(w * v[(j+1)*stride+i])
		}
		dst[i] = sum
	}
}
