package stat

import (
	"math"
	"slices"
)

// A Mean is a running mean and variance. squares is the sum of squared distances from the mean.
type Mean struct{ n, mean, squares float64 }

// Add adds a sample.
func (m *Mean) Add(x float64) {
	m.n++
	d := x - m.mean
	m.mean += d / m.n
	m.squares += d * (x - m.mean)
}

// MeanOf returns the Mean of samples.
func MeanOf(samples []float64) (m Mean) {
	for _, x := range samples {
		m.Add(x)
	}
	return m
}

// Value returns the mean of the samples.
func (m Mean) Value() float64 { return m.mean }

// Deviation returns the samples' standard deviation.
func (m Mean) Deviation() float64 { return math.Sqrt(m.squares / max(1, m.n-1)) }

// StandardError returns the standard error of the mean.
func (m Mean) StandardError() float64 { return m.Deviation() / math.Sqrt(max(1, m.n)) }

// Median returns the median of x, NaN if x is empty or holds NaN.
func Median(x []float64) float64 {
	if len(x) == 0 || slices.ContainsFunc(x, math.IsNaN) {
		return math.NaN()
	}
	x = slices.Sorted(slices.Values(x))
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}

// z95 is the two-sided 95 % quantile of the standard normal law.
const z95 = 1.959963984540054

// Interval returns the 95 % confidence interval of an estimate with the given
// standard error.
func Interval(value, standardError float64) [2]float64 {
	return [2]float64{value - z95*standardError, value + z95*standardError}
}

// MeanAbsolute returns the mean absolute error of an unbiased normal estimate
// with the given standard error: the floor of a statistical figure.
func MeanAbsolute(standardError float64) float64 {
	return math.Sqrt(2/math.Pi) * standardError
}
