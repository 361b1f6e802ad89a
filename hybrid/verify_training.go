package hybrid

import (
	"context"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// checkBackward compares the gradient of one training step with central
// differences, for every head, objective and gradient.
func checkBackward(workers *pool.Pool, backward func(s *system, params, grad []float32)) ([]engine.Check, error) {
	var all []engine.Check
	for i := range len(heads) * len(losses) * len(gradients) {
		head, objective := heads[i%len(heads)], losses[i/len(heads)%len(losses)]
		gradient := gradients[i/len(heads)/len(losses)]
		c := best()
		c.Training.Batch = 300 // two blocks of rows
		c.Generator.Latent, c.Generator.Hidden, c.Generator.Gain = 5, []int{9, 8}, 3
		c.Generator.Head, c.Loss.Kind, c.Loss.Gradient = head, objective, gradient
		if head == "split" {
		}
		s, err := newSystem(c, workers)
		if err != nil {
			return nil, err
		}
		params, grad := make([]float32, s.NumParams()), make([]float32, s.NumParams())
		s.Initialize(params)
		s.Generate(params, 1)
		s.Transition(1)
		s.Discrepancy(1)
		backward(s, params, grad)

		params64 := widen(params)
		var numerical, analytic []float64
		for i := 0; i < len(grad); i += 3 {
			numerical = append(numerical, centralDifference(&params64[i], 1e-7, func() float64 { return s.surrogate(params64) }))
			analytic = append(analytic, float64(grad[i]))
		}
		all = append(all, engine.AtMost("backward_"+objective+"_"+gradient+"_"+head, relativeError(analytic, numerical), 1e-4,
			"gradient of one step by the parameters against central differences, relative to the norm"))
	}
	return all, nil
}

// surrogate is the function of the parameters whose gradient is what Backward
// computes: the first-order change of the loss, with the witness and, where the
// gradient depends on them, the draws of the last step held fixed.
func (s *system) surrogate(params []float64) float64 {
	g := s.generator
	discrepancy, _ := s.objective.(*meanDiscrepancy)
	witness, _ := s.objective.(*leastSquares)
	judge, _ := s.objective.(*discriminator)
	drawn, _ := s.objective.(*score)
	var sum float64
	for i := range s.batch.x {
		z := widen(s.batch.activations[0][i*g.config.Latent:][:g.config.Latent])
		out := g.net.Forward64(params, z)
		logits := out[g.coordinates:]
		var total float64
		for _, h := range logits {
			total += math.Exp(h)
		}
		coordinate, choice := s.batch.coordinate(g, i), s.batch.choice[i]
		switch {
		case drawn != nil:
			sum += float64(drawn.gradX[i])*out[coordinate] + float64(drawn.values[i])*(logits[choice]-math.Log(total))
		case judge != nil:
			sum += float64(judge.grad[i*(1+g.modes)]) * out[coordinate] / float64(len(s.batch.x))
			for r, h := range logits {
				sum += math.Exp(h) / total * float64(judge.values[i*g.choices+r]) / float64(len(s.batch.x))
			}
		case witness != nil:
			for r, h := range logits {
				sum += math.Exp(h) / total * witness.fit.Value(i, out[r%g.coordinates], r%g.modes) / float64(len(s.batch.x))
			}
		case g.branched:
			sum += float64(discrepancy.gradX[i])*out[coordinate] + float64(discrepancy.witness[i])*(logits[choice]-math.Log(total))
		default:
			sum += float64(discrepancy.gradX[i]) * out[0]
			for c, h := range logits {
				sum += float64(discrepancy.witness[i*g.modes+c]) * math.Exp(h) / total
			}
		}
	}
	return sum
}

// checkWitness compares the least-squares witness with one found in float64 by a
// general solver, at the states and in every mode, and its slope with central
// differences of that.
func checkWitness(random *transition, workers *pool.Pool, fit func(m *kfd.Mixed, x, y []float32, k, l []uint8) float64) ([]engine.Check, error) {
	const n = 301 // so that the halves differ in size
	modes := random.target.Modes()
	x, y, k, l := moved(random, n, 16)
	for i := range x { // away from the target, where the witness does not vanish
		x[i] *= 0.9
	}
	m, err := kfd.NewMixed(n, modes, kfd.Features{Number: 20, Scale: 0.5, Range: 2}, kfd.Config{Ridge: 1e-2, Memory: 0.9, Every: 1}, 1, workers)
	if err != nil {
		return nil, err
	}
	loss := fit(m, x, y, k, l)
	value, slope := make([]float32, n*modes), make([]float32, n*modes)
	m.Evaluate(value, slope, x, make([]float32, m.ScratchLen(n)), 0, n, 1)

	want, witness := m.Naive(widen(x), widen(y), k, l)
	var values, slopes []float64
	for i, v := range widen(x) {
		g := witness[min(1, i/((n+1)/2))] // that of the other half
		for c := range modes {
			values = append(values, g(v, c))
			at := v
			slopes = append(slopes, centralDifference(&at, 1e-5, func() float64 { return g(at, c) }))
		}
	}
	return []engine.Check{
		engine.AtMost("kfd_loss_against_naive", math.Abs(loss-want)/math.Abs(want), 1e-3, "loss of the least-squares witness against a general solver in float64, relative"),
		engine.AtMost("kfd_witness_against_naive", relativeError(widen(value), values), 1e-3, "the witness in every mode likewise, relative to the norm"),
		engine.AtMost("kfd_slope_against_differences", relativeError(widen(slope), slopes), 1e-3, "its slope against central differences likewise"),
	}, nil
}

// checkPopulationLoss averages the unbiased losses of exact samples over many
// batches. In random order they are zero within their standard errors. In the
// paper's order that of pairs is not; that of the least-squares witness, the
// difference of one function's means at s and at s′, is, as the target is
// invariant.
func checkPopulationLoss(ctx context.Context, random, ordered *transition, batches int, workers *pool.Pool) ([]engine.Check, error) {
	const n = 2048
	modes := random.target.Modes()
	gram, err := mmd.NewMixed(n, modes, mmd.Kernel{Bandwidths: []float64{0.1}}, mmd.U, workers)
	if err != nil {
		return nil, err
	}
	gradX, witness := make([]float32, n), make([]float32, n)
	var all []engine.Check
	for _, order := range []struct {
		name string
		t    *transition
	}{{"random", random}, {"paper_order", ordered}} {
		mean, se, err := populationLoss(ctx, order.t, batches, n, func(x, y []float32, k, l []uint8) float64 {
			return gram.LossWitness(x, y, k, l, gradX, witness)
		})
		if err != nil {
			return nil, err
		}
		name := "population_loss_" + order.name
		if order.name == "random" {
			all = append(all, engine.AtMost(name, math.Abs(mean)/se, 6,
				"U-statistic of exact samples in standard errors, %.2e ± %.1e over %d batches", mean, se, batches))
		} else {
			all = append(all, engine.AtLeast(name, mean/se, 6,
				"the same in the paper's order must exceed the bound: %.2e ± %.1e, as moves in a fixed order are not reversible", mean, se))
		}
		fit, err := kfd.NewMixed(n, modes, kfd.Features{Number: 16, Scale: 0.2, Range: 3}, kfd.Config{Ridge: 1e-4, Memory: 0.99, Every: 4}, 1, workers)
		if err != nil {
			return nil, err
		}
		if mean, se, err = populationLoss(ctx, order.t, batches, n, fit.Fit); err != nil {
			return nil, err
		}
		all = append(all, engine.AtMost("kfd_"+name, math.Abs(mean)/se, 6,
			"loss of the least-squares witness likewise, %.2e ± %.1e; it is zero wherever the target is invariant", mean, se))
	}
	return all, nil
}

// populationLoss returns the mean loss of batches of n moved exact samples, and
// its standard error.
func populationLoss(ctx context.Context, t *transition, batches, n int, loss func(x, y []float32, k, l []uint8) float64) (mean, standardError float64, err error) {
	x, y, k, l := make([]float32, n), make([]float32, n), make([]uint8, n), make([]uint8, n)
	var losses stat.Mean
	for b := range batches {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		t.target.Sample(x, k, &asm.Counter{Seed: 15, Purpose: 1, Step: uint32(b)}, 0)
		copy(y, x)
		copy(l, k)
		var counts moveCounts
		t.run(y, l, t.config.Steps, &asm.Counter{Seed: 15, Purpose: 2, Step: uint32(b)}, 0, &counts)
		losses.Add(loss(x, y, k, l))
	}
	return losses.Value(), losses.StandardError(), nil
}
