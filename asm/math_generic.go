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

// expSumRowsGeneric sets sums[r] = Σ_c e^(x[r·cols+c] − shifts[r]), with the
// largest element of each row as its shift, or 0 where that is not finite.
func expSumRowsGeneric(sums, shifts, x []float32, cols int) {
	var shifted [256]float32
	for r := range sums {
		row := x[r*cols:][:cols]
		shift := largestOf(row)
		if shift-shift != 0 { // infinite or NaN: e^±Inf is right as it is
			shift = 0
		}
		for c, v := range row {
			shifted[c] = v - shift
		}
		exp(shifted[:cols], shifted[:cols])
		var sum float64
		for _, e := range shifted[:cols] {
			sum += float64(e)
		}
		sums[r], shifts[r] = float32(sum), shift
	}
}
