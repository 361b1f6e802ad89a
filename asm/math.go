package asm

import "math"

// The elementwise functions set dst[i] = f(x[i]). The slices have one length;
// dst may be x itself but not overlap it otherwise. Errors are distances from the
// exact value in units in the last place of the result. They hold for all
// arguments, also infinite or subnormal ones, and for subnormal results. NaN gives
// NaN.

// mathLimit bounds the elements of one call of the assembly, which cannot be preempted.
const mathLimit = 1 << 15

// Exp sets dst[i] = e^x[i], within 1.1 ulp.
func Exp(dst, x []float32) {
	checkLengths(len(dst) == len(x), "Exp")
	for len(x) > 0 {
		n := min(len(x), mathLimit)
		exp(dst[:n], x[:n])
		dst, x = dst[n:], x[n:]
	}
}

// Tanh sets dst[i] = tanh x[i], within 3 ulp.
func Tanh(dst, x []float32) {
	checkLengths(len(dst) == len(x), "Tanh")
	for len(x) > 0 {
		n := min(len(x), mathLimit)
		tanh(dst[:n], x[:n])
		dst, x = dst[n:], x[n:]
	}
}

// Sigmoid sets dst[i] = 1/(1+e^−x[i]), within 2.5 ulp.
func Sigmoid(dst, x []float32) {
	checkLengths(len(dst) == len(x), "Sigmoid")
	for len(x) > 0 {
		n := min(len(x), mathLimit)
		sigmoid(dst[:n], x[:n])
		dst, x = dst[n:], x[n:]
	}
}

// LogSumExp sets dst[r] = ln Σ_c e^x[r·cols+c] for each of len(dst) rows,
// with an error of at most 4e-7·(1 + |dst[r]|). An empty row gives −Inf, and a
// row whose largest element is infinite gives that.
func LogSumExp(dst, x []float32, cols int) {
	checkLengths(cols >= 0 && len(x) == len(dst)*cols, "LogSumExp")
	const block = 256
	var shifted [block]float32
	if cols <= block {
		// One call of each function takes as many rows as fit.
		for cols > 0 && len(dst) > 0 {
			rows := min(len(dst), block/cols)
			logSumExpRows(dst[:rows], x[:rows*cols], shifted[:], cols)
			dst, x = dst[rows:], x[rows*cols:]
		}
		for r := range dst {
			dst[r] = float32(math.Inf(-1))
		}
		return
	}
	for r := range dst {
		row := x[r*cols:][:cols]
		highest := largestOf(row)
		if math.IsInf(float64(highest), 0) {
			dst[r] = highest
			continue
		}
		var sum float64
		for len(row) > 0 {
			n := min(len(row), block)
			for c, v := range row[:n] {
				shifted[c] = v - highest
			}
			exp(shifted[:n], shifted[:n])
			for _, e := range shifted[:n] {
				sum += float64(e)
			}
			row = row[n:]
		}
		dst[r] = highest + float32(math.Log(sum))
	}
}

// logSumExpRows is LogSumExp for as many rows as fit into buffer.
func logSumExpRows(dst, x, buffer []float32, cols int) {
	shifts := buffer[:len(dst)]
	if cols <= expSumLimit {
		expSumRows(dst, shifts, x, cols)
	} else {
		expSumRowsGeneric(dst, shifts, x, cols)
	}
	log(dst, dst) // within 1.5 ulp; −Inf for 0
	for r, shift := range shifts {
		dst[r] += shift
	}
}

// expSumLimit is the largest length of rows that the assembly takes.
const expSumLimit = 16

// largestOf returns the largest element, −Inf if there is none, and NaN if one is NaN.
func largestOf(x []float32) float32 {
	largest := float32(math.Inf(-1))
	for _, v := range x {
		largest = max(largest, v)
	}
	return largest
}

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
		if shift-shift != 0 { // infinite or NaN: without a shift, e^±Inf gives the result
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
