//go:build !amd64 || purego

package asm

func radialValues(k *Radial, value, derivative, d2 []float32) {
	radialValuesGeneric(k, value, derivative, d2)
}

func gramTile(k *Radial, x *GramBatch, t GramRange, rows, cols, _ []float32) float64 {
	return gramTileGeneric(k, x, t, rows, cols)
}

func kernelSums(k *Radial, value, grad []float32, gradStride int, x []float32, xStride, rows int, y []float32, yStride, cols, dim, gradDim int, _ []float32) {
	kernelSumsGeneric(k, value, grad, gradStride, x, xStride, rows, y, yStride, cols, dim, gradDim)
}
