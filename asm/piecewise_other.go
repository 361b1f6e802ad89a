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
