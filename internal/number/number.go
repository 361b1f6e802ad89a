// Package number has small functions of floating-point numbers: how a person and JSON write them, and
// conversions of slices.
package number

import (
	"fmt"
	"math"
	"strconv"
)

// Finite reports whether x is neither infinite nor NaN.
func Finite(x float64) bool { return x-x == 0 }

// Rounded returns x rounded to a number of significant digits: the float64 nearest to that decimal number.
func Rounded(x float64, digits int) float64 {
	if x == 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))+1-float64(digits))
	n := math.Round(x / unit)
	if unit < 1 {
		return n / math.Round(1/unit) // the float64 nearest to the decimal number
	}
	return n * unit
}

// Count writes a number of things: "1 step", "2 steps".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Percent writes a fraction as a percentage of two digits.
func Percent(x float64) string {
	if math.Abs(x) < 1e-4 {
		return fmt.Sprintf("%.2g %%", 100*x)
	}
	return strconv.FormatFloat(Rounded(100*x, 2), 'f', -1, 64) + " %"
}

// Widen returns x in float64.
func Widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// Narrow returns x in float32.
func Narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// Largest returns the largest magnitude of numbers.
func Largest(x []float64) (m float64) {
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

// CentralDifference returns the derivative of f with respect to *v, by steps of h.
func CentralDifference(v *float64, h float64, f func() float64) float64 {
	original := *v
	*v = original + h
	up := f()
	*v = original - h
	down := f()
	*v = original
	return (up - down) / (2 * h)
}

// WalshHadamard sets x_i to Σ_j x_j (−1)^{|i ∧ j|}, in place. The length of x is a power of two.
func WalshHadamard(x []float64) {
	for half := 1; half < len(x); half *= 2 {
		for i := 0; i < len(x); i += 2 * half {
			lo, hi := x[i:i+half], x[i+half:i+2*half]
			for j, a := range lo {
				b := hi[j]
				lo[j], hi[j] = a+b, a-b
			}
		}
	}
}
