//go:build !purego

package asm

// mathLimit bounds the elements of one assembly call.
const mathLimit = 1 << 15

func exp(dst, x []float32) {
	if !useAVX2 {
		expGeneric(dst, x)
		return
	}
	for len(x) > 0 {
		n := min(len(x), mathLimit)
		if useAVX512 {
			expAVX512(dst[:n], x[:n])
		} else {
			expAVX2(dst[:n], x[:n])
		}
		dst, x = dst[n:], x[n:]
	}
}

func log(dst, x []float32) {
	if !useAVX2 {
		logGeneric(dst, x)
		return
	}
	for len(x) > 0 {
		n := min(len(x), mathLimit)
		if useAVX512 {
			logAVX512(dst[:n], x[:n])
		} else {
			logAVX2(dst[:n], x[:n])
		}
		dst, x = dst[n:], x[n:]
	}
}

func tanh(dst, x []float32) {
	if !useAVX2 {
		tanhGeneric(dst, x)
		return
	}
	for len(x) > 0 {
		n := min(len(x), mathLimit)
		if useAVX512 {
			tanhAVX512(dst[:n], x[:n])
		} else {
			tanhAVX2(dst[:n], x[:n])
		}
		dst, x = dst[n:], x[n:]
	}
}

func sigmoid(dst, x []float32) {
	if !useAVX2 {
		sigmoidGeneric(dst, x)
		return
	}
	for len(x) > 0 {
		n := min(len(x), mathLimit)
		if useAVX512 {
			sigmoidAVX512(dst[:n], x[:n])
		} else {
			sigmoidAVX2(dst[:n], x[:n])
		}
		dst, x = dst[n:], x[n:]
	}
}

// expSumLimit is the length of the longest row that the assembly takes.
const expSumLimit = 16

func expSumRows(sums, shifts, x []float32, cols int) {
	switch {
	case !useAVX2 || cols > expSumLimit:
		expSumRowsGeneric(sums, shifts, x, cols)
	case useAVX512:
		expSumRowsAVX512(sums, shifts, &x[0], cols)
	default:
		expSumRowsAVX2(sums, shifts, &x[0], cols)
	}
}
