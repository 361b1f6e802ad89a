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
	second := mat.NewSymDense(r, nil)
	mean := [2]*mat.VecDense{mat.NewVecDense(r, nil), mat.NewVecDense(r, nil)}
	var count [2]float64
	for i := range m.n {
		delta := mat.NewVecDense(r, phi(s[i*d:(i+1)*d]))
		delta.SubVec(delta, mat.NewVecDense(r, phi(t[i*d:(i+1)*d])))
		second.SymRankOne(second, 1/float64(m.n), delta)
		mean[m.half(i)].AddVec(mean[m.half(i)], delta)
		count[m.half(i)]++
	}
	for k := range r {
		second.SetSym(k, k, second.At(k, k)+m.Witness.config.Ridge)
	}
	var c [2]mat.VecDense
	for half := range mean {
		mean[half].ScaleVec(1/count[half], mean[half])
	}
	for half := range c {
		if err := c[half].SolveVec(second, mean[1-half]); err != nil {
			panic(err) // the ridge makes the matrix positive definite
		}
		c[half].ScaleVec(2, &c[half])
		loss += mat.Dot(mean[half], &c[half]) / 4
		witness[half] = func(x []float64) float64 { return mat.Dot(mat.NewVecDense(r, phi(x)), &c[half]) }
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
