package mixed

import (
	"math"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// verifyKernel has one term of each kind.
var verifyKernel = mmd.Kernel{Bandwidths: []float64{0.5, 1}, IMQ: []mmd.IMQ{{C: 0.1, Beta: 0.5, Weight: 0.1}}}

// checkLoss compares the loss and its gradients with the plain double sum, and
// the gradients of that with central differences.
func (v *subject) checkLoss() ([]engine.Check, error) {
	t := v.transition("random")
	const n = 100
	d, modes := t.dim, t.modes
	var lossError, gradError, difference float64
	for _, stat := range []mmd.Statistic{mmd.V, mmd.U} {
		x, y, k, l := v.moved(t, n, 14, 0)
		for i := range x { // away from the target, where gradients do not vanish
			x[i] *= 0.9
		}
		m := crash.Must(mmd.NewMixed(n, d, modes, verifyKernel, stat, v.workers))
		gradX, gradK := make([]float32, n*d), make([]float32, n*modes)
		got := v.loss(m, x, y, k, l, gradX, gradK)

		x64, y64, e, f := number.Widen(x), number.Widen(y), oneHot(k, modes), oneHot(l, modes)
		wantX, wantK := make([]float64, n*d), make([]float64, n*modes)
		naive := func(gradX, gradK []float64) float64 {
			return v.naive(&verifyKernel, stat, x64, y64, e, f, d, modes, gradX, gradK)
		}
		want := naive(wantX, wantK)
		lossError = max(lossError, math.Abs(got-want)/want)
		gradError = max(gradError, relativeError(number.Widen(gradX), wantX), relativeError(number.Widen(gradK), wantK))

		for _, c := range []struct{ at, grad []float64 }{{x64, wantX}, {e, wantK}} {
			var numerical, analytic []float64
			for i := 0; i < len(c.at); i += 7 {
				numerical = append(numerical, number.CentralDifference(&c.at[i], 2e-5, func() float64 { return naive(nil, nil) }))
				analytic = append(analytic, c.grad[i])
			}
			difference = max(difference, relativeError(analytic, numerical))
		}
	}
	return []engine.Check{
		engine.AtMost("loss_against_naive", lossError, 1e-5, "relative difference to the plain double sum in float64, V and U"),
		engine.AtMost("gradient_against_naive", gradError, 1e-4, "by coordinates and modes, relative to the norm"),
		engine.AtMost("gradient_against_differences", difference, 1e-6, "of the multilinear extension in float64, relative to the norm"),
	}, nil
}

// checkBackward compares the gradient of one training step with central
// differences, for every head and objective.
func (v *subject) checkBackward() ([]engine.Check, error) {
	var all []engine.Check
	heads, losses := values("generator.head"), ofMoves()
	for i := range len(heads) * len(losses) {
		head, objective := heads[i%len(heads)], losses[i/len(heads)]
		c := v.config
		c.Training.Batch = 300 // two blocks of rows
		c.Generator.Latent, c.Generator.Hidden, c.Generator.Gain, c.Generator.Branches = 5, []int{9, 8}, 3, 2
		c.Generator.Head, c.Loss.Kind = head, objective
		s := crash.Must(New(&c, v.known.Target, v.workers))
		params := make([]float32, s.NumParams())
		s.Initialize(params)
		worst, tensors := engine.GradientError(s, params, func(params, grad []float32) { v.backward(s, params, grad) })
		all = append(all, engine.AtMost("backward_"+objective+"_"+head, worst, 1e-4,
			"gradient of one step by the parameters against central differences along random directions of each of %d tensors, relative to the largest", tensors))
	}
	return all, nil
}

// Surrogate implements engine.Differentiable: the first-order change of the loss,
// with the witness and, where the gradient depends on them, the draws of the last
// step held fixed.
func (s *System) Surrogate() func(params []float64) float64 {
	if s.placed != nil {
		return s.score64()
	}
	return s.surrogate
}

// score64 returns Σ_r c_r ln q(x_r, k_r) of the last step's states and coefficients,
// where the mixture has been placed held fixed.
func (s *System) score64() func(params []float64) float64 {
	x, k, d := number.Widen(s.batch.x), slices.Clone(s.batch.k), s.generator.dim
	c, before, packed := slices.Clone(s.placed.divergence.Weight), number.Widen(s.params), s.generator.base.NewPacked()
	return func(params []float64) (sum float64) {
		params = slices.Clone(params)
		copy(params[:s.generator.base.Placement()], before)
		packed.Set64(params)
		for r, c := range c {
			sum += c * packed.LogDensity64(x[r*d:(r+1)*d], int(k[r]))
		}
		return sum
	}
}

func (s *System) surrogate(params []float64) float64 {
	g := s.generator
	discrepancy := s.objective
	var sum float64
	along := func(grad []float32, x []float64) {
		for j, v := range x {
			sum += float64(grad[j]) * v
		}
	}
	d := g.dim
	for i := range s.batch.k {
		z := number.Widen(s.batch.activations[0][i*g.config.Latent:][:g.config.Latent])
		out := g.net.Forward64(params, z)
		logits := out[g.coordinates:]
		var total float64
		for _, h := range logits {
			total += math.Exp(h)
		}
		choice := s.batch.choice[i]
		x := out[g.point(int(choice))*d:][:d]
		along(discrepancy.gradX[i*d:], x)
		if g.branched {
			sum += float64(discrepancy.witness[i]) * (logits[choice] - math.Log(total))
			continue
		}
		for c, h := range logits {
			sum += float64(discrepancy.witness[i*g.modes+c]) * math.Exp(h) / total
		}
	}
	return sum
}

// checkPopulation averages the unbiased losses of exact samples over many
// batches. In random order they are zero within their standard errors. In the
// paper's order that of pairs is not; that of stationarity is, as the target is
// invariant.
func (v *subject) checkPopulation() (all []engine.Check, err error) {
	const n = 2048
	for _, order := range values("transition.order") {
		t := v.transition(order)
		kernel := mmd.Kernel{Bandwidths: []float64{v.known.Width}}
		ofPairs := crash.Must(mmd.NewMixed(n, t.dim, t.modes, kernel, mmd.U, v.workers))
		ofStates := crash.Must(mmd.NewMixedStationarity(n, t.dim, t.modes, kernel, mmd.U, v.workers))
		gradX, witness := make([]float32, n*t.dim), make([]float32, n)
		var pairs, states stat.Mean
		for b := range v.batches {
			x, y, k, l := v.moved(t, n, 15, uint32(b))
			pairs.Add(ofPairs.LossWitness(x, y, k, l, gradX, witness))
			states.Add(ofStates.LossWitness(x, y, k, l, gradX, witness))
		}
		name := "population_loss_" + orderName(order)
		if order == "random" {
			all = append(all, engine.AtMost(name, math.Abs(pairs.Value())/pairs.StandardError(), 6,
				"U-statistic of exact samples in standard errors, %.2e ± %.1e over %d batches", pairs.Value(), pairs.StandardError(), v.batches))
		} else {
			all = append(all, engine.AtLeast(name, pairs.Value()/pairs.StandardError(), 6,
				"the same in the paper's order must exceed the bound: %.2e ± %.1e, as moves in a fixed order are not reversible", pairs.Value(), pairs.StandardError()))
		}
		all = append(all, engine.AtMost("stationarity_"+name, math.Abs(states.Value())/states.StandardError(), 6,
			"loss of stationarity likewise, %.2e ± %.1e; it is zero wherever the target is invariant", states.Value(), states.StandardError()))
	}
	return all, nil
}
