package hybrid

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/stat"
)

// Evaluate draws samples and compares them with the target's exact law, never
// with other samples:
//
//   - mode_l1, Σ_k |P(k) − 1/M|;
//   - conditional_w1, the mean over modes of W₁ between the law of x in a mode and
//     its target; a mode without samples counts as if all of them were at 0;
//   - marginal_w1, W₁ between the laws of x;
//   - joint_mmd2 and joint_mmd, the squared maximum mean discrepancy and its root
//     between the laws of (x, k), with the kernel exp(−(x−y)²/2)·1(k = l) and the
//     V-statistic, which is never negative. The paper says "Joint MMD" without
//     saying which of the two, nor its bandwidth.
//
// For a generator with a density it adds effective_sample_size, kl_by_density, and log_z, which is ln M
// because each mode is normalised.
//
// Intervals are to first order in 1/√n. Floors are expectations for as many exact samples; that of
// joint_mmd is the root of the expected square. Their laws are simulated (errorLaws).
func (s *system) Evaluate(ctx context.Context, params []float32, samples int) (*measure.Evaluation, error) {
	drawn, sampler := s.NewStates(samples), s.NewSampler(params)
	if err := sampler.DrawAll(ctx, drawn, nil); err != nil {
		return nil, err
	}
	table, err := compare(ctx, s.target, drawn.X, drawn.K)
	if err == nil && s.Dense {
		r := make([]float64, samples)
		sampler.Weigh(r, drawn, 0)
		weights := measure.NewWeights(r)
		table.Weights = &weights
		table.Metrics = append(table.Metrics, measure.ImportanceMetrics(r, math.Log(float64(s.target.Modes())))...)
	}
	return table, err
}

// byMode returns the x of the states (x, k) of each mode.
func (t *Target) byMode(x []float32, k []uint8) [][]float64 {
	byMode := make([][]float64, t.Modes())
	for i, v := range x {
		byMode[k[i]] = append(byMode[k[i]], float64(v))
	}
	return byMode
}

// compare returns the metrics of states.
func compare(ctx context.Context, target *Target, x []float32, k []uint8) (*measure.Evaluation, error) {
	modes, n := target.Modes(), float64(len(x))
	byMode := target.byMode(x, k)
	all := make([]float64, 0, len(x))
	var conditional, variance, floor float64
	for mode, xs := range byMode {
		all = append(all, xs...)
		well := target.Well(mode)
		floor += stat.WassersteinFloor(well, n/float64(modes)) / float64(modes)
		distance, se := well.MeanAbs(), 0.0
		if len(xs) > 0 {
			slices.Sort(xs)
			var err error
			if distance, se, err = stat.Wasserstein(ctx, xs, well); err != nil {
				return nil, err
			}
		}
		conditional += distance / float64(modes)
		variance += se * se / float64(modes*modes)
	}
	slices.Sort(all)
	marginal, marginalSE, err := stat.Wasserstein(ctx, all, target)
	if err != nil {
		return nil, err
	}
	d := jointDiscrepancy(target, byMode)

	p, counts := make([]float64, modes), make([]float64, modes)
	var l1Floor float64
	for mode, xs := range byMode {
		p[mode], counts[mode] = 1/float64(modes), float64(len(xs))
		l1Floor += stat.MeanAbsoluteDeviation(len(x), p[mode])
	}
	null := stat.NewCounts(p, len(x))
	variation, _ := null.Distances(counts)
	laws := target.errorLaws()
	lost, outside := warnings(target, byMode, len(x))
	out := &measure.Evaluation{Samples: len(x), Warnings: slices.Concat(lost, outside), Lost: lost}
	paper := paperErrors(target)
	add := func(name string, value, se, floor float64, law stat.Null) {
		interval := stat.Interval(value, se)
		interval[0] = max(0, interval[0])
		out.Metrics = append(out.Metrics, measure.Metric{
			Name: name, Generated: value, Error: value, Paper: paper[name], Interval: interval,
		}.Judged(floor, law))
	}
	scale := 1 / math.Sqrt(n) // of the error laws
	add("mode_l1", 2*variation.Value, 2*variation.StandardError, l1Floor, null.Variation.Scale(2))
	add("conditional_w1", conditional, math.Sqrt(variance), floor, laws.conditional.Scale(scale))
	add("marginal_w1", marginal, marginalSE, stat.WassersteinFloor(target, n), laws.marginal.Scale(scale))
	add("joint_mmd2", d.squared, d.standardError, d.floor, laws.squared.Scale(1/n))
	root := math.Sqrt(d.squared)
	add("joint_mmd", root, d.standardError/(2*root), math.Sqrt(d.floor), laws.discrepancy.Scale(scale))
	return out, nil
}

// paperErrors returns the values of the paper's table, by metric, if the target is the paper's.
func paperErrors(target *Target) map[string]*float64 {
	if !slices.Equal(lists.Map(target.wells, (*Well).Mu), []float64{1, 9, 25}) {
		return nil
	}
	return map[string]*float64{
		"mode_l1": new(0.0382), "conditional_w1": new(0.0399), "marginal_w1": new(0.0886),
		"joint_mmd2": new(3.9324e-3), "joint_mmd": new(3.9324e-3),
	}
}

