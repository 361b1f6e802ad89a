package gmm

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// TestSampleHasTheTargetsMoments draws exact samples and compares means,
// covariances and responsibilities, at six standard errors.
func TestSampleHasTheTargetsMoments(t *testing.T) {
	for _, c := range []TargetConfig{paperTarget(), randomMixture(1, 3, 4), randomMixture(5, 4, 5)} {
		target := newTestTarget(t, c)
		const n = 1 << 16
		d := target.Dim()
		x := make([]float32, n*d)
		target.Sample(x, &asm.Counter{Seed: 3}, 10)
		mean, covariance := target.Mean(), target.Covariance()
		p := make([]float64, target.Components())
		weights := make([]stat.Mean, len(p))
		first, second := make([]stat.Mean, d), make([]stat.Mean, d*d)
		for r := range n {
			row := number.Widen(x[r*d : (r+1)*d])
			target.Responsibilities(p, row)
			for k, v := range p {
				weights[k].Add(v)
			}
			for i := range d {
				first[i].Add(row[i])
				for j := range d {
					second[i*d+j].Add((row[i] - mean[i]) * (row[j] - mean[j]))
				}
			}
		}
		for k := range p {
			require.InDelta(t, target.components[k].Weight, weights[k].Value(), 6*weights[k].StandardError())
		}
		for i := range mean {
			require.InDelta(t, mean[i], first[i].Value(), 6*first[i].StandardError())
		}
		for i := range covariance {
			require.InDelta(t, covariance[i], second[i].Value(), 6*second[i].StandardError())
		}
		// Any part of the stream can be had alone.
		part := make([]float32, 100*d)
		target.Sample(part, &asm.Counter{Seed: 3}, 10+777)
		require.Equal(t, x[777*d:877*d], part)
	}
}

// TestMarginal checks distribution functions by differentiation and inversion,
// and against samples.
func TestMarginal(t *testing.T) {
	target := newTestTarget(t, randomMixture(3, 4, 6))
	x := make([]float32, 3<<14)
	target.Sample(x, &asm.Counter{Seed: 8}, 0)
	for axis := range 3 {
		m := target.Marginal(axis)
		require.InDelta(t, target.Mean()[axis], m.Mean(), 1e-14)
		const h = 1e-4
		for at := -6.0; at < 6; at += 0.37 {
			require.InDelta(t, m.Density(at), (m.CDF(at+h)-m.CDF(at-h))/(2*h), 1e-7)
			require.InDelta(t, m.CDF(at), (m.CDFIntegral(at+h)-m.CDFIntegral(at-h))/(2*h), 1e-7)
		}
		for _, u := range []float64{1e-10, 1e-3, 0.2, 0.5, 0.9, 1 - 1e-6} {
			require.InDelta(t, u, m.CDF(m.Quantile(u)), 1e-13)
		}
		require.InDelta(t, 0, m.CDFIntegral(-100), 1e-12)
		var below stat.Mean
		median := m.Quantile(0.5)
		for i := axis; i < len(x); i += 3 {
			below.Add(map[bool]float64{true: 1}[float64(x[i]) < median])
		}
		require.InDelta(t, 0.5, below.Value(), 6*below.StandardError())
	}
}

// TestSquaredNorm integrates π² on a grid.
func TestSquaredNorm(t *testing.T) {
	target := newTestTarget(t, paperTarget())
	const h = 0.05
	var sum float64
	for x := -7.0; x < 7; x += h {
		for y := -7.0; y < 7; y += h {
			sum += math.Pow(target.Density([]float64{x, y}), 2) * h * h
		}
	}
	require.InDelta(t, sum, target.SquaredNorm(), 1e-10)
	require.InDelta(t, 0.3, math.Sqrt(sum), 0.01)
}
