package vectors

import (
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// losses returns the losses of the configured kernel and of a narrow one, each with both statistics.
func (v *subject) losses() (losses []LossConfig) {
	narrow := LossConfig{Kernel: mmd.Kernel{IMQ: []mmd.IMQ{{C: 0.2, Beta: 1.5, Weight: 1}}}}
	for _, l := range []LossConfig{{Kind: "mmd", Kernel: v.config.Loss.Kernel}, narrow} {
		for _, s := range []mmd.Statistic{mmd.V, mmd.U} {
			l.Statistic = s
			losses = append(losses, l)
		}
	}
	return losses
}

// checkLosses compares the losses and gradients of training with double sums. For a small batch it also
// compares the gradients of the double sums with central differences, with s′ fixed.
func (v *subject) checkLosses(emit func(engine.Check)) {
	const smallBatch = 17
	var loss, gradient, difference float64
	for _, known := range v.known {
		t := v.order(known, "random")
		modes := max(1, t.modes)
		for _, l := range v.losses() {
			for _, n := range []int{smallBatch, v.summed} {
				s, next := v.moved(t, known, n, 14, 0)
				for i := range s.X { // away from the target, where gradients do not vanish
					s.X[i] *= 0.9
				}
				ds := newStateGradient(n, t.dim, t.modes)
				got := v.estimator(&l, n, t.dim, t.modes).LossGradient(ds, s, next)

				x, y, e, f := number.Widen(s.X), number.Widen(next.X), oneHot(s.K, n, modes), oneHot(next.K, n, modes)
				wantX, wantK := make([]float64, n*t.dim), make([]float64, n*modes)
				naive := func(gradX, gradK []float64) float64 {
					return v.naive(&l.Kernel, l.Statistic, x, y, e, f, t.dim, modes, gradX, gradK)
				}
				loss = max(loss, math.Abs(got-naive(wantX, wantK))/l.Kernel.Value(0))
				for _, c := range []struct {
					argument, want []float64
					got            []float32
				}{{x, wantX, ds.x}, {e, wantK, ds.k}} {
					scale := number.Largest(c.want)
					for i, g := range c.got {
						gradient = max(gradient, math.Abs(float64(g)-c.want[i])/scale)
					}
					for i := 0; n == smallBatch && i < len(c.want); i++ {
						numerical := number.CentralDifference(&c.argument[i], 1e-5, func() float64 { return naive(nil, nil) })
						difference = max(difference, math.Abs(numerical-c.want[i])/scale)
					}
				}
			}
		}
	}
	names := [3]string{"gradient/mmd", "batch-loss/mmd", "batch-gradient/mmd"}
	if v.modal() {
		names = [3]string{"gradient_against_differences", "loss_against_naive", "gradient_against_naive"}
	}
	emit(engine.AtMost(names[0], difference, 1e-6,
		"gradient of double sums in float64 against central differences with s′ fixed, relative to its largest element, V- and U-statistic, two kernels"))
	emit(engine.AtMost(names[1], loss, 1e-7, "loss of training against double sums in float64, relative to k(0), likewise"))
	emit(engine.AtMost(names[2], gradient, 1e-5, "gradient of training likewise, relative to its largest element"))
}

// oneHot returns the modes of n states as unit vectors, [n][modes]. Without modes all states have one mode.
func oneHot(k []uint8, n, modes int) []float64 {
	if k == nil {
		return slices.Repeat([]float64{1}, n)
	}
	e := make([]float64, n*modes)
	for i, c := range k {
		e[i*modes+int(c)] = 1
	}
	return e
}

// checkPenalty compares the boundary penalty with its formula and its gradient
// with central differences.
func (v *subject) checkPenalty(emit func(engine.Check)) {
	const n, dim = 100, 2
	b := newBoundary(BoundaryConfig{Weight: 0.5, Sharpness: 0.4, Radius: 3, Center: []float64{1, -0.5}}, dim)
	x := number.Narrow(random(n*dim, 3, 31))
	// The penalty adds its gradient to that of the loss, here 1.
	grad := make([]float32, n*dim)
	for i := range grad {
		grad[i] = 1
	}
	got := v.penalty(b, grad, x, make([]float32, n), n)
	wide := number.Widen(x)
	value := math.Abs(got - b.penalty64(wide))
	var slope float64
	for i := range wide {
		want := number.CentralDifference(&wide[i], 1e-5, func() float64 { return b.penalty64(wide) })
		slope = max(slope, math.Abs(float64(grad[i])-1-want)*n)
	}
	emit(engine.AtMost("boundary-penalty", value, 1e-6, "penalty of a batch against its formula in float64"))
	emit(engine.AtMost("boundary-gradient", slope, 2e-5, "its gradient against central differences, by the share of one sample"))
}

// checkPopulation estimates the loss of infinite batches by means of U-statistics over batches, which are
// unbiased. For exact samples the loss is zero, and so is its gradient along a translation, a
// dilation and two shears. For samples of another law the loss is positive.
func (v *subject) checkPopulation(emit func(engine.Check)) {
	const n, bandwidth = 512, 1 // a wide kernel lets batches of this size tell the two laws apart
	t := v.kernel(v.known[0].Target, TransitionConfig{Sigma: []float64{0.3, 1, 2}, Steps: 10})
	var means [4]stat.Mean
	loss := v.population(t, v.known[0], n, bandwidth, func(s States, grad stateGradient) {
		var along [4]float64
		for i := range n {
			x, y := float64(s.X[2*i]), float64(s.X[2*i+1])
			gx, gy := float64(grad.x[2*i]), float64(grad.x[2*i+1])
			along[0] += gx + gy
			along[1] += gx*x + gy*y
			along[2] += gx * math.Sin(y)
			along[3] += gy * math.Cos(2*x)
		}
		for k, a := range along {
			means[k].Add(a)
		}
	})
	elsewhere := v.population(t, v.other, n, bandwidth, nil)
	slope := 0.0
	for _, m := range means {
		slope = max(slope, math.Abs(m.Value())/m.StandardError())
	}
	emit(engine.AtMost("loss-at-target/mmd", math.Abs(loss.Value())/loss.StandardError(), sixSigma,
		"standard errors of the mean loss of %d batches of exact samples from 0; it is %.1e ± %.1e", v.batches, loss.Value(), loss.StandardError()))
	emit(engine.AtMost("gradient-at-target/mmd", slope, sixSigma,
		"standard errors of the mean gradient along four displacements from 0, likewise"))
	emit(engine.AtLeast("loss-elsewhere/mmd", elsewhere.Value()/elsewhere.StandardError(), sixSigma,
		"standard errors of the mean loss of as many samples of another law above 0; it is %.1e ± %.1e", elsewhere.Value(), elsewhere.StandardError()))
}

// population returns the mean U-statistic of batches of a law's samples, which the kernel moves. It calls
// show, unless that is nil, with each batch and its gradient.
func (v *subject) population(t *kernel, law Known, n int, bandwidth float64, show func(s States, grad stateGradient)) (loss stat.Mean) {
	estimator := v.estimator(&LossConfig{Statistic: mmd.U, Kernel: mmd.Kernel{Bandwidths: []float64{bandwidth}}}, n, t.dim, t.modes)
	grad := newStateGradient(n, t.dim, t.modes)
	for b := range v.batches {
		s, next := v.moved(t, law, n, 15, uint32(b))
		loss.Add(estimator.LossGradient(grad, s, next))
		if show != nil {
			show(s, grad)
		}
	}
	return loss
}

// moved returns exact samples s of a law, and the s′ to which the kernel moves them.
func (v *subject) moved(t *kernel, law Known, n int, seed uint64, step uint32) (s, next States) {
	s, next = newStates(n, t.dim, t.modes), newStates(n, t.dim, t.modes)
	law.Sample(s.X, s.K, &asm.Counter{Seed: seed, Purpose: 1, Step: step}, 0)
	next.set(s)
	v.run(t.newMover(strip), next, t.config.Steps, &asm.Counter{Seed: seed, Purpose: 2, Step: step}, 0)
	return s, next
}
