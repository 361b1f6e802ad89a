package mixed

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/vectors"
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
// differences.
func (v *subject) checkBackward() ([]engine.Check, error) {
	c := v.config
	c.Training.Batch = 300 // two blocks of rows
	c.Generator.Latent, c.Generator.Hidden, c.Generator.Gain = 5, []int{9, 8}, 3
	s := crash.Must(New(&c, v.known.Target, v.workers))
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	worst, tensors := engine.GradientError(s, params, func(params, grad []float32) { v.backward(s, params, grad) })
	return engine.One(engine.AtMost("backward", worst, 1e-4,
		"gradient of one step by the parameters against central differences along random directions of each of %d tensors, relative to the largest", tensors))
}

// Surrogate implements engine.Differentiable: the loss itself of a density, whose pairs
// are held fixed, or of a perceptron its first-order change, with the witness fixed too.
func (s *System) Surrogate() func(params []float64) float64 { return s.learner.surrogate() }

func (b *balance) surrogate() func(params []float64) float64 {
	g, d := b.density, b.density.Dim()
	before, packed := number.Widen(b.params), g.NewPacked()
	again := engine.NewBalance(b.config.Loss.Balancing, len(b.loss.R), nn.BlockRows(), 1)
	log := func(dst []float64, params []float64, s vectors.States) {
		params = slices.Clone(params)
		copy(params[:g.Placement()], before) // of which nothing is learned
		packed.Set64(params)
		for i := range dst {
			dst[i] = packed.LogDensity64(number.Widen(s.X[i*d:(i+1)*d]), int(s.K[i]))
		}
	}
	// ln π̃ of the states as the step has it.
	ofS, ofNext := make([]float64, len(b.loss.R)), make([]float64, len(b.next.K))
	log(ofS, before, b.s)
	log(ofNext, before, b.next)
	floats.Sub(ofS, b.loss.R)
	floats.Sub(ofNext, b.loss.Next[:len(ofNext)])
	return func(params []float64) float64 {
		log(again.R, params, b.s)
		log(again.Next[:len(ofNext)], params, b.next)
		floats.Sub(again.R, ofS)
		floats.Sub(again.Next[:len(ofNext)], ofNext)
		return again.Measure()
	}
}

func (p *pairs) surrogate() func(params []float64) float64 {
	g := p.perceptron
	return func(params []float64) (sum float64) {
		for i := range p.s.K {
			out := g.Forward64(params, number.Widen(p.batch.activations[0][i*g.config.Latent:][:g.config.Latent]))
			for j, x := range out[:g.dim] {
				sum += float64(p.gradX[i*g.dim+j]) * x
			}
			var total float64
			for _, h := range out[g.dim:] {
				total += math.Exp(h)
			}
			for c, h := range out[g.dim:] {
				sum += float64(p.witness[i*g.modes+c]) * math.Exp(h) / total
			}
		}
		return sum
	}
}

// checkPopulation averages the unbiased loss of exact samples over many batches. In
// random order it is zero within its standard error; in the paper's order it is not.
func (v *subject) checkPopulation() (all []engine.Check, err error) {
	const n = 2048
	for _, order := range values("transition.order") {
		t := v.transition(order)
		kernel := mmd.Kernel{Bandwidths: []float64{v.known.Width}}
		loss := crash.Must(mmd.NewMixed(n, t.dim, t.modes, kernel, mmd.U, v.workers))
		gradX, gradK := make([]float32, n*t.dim), make([]float32, n*t.modes)
		var mean stat.Mean
		for b := range v.batches {
			x, y, k, l := v.moved(t, n, 15, uint32(b))
			mean.Add(loss.LossGradient(x, y, k, l, gradX, gradK))
		}
		name := "population_loss_" + orderName(order)
		if order == "random" {
			all = append(all, engine.AtMost(name, math.Abs(mean.Value())/mean.StandardError(), 6,
				"U-statistic of exact samples in standard errors, %.2e ± %.1e over %d batches", mean.Value(), mean.StandardError(), v.batches))
		} else {
			all = append(all, engine.AtLeast(name, mean.Value()/mean.StandardError(), 6,
				"the same in the paper's order must exceed the bound: %.2e ± %.1e, as moves in a fixed order are not reversible", mean.Value(), mean.StandardError()))
		}
	}
	return all, nil
}
