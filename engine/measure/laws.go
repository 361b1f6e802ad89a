package measure

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/stat"
)

// An Estimate is a mean with its standard error, 0 where it is exact.
type Estimate struct{ Value, Uncertainty float64 }

// Bins are N bins of equal width. The first and the last also hold all numbers beyond them.
type Bins struct {
	Origin, Width float64
	N             int
}

// Of returns the bin of a number.
func (b Bins) Of(x float64) int {
	return int(min(max(math.Floor((x-b.Origin)/b.Width), 0), float64(b.N-1)))
}

// Centre returns the middle of a bin.
func (b Bins) Centre(k int) float64 { return b.Origin + (float64(k)+0.5)*b.Width }

// Scatter returns the mean of a number over independent groups of draws, with its standard error
// by their scatter. A single group is exact.
func Scatter(groups int, value func(group int) float64) Estimate {
	var m stat.Mean
	for g := range groups {
		m.Add(value(g))
	}
	if groups == 1 {
		return Estimate{Value: m.Value()}
	}
	return Estimate{Value: m.Value(), Uncertainty: m.StandardError()}
}

// Scatters returns the means of n numbers over groups, and the mean of their standard errors.
func Scatters(groups, n int, value func(group, k int) float64) (means []float64, uncertainty float64) {
	means = make([]float64, n)
	for k := range means {
		e := Scatter(groups, func(g int) float64 { return value(g, k) })
		means[k] = e.Value
		uncertainty += e.Uncertainty / float64(n)
	}
	return means, uncertainty
}

// Moments returns the mean and the variance of a number over groups that drew it, as Scatter
// does. A single group may hold all values of the number, with their probabilities p; else p is nil.
func Moments(groups [][]float64, p []float64) (mean, variance Estimate) {
	average := func(f func(x float64) float64) Estimate {
		return Scatter(len(groups), func(g int) (sum float64) {
			share := 1 / float64(len(groups[g]))
			for i, x := range groups[g] {
				if p != nil {
					share = p[i]
				}
				sum += share * f(x)
			}
			return sum
		})
	}
	mean = average(func(x float64) float64 { return x })
	return mean, average(func(x float64) float64 { return (x - mean.Value) * (x - mean.Value) })
}

// BinsOf returns bins of about a quarter of a standard deviation around a mean. If the values lie
// on a grid, bins are a whole number of its steps wide and begin half a step from its points.
func BinsOf(values []float64, mean, deviation float64) Bins {
	const perDeviation, reach = 4, 5
	if deviation <= 1e-9*(1+math.Abs(mean)) {
		return Bins{Origin: mean - 0.5, Width: 1, N: 1}
	}
	// The grid's step is the least distance of values, if all distances are multiples of it.
	grid, some := math.Inf(1), slices.Sorted(slices.Values(values[:min(len(values), 1000)]))
	for i := 1; i < len(some); i++ {
		if d := some[i] - some[i-1]; d > 1e-6*deviation {
			grid = min(grid, d)
		}
	}
	for _, x := range some {
		if d := (x - some[0]) / grid; math.Abs(d-math.Round(d)) > 1e-6 {
			grid = 0
			break
		}
	}
	width, low := deviation/perDeviation, mean-reach*deviation
	if grid > 0 && !math.IsInf(grid, 1) {
		width = grid * max(1, math.Round(width/grid))
		low = values[0] - grid*(math.Ceil((values[0]-low)/grid)+0.5)
	}
	return Bins{Origin: low, Width: width, N: int(math.Ceil((mean+reach*deviation-low)/width)) + 1}
}

// Law returns the probabilities of the bins by the numbers that groups drew. A single group may
// hold all values of the number, with their probabilities p; else p is nil.
func (b Bins) Law(groups [][]float64, p []float64) []Estimate {
	shares := make([][]float64, len(groups))
	for g, drawn := range groups {
		share, each := make([]float64, b.N), float64(len(drawn))
		for i, x := range drawn {
			if p != nil {
				share[b.Of(x)] += p[i]
			} else {
				share[b.Of(x)] += 1 / each
			}
		}
		shares[g] = share
	}
	law := make([]Estimate, b.N)
	for k := range law {
		law[k] = Scatter(len(groups), func(g int) float64 { return shares[g][k] })
	}
	return law
}

