//go:build !amd64 || purego

package asm

func countKnots(dst, x, knots []float32) { countKnotsGeneric(dst, x, knots) }

func prefixRows(dst, w []float32, order []int32, factors []float32, out int) {
	prefixRowsGeneric(dst, w, order, factors, out)
}

func piecewiseForward(y, x, piece, table []float32, out int, slope float32) {
	piecewiseForwardGeneric(y, x, piece, table, len(table)/(2*out)-1, out, slope)
}

func piecewiseBackward(sums, dx, x, piece, dy, table []float32, out int) {
	piecewiseBackwardGeneric(sums, dx, x, piece, dy, table, len(table)/(2*out)-1, out)
}

func piecewiseGradient(da, db, dw, dc, sums, w []float32, order []int32, factors []float32, out int) {
	piecewiseGradientGeneric(da, db, dw, dc, sums, w, order, factors, out)
}

func piecewiseSum(y, x, piece, table, w []float32, slope float32) {
	piecewiseSumGeneric(y, x, piece, table, w, len(table)/(2*len(w))-1, slope)
}

func piecewiseSumBackward(sums, dx, dw, x, piece, dy, table, w []float32, slope float32) {
	piecewiseSumBackwardGeneric(sums, dx, dw, x, piece, dy, table, w, len(table)/(2*len(w))-1, slope)
}
