package vectors

import (
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// losses are one with the configured kernel and one with a narrow one, each with both
// statistics.
func (v *subject) losses() (all []LossConfig) {
	narrow := LossConfig{Kernel: mmd.Kernel{IMQ: []mmd.IMQ{{C: 0.2, Beta: 1.5, Weight: 1}}}}
	for _, l := range []LossConfig{{Kind: "mmd", Kernel: v.config.Loss.Kernel}, narrow} {
		for _, s := range []mmd.Statistic{mmd.V, mmd.U} {
			l.Statistic = s
			all = append(all, l)
		}
	}
	return all
}

// walked returns n states and where random walks take them, of which every third
// is rejected.
func walked(n, dim int, seed uint64) (s, t []float32) {
	a, step := random(n*dim, 1, seed), random(n*dim, 0.3, seed+1)
	b := append([]float64(nil), a...)
	for i := range a {
		if i/dim%3 != 0 {
			b[i] += step[i]
		}
	}
	return number.Narrow(a), number.Narrow(b)
}

// checkNaiveGradients differentiates the double sums with s′ fixed.
func (v *subject) checkNaiveGradients(emit func(engine.Check)) {
	const n, dim = 17, 3
	var worst float64
	for _, l := range v.losses() {
		s32, t32 := walked(n, dim, 11)
		s, t := number.Widen(s32), number.Widen(t32)
		grad := make([]float64, n*dim)
		v.naive(&l.Kernel, l.Statistic, s, t, n, dim, grad)
		scale := number.Largest(grad)
		for i := range s {
			want := number.CentralDifference(&s[i], 1e-5, func() float64 { return v.naive(&l.Kernel, l.Statistic, s, t, n, dim, nil) })
			worst = max(worst, math.Abs(want-grad[i])/scale)
		}
	}
	emit(engine.AtMost("gradient/mmd", worst, 1e-6,
		"gradient in s of double sums in float64 against central differences with s′ fixed, relative to its largest element, V- and U-statistic"))
}

// checkEstimators compares the losses and gradients of training with the double
// sums.
func (v *subject) checkEstimators(emit func(engine.Check)) {
	const n = 301
	var loss, gradient float64
	for i, l := range v.losses() {
		dim := 2 + i%2
		s, t := walked(n, dim, 21)
		estimator := v.estimator(&l, n, dim, 0)
		got, want := newSlopes(n, dim, 0), make([]float64, n*dim)
		gotLoss := estimator.LossGradient(got, states(s, dim), states(t, dim))
		wantLoss := v.naive(&l.Kernel, l.Statistic, number.Widen(s), number.Widen(t), n, dim, want)
		loss = max(loss, math.Abs(gotLoss-wantLoss)/l.Kernel.Value(0))
		scale := number.Largest(want)
		for i, g := range want {
			gradient = max(gradient, math.Abs(float64(got.x[i])-g)/scale)
		}
	}
	emit(engine.AtMost("batch-loss/mmd", loss, 1e-7, "loss of training against double sums in float64, relative to k(0), V- and U-statistic"))
	emit(engine.AtMost("batch-gradient/mmd", gradient, 1e-5, "gradient of training likewise, relative to its largest element"))
}

// checkPenalty compares the boundary penalty with its formula and its gradient
// with central differences.
func (v *subject) checkPenalty(emit func(engine.Check)) {
	const n, dim = 100, 2
	b := newBoundary(BoundaryConfig{Weight: 0.5, Sharpness: 0.4, Radius: 3, Center: []float64{1, -0.5}}, dim)
	x := number.Narrow(random(n*dim, 3, 31))
	// It adds to a gradient that there is already.
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

// checkPopulation estimates losses in the limit of infinite batches by means over
// batches of U-statistics, which are unbiased: zero for exact samples, and so
// is the gradient along any displacement, and positive for samples of another
// law.
func (v *subject) checkPopulation(emit func(engine.Check)) {
	// A wide kernel lets batches of this size tell the two laws apart.
	l := LossConfig{Statistic: mmd.U, Kernel: mmd.Kernel{Bandwidths: []float64{1}}}
	loss, slopes := v.population(v.known[0], &l)
	elsewhere, _ := v.population(v.other, &l)
	slope := 0.0
	for _, m := range slopes {
		slope = max(slope, math.Abs(m.Value())/m.StandardError())
	}
	emit(engine.AtMost("loss-at-target/mmd", math.Abs(loss.Value())/loss.StandardError(), sixSigma,
		"standard errors of the mean loss of %d batches of exact samples from 0; it is %.1e ± %.1e", v.batches, loss.Value(), loss.StandardError()))
	emit(engine.AtMost("gradient-at-target/mmd", slope, sixSigma,
		"standard errors of the mean gradient along four displacements from 0, likewise"))
	emit(engine.AtLeast("loss-elsewhere/mmd", elsewhere.Value()/elsewhere.StandardError(), sixSigma,
		"standard errors of the mean loss of as many samples of another law above 0; it is %.1e ± %.1e", elsewhere.Value(), elsewhere.StandardError()))
}

// population returns the loss of samples of a law in the plane that move towards
// the first target, and its gradient along a translation, a dilation and two
// shears.
func (v *subject) population(law Known, l *LossConfig) (loss stat.Mean, slopes [4]stat.Mean) {
	const n, steps = 512, 10
	m := v.kernel(v.known[0].Target, TransitionConfig{Sigma: []float64{0.3, 1, 2}}).newMover(strip)
	estimator := v.estimator(l, n, 2, 0)
	s, t, grad := newStates(n, 2, 0), newStates(n, 2, 0), newSlopes(n, 2, 0)
	for b := range v.batches {
		law.Sample(s.X, nil, &asm.Counter{Seed: 6, Step: uint32(b)}, 0)
		copy(t.X, s.X)
		v.run(m, t, steps, &asm.Counter{Seed: 7, Step: uint32(b)}, 0)
		loss.Add(estimator.LossGradient(grad, s, t))
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
			slopes[k].Add(a)
		}
	}
	return loss, slopes
}
