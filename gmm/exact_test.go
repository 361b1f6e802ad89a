package gmm

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
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

// TestSamplesFollowTheirWords: a block of the stream's upper half chooses a sample's component, and
// its normals, in blocks of its own, are those of the component's coordinates.
func TestSamplesFollowTheirWords(t *testing.T) {
	for _, d := range []int{1, 2, 5} {
		target := newTestTarget(t, randomMixture(d, 3, 7))
		const n, first = 150, 9
		c := asm.Counter{Seed: 3, Purpose: 2}
		x := make([]float32, n*d)
		target.Sample(x, &c, first)
		for i := range n {
			words, normals := make([]uint32, 4), make([]float32, (d+3)/4*4)
			asm.PhiloxBlocks(words, &c, 1<<63+first+uint64(i))
			asm.Normals(normals, &c, uint64(first+i)*uint64((d+3)/4))
			k, below := 0, 0.0
			for k < 2 && below+target.components[k].Weight <= (float64(words[0])+0.5)*0x1p-32 {
				below += target.components[k].Weight
				k++
			}
			g := target.components[k]
			var factor mat.Cholesky
			require.True(t, factor.Factorize(g.symmetric()))
			var lower mat.TriDense
			factor.LTo(&lower)
			for j := range d {
				want := g.Mean[j]
				for l := range j + 1 {
					want += lower.At(j, l) * float64(normals[l])
				}
				require.InDelta(t, want, x[i*d+j], 1e-5, "sample %d of %d coordinates", i, d)
			}
		}
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

// TestQuotients: f/(q+π) of each integrand by its formula, where both laws have weight, and where
// one or neither has.
func TestQuotients(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range [][2]float64{{-1, -1}, {-1, -3}, {-3, -1}, {0.5, 0.4}, {2, -20}, {-20, 2}} {
		q, pi := math.Exp(c[0]), math.Exp(c[1])
		o := quotients(c[0], c[1])
		for i, pair := range [][2]float64{
			{(q - pi) * (q - pi) / (q + pi), o.square}, {(q*math.Log(q/pi) - q + pi) / (q + pi), o.klTo}, {(pi*math.Log(pi/q) - pi + q) / (q + pi), o.klFrom},
			{math.Abs(q-pi) / 2 / (q + pi), o.variation}, {q / (q + pi), o.mass},
		} {
			require.InDelta(t, pair[0], pair[1], 1e-12*(1+pair[0]), "%v: %d", c, i)
		}
	}
	nan := math.NaN()
	for _, none := range [][2]float64{{-inf, -inf}, {nan, nan}, {nan, -inf}, {-inf, nan}} {
		require.Equal(t, overlap{}, quotients(none[0], none[1]))
	}
	for _, none := range []float64{-inf, nan} {
		require.Equal(t, overlap{square: math.Exp(-2), klTo: 1, klFrom: inf, variation: 0.5}, quotients(none, -2))
		require.Equal(t, overlap{square: math.Exp(-2), klTo: inf, klFrom: 1, variation: 0.5, mass: 1}, quotients(-2, none))
	}
}

// TestChoice: a uniform number chooses components by their weights, the last for all that rounding
// leaves; a place reaches all of them, and widths are geometric means.
func TestChoice(t *testing.T) {
	target := newTestTarget(t, wideMixture())
	for u, k := range map[float64]int{0: 0, 0.4999: 0, 0.5: 1, 0.7999: 1, 0.8001: 2, 1: 2, 1.5: 2} {
		require.Equal(t, &target.components[k], target.choose(u), u)
	}
	f := newDensity(target)
	center, scale := f.Place(0)
	require.InDeltaSlice(t, []float64{1. / 3, -1. / 3, 1. / 3}, center, 1e-12)
	require.InDelta(t, 5./3+math.Sqrt(0.5), scale, 0.06)
	want, width := 0.0, 0.0
	for _, c := range wideMixture().Components {
		var factor mat.Cholesky
		require.True(t, factor.Factorize(mat.NewSymDense(3, slices.Concat(c.Covariance...))))
		width += c.Weight * factor.LogDet() / 2 / 3
		for i, m := range c.Mean {
			want = max(want, math.Abs(m-center[i])+math.Sqrt(c.Covariance[i][i]))
		}
	}
	require.InDelta(t, want, scale, 1e-12)
	c := &Config{Target: wideMixture(), Config: vectors.Ours("gmm", "best")}
	_, err := c.Adapt(t.Context())
	require.NoError(t, err)
	require.Equal(t, mixture.Lengths(math.Exp(width), 3), c.Transition.Sigma)
	require.Equal(t, []string{"mode_weight_0", "mode_weight_1", "mode_weight_2"}, f.Observables())

	// Of seventeen components sixteen are observed.
	many := newDensity(newTestTarget(t, randomMixture(2, 17, 6)))
	require.Len(t, many.Observables(), 16)
	x := []float32{0.5, -1, 2, 1}
	dst, p := make([]float64, 40), make([]float64, 17)
	many.Observe(dst, 20, nil, x, nil)
	for r := range 2 {
		many.target.Responsibilities(p, number.Widen(x[2*r:2*r+2]))
		require.InDeltaSlice(t, p[:16], dst[20*r:20*r+16], 1e-5)
		require.Equal(t, make([]float64, 4), dst[20*r+16:20*r+20])
	}
	// Coarseness is that of float32 about means and deviations, in the narrowest deviation.
	worst := 0.0
	for _, g := range target.components {
		for i := range 3 {
			off := 0.0
			for j := range i + 1 {
				off += math.Abs(mixture.Row(g.inverse, i)[j]) * (math.Abs(g.Mean[j]) + math.Sqrt(g.Covariance[j][j]))
			}
			worst = max(worst, off/(1<<24))
		}
	}
	require.InDelta(t, worst, target.coarseness(), 1e-15)
}

// TestWhatATargetRefuses ends a configuration and its system alike.
func TestWhatATargetRefuses(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	c := crash.Must(Preset("paper"))
	require.Equal(t, "mixture of 2 Gaussians in 2 dimensions", c.Describe())
	d := c.targetDemands()
	require.Equal(t, []engine.Demand{
		{Key: "target.components", Bytes: 64*2*4 + 4*2*2048}, {Key: "evaluation.samples", Bytes: float64(c.Evaluation.Samples) * (16 + 48 + 8)},
	}, d)
	c.Target.Components[1].Weight = 2
	want := "target.components[1].weight: 2 is not in (0, 1]"
	_, err := c.New(workers)
	require.EqualError(t, err, want)
	require.EqualError(t, c.Validate(), want)
	c = crash.Must(Preset("paper"))
	c.Generator.Kind, c.Loss.Kernel.Bandwidths, c.Loss.Kernel.IMQ = "realnvp", nil, nil
	require.ErrorContains(t, c.Validate(), "loss.")
	require.Panics(t, func() { _, _ = c.New(workers) })
}
