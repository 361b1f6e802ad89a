package gmm

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// Verify checks the mathematics of the package, each part against an
// independent computation, and reports every check through emit. The error is
// that of ctx.
func Verify(ctx context.Context, workers *pool.Pool, emit func(engine.Check)) error {
	return engine.RunChecks(ctx, emit, append(newSubject(workers).checks(), kitChecks(workers)...)...)
}

// A subject holds the parts that Verify examines. Tests replace a part by a wrong one and expect the
// check of that part to fail.
type subject struct {
	workers *pool.Pool
	samples int // number of exact samples

	logDensity   func(t *Target, x []float64) float64
	batchDensity func(f *density, dst, x []float32)
	sample       func(t *Target, x []float32, c *asm.Counter, first uint64)
	integrate    func(d *sampler) (*sublattices, error)
}

func newSubject(workers *pool.Pool) *subject {
	return &subject{
		workers: workers, samples: 1 << 15,
		logDensity:   (*Target).LogDensity,
		batchDensity: func(f *density, dst, x []float32) { f.LogDensity(dst, x, nil) },
		sample:       (*Target).Sample,
		integrate:    func(d *sampler) (*sublattices, error) { return d.integrate(context.Background(), firstPoints) },
	}
}

func (v *subject) checks() []engine.Checker {
	return []engine.Checker{v.checkDensity, v.checkSamples, v.checkDistances}
}

// kitChecks returns the checks of the kit, with mixtures for known targets.
func kitChecks(workers *pool.Pool) []engine.Checker {
	otherConfig := paperTarget()
	otherConfig.Components[0].Weight, otherConfig.Components[1].Weight = 0.5, 0.5
	var known []vectors.Known
	for _, t := range append(targets(), crash.Must(NewTarget(otherConfig))) {
		known = append(known, vectors.Known{
			Target:    newDensity(t),
			Log:       func(x []float64, _ int) float64 { return t.LogDensity(x) },
			Sample:    func(x []float32, _ []uint8, c *asm.Counter, first uint64) { t.Sample(x, c, first) },
			Deviation: func(x []float32, _ []uint8) float64 { return moments(t, x) },
		})
	}
	last := len(known) - 1
	return vectors.Checks(crash.Must(Preset("paper")).Config, known[:last], known[last], workers)
}

// wideMixture is a target with three components in three dimensions.
func wideMixture() TargetConfig {
	return TargetConfig{Components: []Component{
		{Weight: 0.5, Mean: []float64{0, 1, -1}, Covariance: [][]float64{{1, 0.5, 0}, {0.5, 0.8, 0.1}, {0, 0.1, 0.4}}},
		{Weight: 0.3, Mean: []float64{2, -1, 0}, Covariance: [][]float64{{0.3, -0.1, 0.1}, {-0.1, 0.6, 0.2}, {0.1, 0.2, 0.9}}},
		{Weight: 0.2, Mean: []float64{-1, -1, 2}, Covariance: [][]float64{{0.5, 0, -0.2}, {0, 0.5, 0}, {-0.2, 0, 0.5}}},
	}}
}

// targets returns the targets of the checks.
func targets() []*Target {
	return lists.Map([]TargetConfig{paperTarget(), wideMixture()}, func(c TargetConfig) *Target { return crash.Must(NewTarget(c)) })
}

// checkDensity compares ln π with its formula in terms of the covariances' inverses and determinants, and
// with the float32 density of batches.
func (v *subject) checkDensity(emit func(engine.Check)) {
	var formula, batch float64
	for _, t := range targets() {
		d := t.dim
		const rows = 1000
		x := make([]float32, rows*d)
		asm.Normals(x, &asm.Counter{Seed: 1}, 0)
		for i := range x {
			x[i] *= 3
		}
		got := make([]float32, rows)
		f := newDensity(t)
		v.batchDensity(f, got, x)
		for r := range rows {
			row := number.Widen(x[r*d : (r+1)*d])
			var pi float64
			for _, g := range t.components {
				covariance := mat.NewDense(d, d, slices.Concat(g.Covariance...))
				var inverse mat.Dense
				if inverse.Inverse(covariance) != nil {
					formula = math.Inf(1)
				}
				difference := mat.NewVecDense(d, nil)
				difference.SubVec(mat.NewVecDense(d, row), mat.NewVecDense(d, g.Mean))
				square := mat.Inner(difference, &inverse, difference)
				pi += g.Weight * math.Exp(-square/2) / math.Sqrt(math.Pow(2*math.Pi, float64(d))*mat.Det(covariance))
			}
			log := v.logDensity(t, row)
			formula = max(formula, math.Abs(log-math.Log(pi))/(1+math.Abs(log)))
			batch = max(batch, math.Abs(log-float64(got[r]))/(1+math.Abs(log)))
		}
	}
	emit(engine.AtMost("density", formula, 1e-12, "ln π against its formula by LU decompositions, relative to 1 + |ln π|, on 1000 states in two and three dimensions each"))
	emit(engine.AtMost("density-float32", batch, 2e-6, "ln π of batches in float32 against float64, likewise"))
}

