package mmd

import "slices"

// Naive returns the loss and sets grad to its surrogate gradient by the plain
// double sum over ordered pairs in float64, from the definition in the
// package's doc comment, which is MixedNaive's of a single mode: the oracle of
// verification. s, t and grad are row-major [n][dim]; grad may be nil.
func Naive(k *Kernel, stat Statistic, s, t []float64, n, dim int, grad []float64) float64 {
	one := slices.Repeat([]float64{1}, n) // mode
	return MixedNaive(k, stat, s, t, one, one, dim, 1, grad, nil)
}

func square(x float64) float64 { return x * x }

// pairs returns the number of ordered pairs that the statistic averages over.
func pairs(stat Statistic, n int) float64 {
	if stat == U {
		return float64(n) * float64(n-1)
	}
	return float64(n) * float64(n)
}

// pairNorm returns one over that.
func pairNorm(stat Statistic, n int) float64 { return 1 / pairs(stat, n) }
