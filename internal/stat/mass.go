package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// minStates is the number of states from which on LogMass gives an estimate.
const minStates = 16

// LogMass estimates ln ∫π over the region that a Markov chain of π stays in, by its states x,
// [n][d], and their ln π. With A the ellipsoid that holds half of the states and V its volume,
//
//	1/∫π = E[1_A(x)/π(x)]/V
//
// (Gelfand and Dey, 1994; Robert and Wraith, 2009). It is NaN where there are too few states, they
// do not vary, or the chain is still on its way: its two halves are in different places.
func LogMass(x, logPi []float64) float64 {
	n := len(logPi)
	if n < minStates || len(x) < n {
		return math.NaN()
	}
	d := len(x) / n
	center := make([]float64, d)
	for i := range d {
		var all, first Mean
		for t := range n {
			all.Add(x[t*d+i])
			if t < n/2 {
				first.Add(x[t*d+i])
			}
		}
		center[i] = all.Value()
		if !(2*math.Abs(first.Value()-center[i]) < all.Deviation()) {
			return math.NaN()
		}
	}
	covariance := mat.NewSymDense(d, nil)
	full := n >= 4*d // fewer states determine variances alone
	for i := range d {
		for j := i; j < d; j++ {
			var sum float64
			for t := 0; t < n && (full || i == j); t++ {
				sum += (x[t*d+i] - center[i]) * (x[t*d+j] - center[j])
			}
			covariance.SetSym(i, j, sum/float64(n))
		}
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(covariance) {
		return math.NaN()
	}
	squares := make([]float64, n)
	at := mat.NewVecDense(d, nil)
	for t := range squares {
		floats.SubTo(at.RawVector().Data, x[t*d:(t+1)*d], center)
		var solved mat.VecDense
		if cholesky.SolveVecTo(&solved, at) != nil {
			return math.NaN()
		}
		squares[t] = mat.Dot(at, &solved)
	}
	radius := slices.Sorted(slices.Values(squares))[n/2]
	var inside []float64
	for t, s := range squares {
		if s <= radius {
			inside = append(inside, -logPi[t])
		}
	}
	size, _ := math.Lgamma(float64(d)/2 + 1)
	volume := float64(d)/2*math.Log(math.Pi*radius) - size + cholesky.LogDet()/2
	return volume - floats.LogSumExp(inside) + math.Log(float64(n))
}
