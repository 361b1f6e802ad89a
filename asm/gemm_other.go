//go:build !amd64 || purego

package asm

func denseForward(y, x, packed, bias []float32, rows, in, out int, slope float32) {
	denseForwardGeneric(y, x, packed, bias, rows, in, out, slope)
}

func denseBackwardInput(dx, dy, packedT, act []float32, rows, in, out int, slope float32) {
	denseBackwardInputGeneric(dx, dy, packedT, act, rows, in, out, slope)
}

func denseBackwardWeights(dw, db, x, dy []float32, rows, in, out int) {
	denseBackwardWeightsGeneric(dw, db, x, dy, rows, in, out)
}

func packPanel(panel, w []float32, rows, columns int) {
	packPanelGeneric(panel, w, rows, columns, 0)
}
