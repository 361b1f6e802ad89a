package asm

import "math"

func expGeneric(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(math.Exp(float64(v)))
	}
}

func logGeneric(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(math.Log(float64(v)))
	}
}

func rsqrtGeneric(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(1 / math.Sqrt(float64(v)))
	}
}

func tanhGeneric(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(math.Tanh(float64(v)))
	}
}

func sigmoidGeneric(dst, x []float32) {
	for i, v := range x {
		dst[i] = float32(1 / (1 + math.Exp(-float64(v))))
	}
}

func logSumExpGeneric(dst, x []float32, cols int) {
	for r := range dst {
		row := x[r*cols:][:cols]
		highest := float32(math.Inf(-1))
		for _, v := range row {
			highest = max(highest, v)
		}
		if math.IsInf(float64(highest), 0) {
			dst[r] = highest // shifting by an infinity would give NaN
			continue
		}
		var sum float64
		for _, v := range row {
			sum += math.Exp(float64(v - highest))
		}
		dst[r] = highest + float32(math.Log(sum))
	}
}
