//go:build !amd64 || purego

package asm

func exp(dst, x []float32)     { expGeneric(dst, x) }
func log(dst, x []float32)     { logGeneric(dst, x) }
func tanh(dst, x []float32)    { tanhGeneric(dst, x) }
func sigmoid(dst, x []float32) { sigmoidGeneric(dst, x) }

func expSumRows(sums, shifts, x []float32, cols int) { expSumRowsGeneric(sums, shifts, x, cols) }
