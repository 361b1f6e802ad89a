package ising

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/stat"
)

// refinements are the numbers M of Metropolis steps after generation that are checked.
var refinements = []int{0, 1, 2, 5, 10, 20, 50}

// A refinement is the effect of M Metropolis steps on samples with frequencies p.
type refinement struct {
	steps     int     // M
	predicted float64 // TV(pP^M, π)
	measured  float64 // TV to π of the frequencies after M steps
	bound     float64 // of predicted: ½ λ^M √χ²(p, π)
	rounding  float64 // bounds the rounding error of predicted
	outcome   rowTest // of the frequencies after M steps against pP^M
}

// VerifyModel compares refined samples of a trained generator with the exact effect of refinement:
// if samples have the frequencies p, the expected frequencies after M Metropolis steps are pP^M.
// It needs the transition matrix, and checks nothing on lattices too large for it.
func (s *evaluator) VerifyModel(ctx context.Context, params []float32, samples int, emit func(engine.Check)) error {
	if s.target.N > MaxMatrixSites {
		return nil
	}
	rows, rate, err := s.refine(ctx, params, samples)
	if err != nil {
		return err
	}
	var floor float64
	for _, p := range crash.Must(s.target.Probabilities()) {
		floor += 0.5 * stat.MeanAbsoluteDeviation(samples, p)
	}
	for _, r := range rows {
		emit(engine.AtLeast(fmt.Sprintf("refinement/%d", r.steps), min(1, r.outcome.pValue()*float64(len(rows))), familywise,
			"total variation %.5f by P^%d of the law of %d samples, %.5f of these after %d steps, %.5f of as many exact ones; value is the p-value of their χ², times %d",
			r.predicted, r.steps, samples, r.measured, r.steps, floor, len(rows)))
	}
	emit(engine.AtMost("refinement/decay", decay(rows), 1, "largest TV(pP^M, π) by its bound ½ λ^M √χ²(p, π) and rounding, λ = %.6f, a factor e in %.3g steps", rate, -1/math.Log(rate)))
	return nil
}

// decay returns the largest ratio of a predicted variation to its bound. Variations of fast chains
// soon vanish in rounding, so that rounding is part of the bound.
func decay(rows []refinement) (worst float64) {
	for _, r := range rows {
		worst = max(worst, r.predicted/(r.bound+r.rounding))
	}
	return worst
}

// refine draws samples, counts them after each number of steps, and computes the expected counts.
// It also returns λ, the second largest magnitude of the eigenvalues of P.
func (s *evaluator) refine(ctx context.Context, params []float32, samples int) (rows []refinement, rate float64, err error) {
	step, pi := crash.Must(s.config.stepMatrix(s.target)), crash.Must(s.target.Probabilities())
	rate = step.secondEigenvalue()
	counts, n := make([]int, step.States), float64(samples)
	var law, after []float64 // p and pP^M
	var chi2 float64         // χ²(p, π)
	done := 0                // M of after
	for _, steps := range refinements {
		if err := s.countStates(ctx, counts, params, samples, steps); err != nil {
			return nil, 0, err
		}
		measured := make([]float64, step.States)
		for i, c := range counts {
			measured[i] = float64(c) / n
		}
		if law == nil {
			law, after = measured, measured
			for i, p := range law {
				if p != pi[i] { // both may have underflowed to 0
					chi2 += (p - pi[i]) * (p - pi[i]) / pi[i]
				}
			}
		}
		for ; done < steps; done++ {
			after = step.Apply(after)
		}
		expected := make([]float64, step.States)
		for i, p := range after {
			expected[i] = n * p
		}
		rows = append(rows, refinement{
			steps: steps, predicted: TotalVariation(after, pi), measured: TotalVariation(measured, pi),
			bound: math.Pow(max(rate, math.SmallestNonzeroFloat64), float64(steps)) * math.Sqrt(chi2) / 2,
			// π and each step add the rounding of a sum of States positive terms.
			rounding: 0.5 * float64(steps+1) * float64(step.States+4) * unitRoundoff,
			outcome:  chiSquare(counts, expected),
		})
	}
	return rows, rate, nil
}

// countStates counts the configurations of samples after refinement.
func (s *evaluator) countStates(ctx context.Context, counts []int, params []float32, samples, refine int) error {
	clear(counts)
	return s.Measure(ctx, params, samples, refine, batchSamples, func(batch []uint64, _ []float64) {
		for _, state := range batch {
			counts[state]++
		}
	})
}

const unitRoundoff = 0x1p-53

// secondEigenvalue returns the second largest magnitude of the eigenvalues of a chain in detailed
// balance with some π. D^½PD^−½ with D = diag π has the same eigenvalues and is symmetric. Its
// entries √(P(s, s′) P(s′, s)) do not need π.
func (m *TransitionMatrix) secondEigenvalue() float64 {
	a := mat.NewSymDense(m.States, nil)
	for s := range m.States {
		for t := range s + 1 {
			a.SetSym(s, t, math.Sqrt(m.P[s*m.States+t])*math.Sqrt(m.P[t*m.States+s]))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(a, false) {
		return math.NaN()
	}
	values := eigen.Values(nil)
	return max(math.Abs(values[0]), math.Abs(values[len(values)-2]))
}

var _ engine.SelfChecker = (*evaluator)(nil)