// A discrepancy is the squared maximum mean discrepancy between samples and the target.
type discrepancy struct {
	squared       float64
	standardError float64 // to first order in 1/√n
	floor         float64 // its expectation for as many exact samples
}

// jointDiscrepancy works in Fourier space, where the kernel exp(−d²/2) is a sum
// over frequencies jδ. The period 2π/δ exceeds the distance of any two points
// by nine bandwidths, so that the sum is exact to rounding. Samples beyond reach
// of the target count as if all were at one place, which is the worst case.
func jointDiscrepancy(target *Target, byMode [][]float64) discrepancy {
	reach, delta, weights := spectrum(target)
	var n float64
	for _, xs := range byMode {
		n += float64(len(xs))
	}
	var out discrepancy
	var sum, squares float64 // of the witness over the samples
	var self float64         // the mean kernel of two independent exact samples
	modes := float64(len(byMode))
	for mode, xs := range byMode {
		difference := make([]complex128, len(weights)) // of the characteristic functions
		var far float64                                // fraction of samples beyond reach
		for _, x := range xs {
			if math.Abs(x) > reach {
				far += 1 / n
				continue
			}
			z, rotation := complex(1/n, 0), phase(delta*x)
			for j := range difference {
				difference[j] += z
				z *= rotation
			}
		}
		for j, w := range weights {
			p := target.Well(mode).meanCos(float64(j)*delta) / modes
			self += w * p * p
			difference[j] -= complex(p, 0)
			d := difference[j]
			out.squared += w * (real(d)*real(d) + imag(d)*imag(d))
		}
		out.squared += far * far
		for _, x := range xs {
			witness := far
			if math.Abs(x) <= reach {
				witness = 0
				z, rotation := complex(1, 0), phase(delta*x)
				for j, w := range weights {
					d := difference[j]
					witness += w * (real(d)*real(z) + imag(d)*imag(z))
					z *= rotation
				}
			}
			sum += witness
			squares += witness * witness
		}
	}
	out.standardError = 2 * math.Sqrt(max(0, squares/n-(sum/n)*(sum/n))/n)
	out.floor = (1 - self) / n
	return out
}

// spectrum returns how far from 0 samples may be, the distance δ of frequencies, and the frequencies' weights.
func spectrum(target *Target) (reach, delta float64, weights []float64) {
	const cutoff = 9 // exp(−9²/2) = 3·10⁻¹⁸
	reach = target.edge() + cutoff
	delta = 2 * math.Pi / (2*reach + cutoff)
	weights = make([]float64, 1+int(cutoff/delta))
	for j := range weights {
		omega := float64(j) * delta
		weights[j] = 2 * delta / math.Sqrt(2*math.Pi) * math.Exp(-omega*omega/2)
	}
	weights[0] /= 2
	return reach, delta, weights
}

// phase returns exp(ix).
func phase(x float64) complex128 {
	sin, cos := math.Sincos(x)
	return complex(cos, sin)
}

// meanCos returns ⟨cos ωx⟩ by the trapezoidal rule, to rounding while ω is small
// against the width of the grid's spectrum.
func (w *Well) meanCos(omega float64) float64 {
	var sum float64
	for j := int(w.low / w.step); float64(j)*w.step <= w.edge(); j++ {
		x := float64(j) * w.step
		f := w.weight(x) * math.Cos(omega*x)
		if j == 0 {
			f /= 2
		}
		sum += f
	}
	return 2 * w.step * sum / w.z
}

// warnings describes the modes and wells that n samples have lost, and the samples outside the wells.
func warnings(target *Target, byMode [][]float64, n int) (lost, outside []string) {
	const (
		lostMode   = 0.2  // of a mode's probability
		lostWell   = 0.1  // of a mode's samples; the target has half of them in each well
		minSamples = 50   // of a mode, to tell that a well is lost
		barrier    = 12.0 // energy beyond which the target's weight is below 1e-6
		maxLeak    = 0.02 // fraction of samples beyond it
	)
	beyond := 0 // number of samples beyond the barrier
	for mode, xs := range byMode {
		mu := target.Well(mode).Mu()
		p, want := float64(len(xs))/float64(n), 1/float64(target.Modes())
		if p < lostMode*want {
			lost = append(lost, fmt.Sprintf("mode %d (μ = %g) is all but lost: its probability is %.3f where the target has %.3f", mode, mu, p, want))
		}
		positive := 0
		for _, x := range xs {
			if x > 0 {
				positive++
			}
			if target.Energy(x, mode) > barrier {
				beyond++
			}
		}
		share := float64(positive) / float64(max(1, len(xs)))
		if len(xs) >= minSamples && (share < lostWell || share > 1-lostWell) {
			sign := "+"
			if share > lostWell {
				sign, share = "−", 1-share
			}
			lost = append(lost, fmt.Sprintf("mode %d (μ = %g) has all but lost its well at x = %s%.3g: %.3f of its samples are there where the target has 0.500", mode, mu, sign, math.Sqrt(mu), share))
		}
	}
	if share := float64(beyond) / float64(n); share > maxLeak {
		outside = append(outside, fmt.Sprintf("%.1f %% of the samples lie outside the wells, where the target has less than 0.0001 %%", 100*share))
	}
	return lost, outside
}
