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

func logSumExp64Generic(log, terms []float64, stride int) {
	for i := range log {
		highest, sum := -math.MaxFloat64, 0.0
		for at := i; at < len(terms); at += stride {
			highest = max(highest, terms[at])
		}
		for at := i; at < len(terms); at += stride {
			v := terms[at] - highest
			if terms[at] = math.Exp(v); v < -45 {
				terms[at] = 0
			}
			sum += terms[at]
		}
		for at := i; at < len(terms); at += stride {
			terms[at] /= max(1, sum)
		}
		log[i] = math.Log(sum) + highest
	}
}
