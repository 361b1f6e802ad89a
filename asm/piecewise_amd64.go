//go:build !purego

package asm

// piecewiseWork bounds the numbers that one assembly call goes through, and
// with it the time that the goroutine cannot be preempted, to some 20 µs.
const piecewiseWork = 1 << 18

// piecewiseColumns returns how many columns of rows rows a call takes.
func piecewiseColumns(rows int) int { return max(1, piecewiseWork/rows/64) * 64 }

func countKnots(dst, x, knots []float32) {
	if !useAVX2 {
		countKnotsGeneric(dst, x, knots)
		return
	}
	most := max(1, piecewiseWork/len(knots)/64) * 64
	for len(x) > 0 {
		n := min(len(x), most)
		if useAVX512 {
			countKnotsAVX512(dst[:n], x[:n], knots)
		} else {
			countKnotsAVX2(dst[:n], x[:n], knots)
		}
		dst, x = dst[n:], x[n:]
	}
}

func prefixRows(dst, w []float32, order []int32, factors []float32, out int) {
	if !useAVX2 {
		prefixRowsGeneric(dst, w, order, factors, out)
		return
	}
	most := piecewiseColumns(len(order))
	for o := 0; o < out; o += most {
		columns := min(most, out-o)
		if useAVX512 {
			prefixRowsAVX512(dst[o:], w[o:], order, factors, out, columns)
		} else {
			prefixRowsAVX2(dst[o:], w[o:], order, factors, out, columns)
		}
	}
}

func piecewiseForward(y, x, piece, table []float32, out int, slope float32) {
	last := len(table)/(2*out) - 1
	if !useAVX2 {
		piecewiseForwardGeneric(y, x, piece, table, last, out, slope)
		return
	}
	most := max(1, piecewiseWork/out)
	for len(x) > 0 {
		n := min(len(x), most)
		if useAVX512 {
			piecewiseForwardAVX512(y, x[:n], piece, table, last, out, slope)
		} else {
			piecewiseForwardAVX2(y, x[:n], piece, table, last, out, slope)
		}
		y, x, piece = y[n*out:], x[n:], piece[n:]
	}
}

func piecewiseBackward(sums, dx, x, piece, dy, table []float32, out int) {
	last := len(table)/(2*out) - 1
	if !useAVX2 {
		piecewiseBackwardGeneric(sums, dx, x, piece, dy, table, last, out)
		return
	}
	most := max(1, piecewiseWork/out)
	for len(x) > 0 {
		n := min(len(x), most)
		if useAVX512 {
			piecewiseBackwardAVX512(sums, dx, x[:n], piece, dy, table, last, out)
		} else {
			piecewiseBackwardAVX2(sums, dx, x[:n], piece, dy, table, last, out)
		}
		dx, x, piece, dy = dx[n:], x[n:], piece[n:], dy[n*out:]
	}
}

func piecewiseGradient(da, db, dw, dc, sums, w []float32, order []int32, factors []float32, out int) {
	if !useAVX2 {
		piecewiseGradientGeneric(da, db, dw, dc, sums, w, order, factors, out)
		return
	}
	most := piecewiseColumns(len(order))
	for o := 0; o < out; o += most {
		columns := min(most, out-o)
		if useAVX512 {
			piecewiseGradientAVX512(da, db, dw[o:], dc[o:], sums[o:], w[o:], order, factors, out, columns)
		} else {
			piecewiseGradientAVX2(da, db, dw[o:], dc[o:], sums[o:], w[o:], order, factors, out, columns)
		}
	}
}

func piecewiseSum(y, x, piece, table, w []float32, slope float32) {
	last := len(table)/(2*len(w)) - 1
	if !useAVX2 {
		piecewiseSumGeneric(y, x, piece, table, w, last, slope)
		return
	}
	most := max(1, piecewiseWork/len(w))
	for len(x) > 0 {
		n := min(len(x), most)
		if useAVX512 {
			piecewiseSumAVX512(y, x[:n], piece, table, w, last, slope)
		} else {
			piecewiseSumAVX2(y, x[:n], piece, table, w, last, slope)
		}
		y, x, piece = y[n:], x[n:], piece[n:]
	}
}

func piecewiseSumBackward(sums, dx, dw, x, piece, dy, table, w []float32, slope float32) {
	last := len(table)/(2*len(w)) - 1
	if !useAVX2 {
		piecewiseSumBackwardGeneric(sums, dx, dw, x, piece, dy, table, w, last, slope)
		return
	}
	most := max(1, piecewiseWork/len(w))
	for len(x) > 0 {
		n := min(len(x), most)
		if useAVX512 {
			piecewiseSumBackwardAVX512(sums, dx, dw, x[:n], piece, dy, table, w, last, slope)
		} else {
			piecewiseSumBackwardAVX2(sums, dx, dw, x[:n], piece, dy, table, w, last, slope)
		}
		dx, x, piece, dy = dx[n:], x[n:], piece[n:], dy[n:]
	}
}
