package kfd

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Naive is LossGradient of a first step in float64, by plain loops and a
// general solver: the oracle of verification. s, t and grad are row-major
// [n][dim]. It also returns the witness, g, that drives the samples of each half.
func (m *Random) Naive(s, t, grad []float64) (loss float64, witness [2]func(x []float64) float64) {
	r, d := m.r, m.dim
	phi := func(x []float64) []float64 {
		y := make([]float64, r)
		for k := range y {
			y[k] = float64(m.offset[k])
			for i := range d {
				y[k] += float64(m.omega[i*r+k]) * x[i]
			}
			y[k] = math.Tanh(y[k])
		}
		return y
	}
	loss, c := m.naive(func(i int) (from, to []float64) { return phi(s[i*d : (i+1)*d]), phi(t[i*d : (i+1)*d]) })
	for half := range c {
		witness[half] = func(x []float64) float64 { return mat.Dot(mat.NewVecDense(r, phi(x)), c[half]) }
	}
	for i := range m.n {
		coefficients := c[m.half(i)]
		for j := range d {
			grad[i*d+j] = 0
		}
		for k, v := range phi(s[i*d : (i+1)*d]) {
			for j := range d {
				grad[i*d+j] += coefficients.AtVec(k) * (1 - v*v) * float64(m.omega[j*r+k]) / float64(m.n)
			}
		}
	}
	return loss, witness
}

// naive is solve in float64, for the features of each move's states.
func (f *crossFit) naive(features func(i int) (from, to []float64)) (loss float64, c [2]*mat.VecDense) {
	r := f.r
	second := mat.NewSymDense(r, nil)
	mean := [2]*mat.VecDense{mat.NewVecDense(r, nil), mat.NewVecDense(r, nil)}
	var count [2]float64
	for i := range f.n {
		from, to := features(i)
		delta := mat.NewVecDense(r, from)
		delta.SubVec(delta, mat.NewVecDense(r, to))
		second.SymRankOne(second, 1/float64(f.n), delta)
		mean[f.half(i)].AddVec(mean[f.half(i)], delta)
		count[f.half(i)]++
	}
	for k := range r {
		second.SetSym(k, k, second.At(k, k)+f.Witness.Config.Ridge)
	}
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
	}
	return loss, c
}
