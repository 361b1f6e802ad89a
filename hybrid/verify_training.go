package hybrid

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/pool"
)

// checkBackward compares the gradient of one training step with central
// differences, for both heads.
func checkBackward(workers *pool.Pool, backward func(s *system, params, grad []float32)) ([]engine.Check, error) {
	var all []engine.Check
	for _, head := range heads {
		c := best()
		c.Training.Batch = 300 // two blocks of rows
		c.Generator.Latent, c.Generator.Hidden, c.Generator.Gain = 5, []int{9, 8}, 3
		c.Generator.Head = head
		if head == "split" {
			c.Generator.Branches = 1
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
		all = append(all, atMost("backward_"+head, relativeError(analytic, numerical), 1e-4,
			"gradient of one step by the parameters against central differences, relative to the norm"))
	}
	return all, nil
}

// surrogate is the function of the parameters whose gradient is what Backward
// computes: the first-order change of the loss, with the witness and the draws
// of the last step held fixed.
func (s *system) surrogate(params []float64) float64 {
	g := s.generator
	var sum float64
	for i := range s.batch.x {
		z := widen(s.batch.activations[0][i*g.config.Latent:][:g.config.Latent])
		out := g.net.Forward64(params, z)
		logits := out[g.coordinates:]
		var total float64
		for _, h := range logits {
			total += math.Exp(h)
		}
		if g.branched {
			r := int(s.batch.choice[i])
			sum += float64(s.gradX[i])*out[r] + float64(s.witness[i])*(logits[r]-math.Log(total))
			continue
		}
		sum += float64(s.gradX[i]) * out[0]
		for c, h := range logits {
			sum += float64(s.witness[i*g.modes+c]) * math.Exp(h) / total
		}
	}
	return sum
}

// checkPopulationLoss averages the unbiased loss of exact samples over many
// batches. In random order it is zero within its standard error; in the
// paper's order it is not.
func checkPopulationLoss(ctx context.Context, random, ordered *transition, batches int, workers *pool.Pool) ([]engine.Check, error) {
	mean, se, err := populationLoss(ctx, random, batches, workers)
	if err != nil {
		return nil, err
	}
	zero := atMost("population_loss_random", math.Abs(mean)/se, 6,
		fmt.Sprintf("U-statistic of exact samples in standard errors, %.2e ± %.1e over %d batches", mean, se, batches))
	mean, se, err = populationLoss(ctx, ordered, batches, workers)
	if err != nil {
		return nil, err
	}
	return []engine.Check{zero, atLeast("population_loss_paper_order", mean/se, 6,
		fmt.Sprintf("the same in the paper's order must exceed the bound: %.2e ± %.1e, as moves in a fixed order are not reversible", mean, se))}, nil
}

// populationLoss returns the mean of the U-statistic with the bandwidth 0.1 over
// batches of moved exact samples, and its standard error.
func populationLoss(ctx context.Context, t *transition, batches int, workers *pool.Pool) (mean, standardError float64, err error) {
	const n = 2048
	m, err := mmd.NewMixed(n, t.target.Modes(), mmd.Kernel{Bandwidths: []float64{0.1}}, mmd.U, workers)
	if err != nil {
		return 0, 0, err
	}
	x, y, k, l := make([]float32, n), make([]float32, n), make([]uint8, n), make([]uint8, n)
	gradX, witness := make([]float32, n), make([]float32, n)
	var sum, squares float64
	for b := range batches {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		t.target.Sample(x, k, &asm.Counter{Seed: 15, Purpose: 1, Step: uint32(b)}, 0)
		copy(y, x)
		copy(l, k)
		var counts moveCounts
		t.run(y, l, t.config.Steps, &asm.Counter{Seed: 15, Purpose: 2, Step: uint32(b)}, 0, &counts)
		v := m.LossWitness(x, y, k, l, gradX, witness)
		sum += v
		squares += v * v
	}
	count := float64(batches)
	mean = sum / count
	return mean, math.Sqrt((squares/count - mean*mean) / (count - 1)), nil
}
