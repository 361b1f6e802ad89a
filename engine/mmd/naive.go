package mmd

import (
	"fmt"
	"slices"
)

// Naive returns the loss and sets grad to its surrogate gradient by the plain double sum over
// ordered pairs in float64, as the package's doc comment defines it. It is MixedNaive with a
// single mode, and the oracle of verification. s, t and grad are row-major [n][dim]; grad may
// be nil.
func Naive(k *Kernel, stat Statistic, s, t []float64, n, dim int, grad []float64) float64 {
	modes := slices.Repeat([]float64{1}, n)
	return MixedNaive(k, stat, s, t, modes, modes, dim, 1, grad, nil)
}

// MixedNaive returns the loss of Mixed and sets its gradients by the plain double sum over
// ordered pairs in float64, as Mixed's doc comment defines it. It is the oracle of verification.
// x and y are row-major [n][dim]. The modes of s and of s′ are vectors, e and f, row-major
// [n][modes]; vectors that are not unit vectors give the loss's multilinear extension. gradX,
// [n][dim], and gradE, [n][modes], may be nil.
func MixedNaive(k *Kernel, stat Statistic, x, y, e, f []float64, dim, modes int, gradX, gradE []float64) float64 {
	n := len(x) / dim
	if len(x) != n*dim || len(y) != n*dim || len(e) != n*modes || len(f) != n*modes || gradX != nil && len(gradX) != n*dim || gradE != nil && len(gradE) != n*modes {
		panic(fmt.Sprintf("mmd: slices of length %d, %d, %d and %d for states of %d coordinates in %d modes", len(x), len(y), len(e), len(f), dim, modes))
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
			var xx, xy float64
			for c := range dim {
				xi, xj, yi, yj := x[i*dim+c], x[j*dim+c], y[i*dim+c], y[j*dim+c]
				xx += square(xi-xj) + square(yi-yj)
				xy += square(xi-yj) + square(yi-xj)
			}
			forward, backward := dot(fi, fj), dot(fi, ej)
			valueX, valueY := k.Value(xx), k.Value(xy)
			loss += 2 * norm * (valueX*dot(ei, ej)*forward - valueY*dot(ei, fj)*backward)
			if gradX != nil {
				slopeX, slopeY := k.Derivative(xx), k.Derivative(xy)
				for c := range dim {
					gradX[i*dim+c] += 8 * norm * (slopeX*(x[i*dim+c]-x[j*dim+c])*dot(ei, ej)*forward -
						slopeY*(x[i*dim+c]-y[j*dim+c])*dot(ei, fj)*backward)
				}
			}
			if gradE != nil {
				for c := range modes {
					gradE[i*modes+c] += 4 * norm * (valueX*ej[c]*forward - valueY*fj[c]*backward)
				}
			}
		}
	}
	return loss
}

func square(x float64) float64 { return x * x }
