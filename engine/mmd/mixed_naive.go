package mmd

import "fmt"

// MixedNaive returns the loss of Mixed and sets its gradients by the plain
// double sum over ordered pairs in float64, from the definition in Mixed's doc
// comment: the oracle of verification. The modes of s and of s′ are vectors, e
// and f, row-major [n][modes]; other than unit vectors give the loss's
// multilinear extension. gradX, [n], and gradE, [n][modes], may be nil.
func MixedNaive(k *Kernel, stat Statistic, x, y, e, f []float64, modes int, gradX, gradE []float64) float64 {
	n := len(x)
	if len(y) != n || len(e) != n*modes || len(f) != n*modes || gradX != nil && len(gradX) != n || gradE != nil && len(gradE) != n*modes {
		panic(fmt.Sprintf("mmd: slices of length %d, %d, %d and %d for states in %d modes", len(x), len(y), len(e), len(f), modes))
	}
	clear(gradX)
	clear(gradE)
	norm := pairNorm(stat, n)
	dot := func(a, b []float64) (sum float64) {
		for c := range a {
			sum += a[c] * b[c]
		}
		return sum
	}
	var loss float64
	for i := range n {
		ei, fi := e[i*modes:][:modes], f[i*modes:][:modes]
		for j := range n {
			if stat == U && i == j {
				continue
			}
			ej, fj := e[j*modes:][:modes], f[j*modes:][:modes]
			xx := square(x[i]-x[j]) + square(y[i]-y[j])
			xy := square(x[i]-y[j]) + square(y[i]-x[j])
			forward, backward := dot(fi, fj), dot(fi, ej)
			loss += 2 * norm * (k.Value(xx)*dot(ei, ej)*forward - k.Value(xy)*dot(ei, fj)*backward)
			if gradX != nil {
				gradX[i] += 8 * norm * (k.Derivative(xx)*(x[i]-x[j])*dot(ei, ej)*forward -
					k.Derivative(xy)*(x[i]-y[j])*dot(ei, fj)*backward)
			}
			if gradE != nil {
				for c := range modes {
					gradE[i*modes+c] += 4 * norm * (k.Value(xx)*ej[c]*forward - k.Value(xy)*fj[c]*backward)
				}
			}
		}
	}
	return loss
}