// moments returns the largest deviation of the means, the second moments and the mean responsibilities of
// states from the target's, in standard errors.
func moments(t *Target, x []float32) (worst float64) {
	d, rows := t.dim, len(x)/t.dim
	mean, covariance := t.Mean(), t.Covariance()
	p := make([]float64, t.Components())
	got, want := make([]stat.Mean, len(p)+d+d*d), make([]float64, 0, len(p)+d+d*d)
	for _, g := range t.components {
		want = append(want, g.Weight)
	}
	want = append(append(want, make([]float64, d)...), covariance...)
	for r := range rows {
		row := number.Widen(x[r*d : (r+1)*d])
		t.Responsibilities(p, row)
		for k, q := range p {
			got[k].Add(q)
		}
		for i := range d {
			row[i] -= mean[i]
			got[len(p)+i].Add(row[i])
		}
		for i := range d {
			for j := range d {
				got[len(p)+d+i*d+j].Add(row[i] * row[j])
			}
		}
	}
	for i, m := range got {
		worst = max(worst, math.Abs(m.Value()-want[i])/m.StandardError())
		if !(worst <= math.MaxFloat64) {
			return math.MaxFloat64
		}
	}
	return worst
}

// sixSigma is the bound on the largest of a few dozen standardised deviations:
// the chance that chance alone exceeds it is below 10⁻⁷.
const sixSigma = 6

// checkSamples compares exact samples with the target's exact moments.
func (v *subject) checkSamples(emit func(engine.Check)) {
	var worst float64
	for _, t := range targets() {
		x := make([]float32, v.samples*t.dim)
		v.sample(t, x, &asm.Counter{Seed: 4}, 0)
		worst = max(worst, moments(t, x))
	}
	emit(engine.AtMost("exact-samples", worst, sixSigma,
		"standard errors between means, second moments and responsibilities of %d exact samples and of the target, the largest of two targets", v.samples))
}

// checkDistances compares the figures of an evaluation with closed forms, for a flow that is the identity,
// so that q = N(0, I), and π = N(μ, σ²I).
func (v *subject) checkDistances(emit func(engine.Check)) {
	const mu, variance = 0.4, 1.5
	c := crash.Must(Preset("paper"))
	c.Generator.Gain, c.Generator.Depth, c.Generator.Hidden = math.SmallestNonzeroFloat32, 2, []int{4}
	c.Target = TargetConfig{Components: []Component{{Weight: 1, Mean: []float64{mu, 0}, Covariance: [][]float64{{variance, 0}, {0, variance}}}}}
	s := crash.Must(c.New(v.workers)).(*system)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	integrals := crash.Must(v.integrate(s.newSampler(params)))
	overlapOf := func(v float64) float64 { return math.Exp(-mu*mu/(2*v)) / (2 * math.Pi * v) }
	var worst float64
	for _, pair := range []struct {
		figure func(o *overlap) float64
		want   float64
	}{
		{func(o *overlap) float64 { return o.square }, 1/(4*math.Pi) + 1/(4*math.Pi*variance) - 2*overlapOf(1+variance)},
		{func(o *overlap) float64 { return o.klTo }, (2/variance + mu*mu/variance - 2 + 2*math.Log(variance)) / 2},
		{func(o *overlap) float64 { return o.klFrom }, (2*variance + mu*mu - 2 - 2*math.Log(variance)) / 2},
		{func(o *overlap) float64 { return o.mass }, 1},
	} {
		got, _ := integrals.estimate(pair.figure)
		worst = max(worst, math.Abs(got-pair.want))
	}
	worst = max(worst, math.Abs(s.target.SquaredNorm()-1/(4*math.Pi*variance)))
	emit(engine.AtMost("distances", worst, 1e-6, "∫(q−π)², ∫π², KL both ways and ∫q between two Gaussians, by quadrature, against closed forms"))
}
