// Package stat compares samples with exact laws. It has Wasserstein distances of
// empirical distributions, the errors that as many exact samples would have, and
// confidence intervals.
package stat

import (
	"context"
	"math"
)

// A Law is a distribution on the real line.
type Law interface {
	CDF(x float64) float64
	// CDFIntegral returns the integral of the CDF from −∞ to x.
	CDFIntegral(x float64) float64
	// Quantile returns an x with CDF(x) = u, 0 < u < 1.
	Quantile(u float64) float64
	Mean() float64
}

// Wasserstein returns the distance W₁ = ∫ |F_n − F| dx between the empirical
// law of the sorted, finite numbers x and an exact one, to rounding, and its
// standard error to first order in 1/√n. An error is ctx's.
func Wasserstein(ctx context.Context, x []float64, l Law) (distance, standardError float64, err error) {
	n := float64(len(x))
	// Moving the sample at x_i to the right changes the distance at the rate
	// −sign(F_n − F), so a sample's influence is the length on its left where
	// F_n is above F minus the length where it is below.
	var influence, sum, squares float64
	a, massA, areaA := x[0], l.CDF(x[0]), l.CDFIntegral(x[0])
	last := x[len(x)-1]
	distance = areaA + max(0, l.Mean()-last+l.CDFIntegral(last))
	for i, b := range x[1:] {
		if i%interruptible == 0 && ctx.Err() != nil {
			return 0, 0, ctx.Err()
		}
		massB, areaB := l.CDF(b), l.CDFIntegral(b)
		level := float64(i+1) / n // F_n between a and b
		switch {
		case massB <= level:
			influence += b - a
			distance += level*(b-a) - (areaB - areaA)
		case massA >= level:
			influence -= b - a
			distance += areaB - areaA - level*(b-a)
		default:
			c := min(max(l.Quantile(level), a), b)
			areaC := l.CDFIntegral(c)
			influence += (c - a) - (b - c)
			distance += level*(c-a) - (areaC - areaA) + (areaB - areaC) - level*(b-c)
		}
		sum += influence
		squares += influence * influence
		a, massA, areaA = b, massB, areaB
	}
	variance := max(0, squares/n-(sum/n)*(sum/n))
	return distance, math.Sqrt(variance / n), nil
}

// interruptible is how many evaluations of a law pass between looks at the context. Each may be
// a sum of thousands of terms.
const interruptible = 1 << 10

// WassersteinFloor returns the mean W₁ of n exact samples from their own law,
// ∫ E|F_n − F| dx with the binomial deviations taken as normal.
func WassersteinFloor(l Law, n float64) float64 {
	const cells, tail = 1 << 14, 1e-9
	low, high := l.Quantile(tail), l.Quantile(1-tail)
	step := (high - low) / cells
	var sum float64
	for i := range cells {
		f := l.CDF(low + (float64(i)+0.5)*step)
		sum += math.Sqrt(f * (1 - f))
	}
	return step * sum * math.Sqrt(2/(math.Pi*n))
}

// A Smooth law has a density.
type Smooth interface {
	CDF(x float64) float64
	Density(x float64) float64
}

// Root returns the x between a and b with CDF(x) = u, where CDF(a) ≤ u ≤ CDF(b),
// starting at x: by Newton's method where it stays between the bounds found so
// far, and by halving the distance between them where it does not.
func Root(l Smooth, u, a, b, x float64) float64 {
	for range 100 {
		excess := l.CDF(x) - u
		if math.Abs(excess) < 4e-16 {
			break
		}
		if excess > 0 {
			b = x
		} else {
			a = x
		}
		next := x - excess/l.Density(x)
		if !(next > a && next < b) {
			next = (a + b) / 2
		}
		if math.Abs(next-x) <= 4e-16*math.Abs(x) {
			return next
		}
		x = next
	}
	return x
}