// Panel shows the law of a number in bins: the reference's as bars, unless law is nil, and that of
// counts of samples as points with their 95 % intervals.
func (b Bins) Panel(law []Estimate, counts []float64, reference, generated, x, y string) figure.Panel {
	panel := figure.Panel{X: figure.Axis{Label: x}, Y: figure.Axis{Label: y}}
	bars := figure.Layer{Mark: figure.Bars, Role: figure.Target, Label: reference, Width: 0.8 * b.Width}
	points := figure.Layer{Mark: figure.Points, Role: figure.Generated, Label: generated}
	var samples float64
	for _, c := range counts {
		samples += c
	}
	for k, c := range counts {
		if law != nil {
			bars.X, bars.Y = append(bars.X, b.Centre(k)), append(bars.Y, law[k].Value)
		}
		if c == 0 {
			continue
		}
		points.AddFrequency(b.Centre(k), c/samples, samples)
	}
	if law != nil {
		panel.Layers = append(panel.Layers, bars)
	}
	panel.Layers = append(panel.Layers, points)
	return panel
}

// Averages compares the averages of many functions of a sample with exact ones, by the mean of
// |Δ|. sums are the functions' sums over the samples, uncertainty is the mean standard error of
// the exact averages, and variance gives a function's variance by its exact average. The errors
// are correlated as the functions are: value(sample, i) is function i of one of the first drawn
// samples. Of very many functions only a part is looked at for that.
func Averages(name string, exact, sums []float64, samples int, uncertainty float64, variance func(mean float64) float64, drawn int, value func(sample, i int) float64) Metric {
	const maxFunctions, maxDrawn = 256, 64
	n := float64(samples)
	m := Metric{Name: name, Uncertainty: uncertainty}
	var floor float64
	for i, sum := range sums {
		m.Error += math.Abs(sum/n-exact[i]) / float64(len(sums))
		floor += stat.MeanAbsolute(math.Sqrt(max(0, variance(exact[i]))/n)) / float64(len(sums))
	}
	m.Generated = m.Error
	stride := (len(sums) + maxFunctions - 1) / maxFunctions
	var values [][]float64 // of the functions looked at, by sample
	for k := range min(drawn, maxDrawn) {
		var row []float64
		for i := 0; i < len(sums); i += stride {
			row = append(row, value(k, i)-sums[i]/n)
		}
		values = append(values, row)
	}
	law := stat.NewNull(stat.AbsoluteSums(len(values[0]), func(source *rand.Rand, x []float64) {
		clear(x)
		for _, row := range values {
			z := source.NormFloat64()
			for i, v := range row {
				x[i] += z * v
			}
		}
	}))
	// The mean of the law is the floor.
	if average := stat.MeanOf(law).Value(); average > 0 {
		law = law.Scale(floor / average)
	}
	half := (law.Quantile(0.975, floor) - law.Quantile(0.025, floor)) / 2
	m.Interval = [2]float64{max(0, m.Error-half), m.Error + half}
	return m.Judged(floor, law)
}

// Variation compares the law of counts with the reference's, by the total variation.
func Variation(name string, law []Estimate, counts []float64) Metric {
	var p, possible []float64 // probabilities and counts of bins that are not empty
	var samples, floor, mass float64
	m := Metric{Name: name}
	for i, e := range law {
		samples += counts[i]
		mass += e.Value
		if e.Value > 0 || counts[i] > 0 {
			p, possible = append(p, e.Value), append(possible, counts[i])
		}
		m.Uncertainty += 0.5 * e.Uncertainty
	}
	for i := range p {
		p[i] /= mass
		floor += 0.5 * stat.MeanAbsoluteDeviation(int(samples), p[i])
	}
	null := stat.NewCounts(p, int(samples))
	tv, _ := null.Distances(possible)
	m.Generated, m.Error, m.Interval = tv.Value, tv.Value, tv.Share()
	return m.Judged(floor, null.Variation)
}
