package kfd

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Naive is LossGradient of a first step in float64, by plain loops and a
// general solver: the oracle of verification. s, t and grad are row-major
// [n][dim]. It also returns the witness, g, that drives the samples of each half.
func (w *Witness) Naive(s, t, grad []float64) (loss float64, witness [2]func(x []float64) float64) {
	n, r, d := w.n, w.r, w.dim
	phi := func(x []float64) *mat.VecDense {
		y := mat.NewVecDense(r, nil)
		for k := range r {
			sum := float64(w.offset[k])
			for i := range d {
				sum += float64(w.omega[i*r+k]) * x[i]
			}
			y.SetVec(k, math.Tanh(sum))
		}
		return y
	}
	second := mat.NewSymDense(r, nil)
	mean := [2]*mat.VecDense{mat.NewVecDense(r, nil), mat.NewVecDense(r, nil)}
	var count [2]float64
	for i := range n {
		delta := phi(s[i*d : (i+1)*d])
		delta.SubVec(delta, phi(t[i*d:(i+1)*d]))
		second.SymRankOne(second, 1/float64(n), delta)
		mean[w.half(i)].AddVec(mean[w.half(i)], delta)
		count[w.half(i)]++
	}
	for k := range r {
		second.SetSym(k, k, second.At(k, k)+w.config.Ridge)
	}
	var c [2]*mat.VecDense
	for half := range mean {
		mean[half].ScaleVec(1/count[half], mean[half])
	}
	for half := range c {
		c[half] = mat.NewVecDense(r, nil)
		if err := c[half].SolveVec(second, mean[1-half]); err != nil {
			panic(err) // the ridge makes the matrix positive definite
		}
		c[half].ScaleVec(2, c[half])
		loss += mat.Dot(mean[half], c[half]) / 4
		witness[half] = func(x []float64) float64 { return mat.Dot(phi(x), c[half]) }
	}
	clear(grad)
	for i := range n {
		values := phi(s[i*d : (i+1)*d])
		for k := range r {
			slope := c[w.half(i)].AtVec(k) * (1 - values.AtVec(k)*values.AtVec(k)) / float64(n)
			for j := range d {
				grad[i*d+j] += slope * float64(w.omega[j*r+k])
			}
		}
	}
	return loss, witness
}
