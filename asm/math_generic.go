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
