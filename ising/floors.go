package ising

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/stat"
)

// correlationLaw returns the law of the mean of |ΔG(r)| for n exact samples, where the G(r) have
// the correlation matrix of the generated samples.
func (r *reference) correlationLaw(generated *tally, n float64) stat.Null {
	distances := len(r.correlation)
	covariance := mat.NewSymDense(distances, nil)
	for i := range distances {
		for j := range i + 1 {
			covariance.SetSym(i, j, generated.covariance(i, j, n))
		}
	}
	deviations := make([]float64, distances)
	for i, e := range r.correlation {
		deviations[i] = e.deviation / math.Sqrt(n) / float64(distances)
	}
	var values mat.EigenSym
	if !values.Factorize(covariance, true) {
		return stat.NewNull(stat.AbsoluteSums(distances, stat.Independent(deviations)))
	}
	var vectors mat.Dense
	values.VectorsTo(&vectors)
	roots := values.Values(nil)
	for k, v := range roots {
		roots[k] = math.Sqrt(max(0, v))
	}
	return stat.NewNull(stat.AbsoluteSums(distances, func(source *rand.Rand, x []float64) {
		clear(x)
		for k, root := range roots {
			z := root * source.NormFloat64()
			for i := range x {
				x[i] += z * vectors.At(i, k)
			}
		}
		for i, d := range deviations {
			if s := covariance.At(i, i); s > 0 {
				x[i] *= d / math.Sqrt(s)
			}
		}
	}))
}

// countDistances returns the rows of the total variation and of KL(p‖π), where p are the
// frequencies of the configurations. Exact samples have a divergence of about (2^N − 1)/2n, as long
// as n is large against the number of configurations. The divergence is infinite if π of a
// configuration that occurred has underflowed to 0.
func (r *reference) countDistances(counts []float64, samples int) []measure.Metric {
	var floors [2]float64
	terms := map[float64][2]float64{} // of the floors, by π: few probabilities are distinct
	for _, pi := range r.states {
		f, ok := terms[pi]
		if !ok {
			f = [2]float64{0.5 * stat.MeanAbsoluteDeviation(samples, pi), pi * meanLogarithm(samples, pi)}
			terms[pi] = f
		}
		floors[0] += f[0]
		floors[1] += f[1]
	}
	null := stat.NewCounts(r.states, samples)
	variation, divergence := null.Distances(counts)
	tv := measure.Metric{Name: "total_variation", Generated: variation.Value, Error: variation.Value, Interval: variation.Share()}
	kl := measure.Metric{Name: "kl_to_target", Generated: divergence.Value, Error: divergence.Value, Interval: [2]float64{divergence.Value, divergence.Value}}
	if !math.IsInf(divergence.Value, 1) {
		kl.Interval = stat.Interval(divergence.Value, divergence.StandardError)
		kl.Interval[0] = max(0, kl.Interval[0])
	}
	tv.Paper, kl.Paper = r.paper[tv.Name], r.paper[kl.Name]
	return []measure.Metric{tv.Judged(floors[0], null.Variation), kl.Judged(floors[1], null.Divergence)}
}
