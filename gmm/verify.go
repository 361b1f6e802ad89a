package gmm

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// Verify checks the mathematics of the package, each part against an
// independent computation, and reports every check through emit. The error is
// that of ctx or of running a check.
func Verify(ctx context.Context, workers *pool.Pool, emit func(engine.Check)) error {
	return newSubject(workers).verify(ctx, emit)
}

// A subject is what Verify examines. Tests replace a part by a wrong one and
// expect the check of that part to fail.
type subject struct {
	workers *pool.Pool
	chains  int // of the long run and of exact samples
	batches int // of the population loss

	logDensity   func(t *Target, x []float64) float64
	batchDensity func(f *density, dst, x []float32, s *densityScratch)
	acceptance   func(ratio, current, next []float32)
	sample       func(t *Target, x []float32, c *asm.Counter, first uint64)
	run          func(tr *transition, x []float32, steps int, c *asm.Counter, first uint64, s *moveScratch) engine.Count
	forward64    func(f *flow, params, z []float64) (x []float64, logVolume float64)
	inverse      func(p *flowPass, z, x []float32, w *weights)
	flowDensity  func(p *flowPass, dst []float64)
	integrate    func(d *sampler) (*sublattices, error)
	naive        map[string]naiveLoss
	estimator    func(l *LossConfig, n, dim int) (lossGradient, error)
	witness      func(m *kfd.Random, s, t, grad []float64) (loss float64, witness [2]func(x []float64) float64)
	penalty      func(b *boundary, grad, x, sigmoids []float32, n int) float64
	backward     func(s *system, params, grad []float32)
}

// A naiveLoss is a loss and its gradient by double sums in float64.
type naiveLoss func(k *mmd.Kernel, stat mmd.Statistic, s, t []float64, n, dim int, grad []float64) float64

func newSubject(workers *pool.Pool) *subject {
	return &subject{
		workers: workers, chains: 1 << 15, batches: 300,
		logDensity:   (*Target).LogDensity,
		batchDensity: (*density).logDensity,
		acceptance:   acceptance,
		sample:       (*Target).Sample,
		run:          (*transition).run,
		forward64:    (*flow).forward64,
		inverse:      (*flowPass).inverse,
		flowDensity:  (*flowPass).logDensity,
		integrate:    func(d *sampler) (*sublattices, error) { return d.integrate(context.Background(), coarse) },
		naive:        map[string]naiveLoss{"reversibility": mmd.Naive, "stationarity": mmd.StationarityNaive},
		estimator:    func(l *LossConfig, n, dim int) (lossGradient, error) { return l.estimator(n, dim, 1, workers) },
		witness:      (*kfd.Random).Naive,
		penalty:      (*boundary).add,
		backward:     (*system).Backward,
	}
}

func (v *subject) checks() []func() ([]engine.Check, error) {
	list := []func() ([]engine.Check, error){
		v.checkDensity, v.checkDetailedBalance, v.checkSamples, v.checkLongRun,
		v.checkFlow, v.checkDistances,
		v.checkNaiveGradients, v.checkEstimators, v.checkWitness, v.checkPenalty,
	}
	residual := GeneratorConfig{Kind: "residual", Depth: 3, Hidden: []int{32, 24}, Slope: 0.01, Gain: 1, Latent: 4}
	for _, g := range []GeneratorConfig{paper().Generator, residual} {
		list = append(list, func() ([]engine.Check, error) { return v.checkBackpropagation(g) })
	}
	for _, objective := range objectives[:3] { // a discriminator has to learn first
		list = append(list, func() ([]engine.Check, error) { return v.checkPopulation(objective) })
	}
	return list
}

func (v *subject) verify(ctx context.Context, emit func(engine.Check)) error {
	return engine.RunChecks(ctx, emit, v.checks()...)
}

// wideMixture is a target with three components in three dimensions.
func wideMixture() TargetConfig {
	return TargetConfig{Components: []Component{
		{Weight: 0.5, Mean: []float64{0, 1, -1}, Covariance: [][]float64{{1, 0.5, 0}, {0.5, 0.8, 0.1}, {0, 0.1, 0.4}}},
		{Weight: 0.3, Mean: []float64{2, -1, 0}, Covariance: [][]float64{{0.3, -0.1, 0.1}, {-0.1, 0.6, 0.2}, {0.1, 0.2, 0.9}}},
		{Weight: 0.2, Mean: []float64{-1, -1, 2}, Covariance: [][]float64{{0.5, 0, -0.2}, {0, 0.5, 0}, {-0.2, 0, 0.5}}},
	}}
}

// targets are those that the checks run on.
func targets() ([]*Target, error) {
	var all []*Target
	for _, c := range []TargetConfig{paperTarget(), wideMixture()} {
		t, err := NewTarget(c)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func one(c engine.Check) ([]engine.Check, error) { return []engine.Check{c}, nil }

// gaussJordan returns the inverse of a and its determinant, by elimination
// without pivoting, which a positive definite matrix does not need.
func gaussJordan(a [][]float64) (inverse [][]float64, determinant float64) {
	d := len(a)
	determinant = 1
	m := make([][]float64, d)
	for i := range m {
		m[i] = append(append([]float64(nil), a[i]...), make([]float64, d)...)
		m[i][d+i] = 1
	}
	for i := range m {
		pivot := m[i][i]
		determinant *= pivot
		for j := range m[i] {
			m[i][j] /= pivot
		}
		for r := range m {
			if factor := m[r][i]; r != i {
				for j := range m[r] {
					m[r][j] -= factor * m[i][j]
				}
			}
		}
	}
	for i := range m {
		inverse = append(inverse, m[i][d:])
	}
	return inverse, determinant
}

// checkDensity compares ln π with its formula, in the terms of the covariances'
// inverses and determinants, and the float32 density of batches with both.
func (v *subject) checkDensity() ([]engine.Check, error) {
	all, err := targets()
	if err != nil {
		return nil, err
	}
	var formula, batch float64
	for _, t := range all {
		d := t.dim
		const rows = 1000
		x := make([]float32, rows*d)
		asm.Normals(x, &asm.Counter{Seed: 1}, 0)
		for i := range x {
			x[i] *= 3
		}
		got := make([]float32, rows)
		f := newDensity(t)
		v.batchDensity(f, got, x, f.newScratch(rows))
		for r := range rows {
			row := widen(x[r*d : (r+1)*d])
			var pi float64
			for _, g := range t.components {
				inverse, determinant := gaussJordan(g.Covariance)
				var square float64
				for i := range d {
					for j := range d {
						square += (row[i] - g.Mean[i]) * inverse[i][j] * (row[j] - g.Mean[j])
					}
				}
				pi += g.Weight * math.Exp(-square/2) / math.Sqrt(math.Pow(2*math.Pi, float64(d))*determinant)
			}
			log := v.logDensity(t, row)
			formula = max(formula, math.Abs(log-math.Log(pi))/(1+math.Abs(log)))
			batch = max(batch, math.Abs(log-float64(got[r]))/(1+math.Abs(log)))
		}
	}
	return []engine.Check{
		engine.AtMost("density", formula, 1e-12, "ln π against its formula by Gauss–Jordan elimination, relative to 1 + |ln π|, on 1000 states in two and three dimensions each"),
		engine.AtMost("density-float32", batch, 2e-6, "ln π of batches in float32 against float64, likewise"),
	}, nil
}

// checkDetailedBalance compares the two sides of
// π(s) q(s, s′) α(s, s′) = π(s′) q(s′, s) α(s′, s) on random pairs for each σ, with
// the float32 density and acceptance that the moves use.
func (v *subject) checkDetailedBalance() ([]engine.Check, error) {
	all, err := targets()
	if err != nil {
		return nil, err
	}
	const pairs, vanishing = 4096, 1e-30
	var checks []engine.Check
	for _, sigma := range []float64{0.1, 0.3, 1, 2} {
		var worst float64
		for _, t := range all {
			d := t.dim
			tr := newTransition(t, TransitionConfig{Sigma: []float64{sigma}})
			x, y := make([]float32, pairs*d), make([]float32, pairs*d)
			asm.Normals(x, &asm.Counter{Seed: 2}, 0)
			asm.Normals(y, &asm.Counter{Seed: 3}, 0)
			for i := range x {
				x[i] *= 2
			}
			tr.propose(y, x, make([]float32, 4*pairs))
			from, to := make([]float32, pairs), make([]float32, pairs)
			s := tr.density.newScratch(pairs)
			v.batchDensity(tr.density, from, x, s)
			v.batchDensity(tr.density, to, y, s)
			forward, backward := make([]float32, pairs), make([]float32, pairs)
			v.acceptance(forward, from, to)
			v.acceptance(backward, to, from)
			for r := range pairs {
				if min(forward[r], backward[r]) < vanishing {
					continue
				}
				a, b := widen(x[r*d:(r+1)*d]), widen(y[r*d:(r+1)*d])
				there := v.logDensity(t, a) + logWalk(a, b, sigma) + math.Log(float64(forward[r]))
				back := v.logDensity(t, b) + logWalk(b, a, sigma) + math.Log(float64(backward[r]))
				worst = max(worst, math.Abs(there-back)/(1+math.Abs(v.logDensity(t, a))+math.Abs(v.logDensity(t, b))))
			}
		}
		checks = append(checks, engine.AtMost(fmt.Sprintf("detailed-balance/sigma=%g", sigma), worst, 4e-6,
			"largest difference of the logarithms of both sides, relative to 1 + |ln π(s)| + |ln π(s′)|, on %d pairs in two and three dimensions each, less those accepted with probability below %g", pairs, vanishing))
	}
	return checks, nil
}

// logWalk returns ln N(y | x, σ²I).
func logWalk(x, y []float64, sigma float64) float64 {
	sum := -float64(len(x)) * math.Log(sigma*math.Sqrt(2*math.Pi))
	for i := range x {
		sum -= math.Pow((y[i]-x[i])/sigma, 2) / 2
	}
	return sum
}

// moments returns by how many standard errors the means, the second moments and
// the mean responsibilities of states are from the target's, at most, and how
// many figures these are.
func moments(t *Target, x []float32) (worst float64, figures int) {
	d, rows := t.dim, len(x)/t.dim
	mean, covariance := t.Mean(), t.Covariance()
	p := make([]float64, t.Components())
	all, want := make([]stat.Mean, len(p)+d+d*d), make([]float64, 0, len(p)+d+d*d)
	for _, g := range t.components {
		want = append(want, g.Weight)
	}
	want = append(append(want, make([]float64, d)...), covariance...)
	for r := range rows {
		row := widen(x[r*d : (r+1)*d])
		t.Responsibilities(p, row)
		for k, q := range p {
			all[k].Add(q)
		}
		for i := range d {
			row[i] -= mean[i]
			all[len(p)+i].Add(row[i])
		}
		for i := range d {
			for j := range d {
				all[len(p)+d+i*d+j].Add(row[i] * row[j])
			}
		}
	}
	for i, m := range all {
		worst = max(worst, math.Abs(m.Value()-want[i])/m.StandardError())
		if !(worst <= math.MaxFloat64) {
			return math.MaxFloat64, len(all)
		}
	}
	return worst, len(all)
}

// sixSigma is the bound on the largest of a few dozen standardised deviations:
// the chance that chance alone exceeds it is below 10⁻⁷.
const sixSigma = 6

// checkSamples compares exact samples with the target's exact moments.
func (v *subject) checkSamples() ([]engine.Check, error) {
	all, err := targets()
	if err != nil {
		return nil, err
	}
	var worst float64
	for _, t := range all {
		x := make([]float32, v.chains*t.dim)
		v.sample(t, x, &asm.Counter{Seed: 4}, 0)
		deviation, _ := moments(t, x)
		worst = max(worst, deviation)
	}
	return one(engine.AtMost("exact-samples", worst, sixSigma,
		"standard errors between means, second moments and responsibilities of %d exact samples and of the target, the largest of two targets", v.chains))
}

// checkLongRun starts chains far from equilibrium and compares where they end
// with the exact moments.
func (v *subject) checkLongRun() ([]engine.Check, error) {
	all, err := targets()
	if err != nil {
		return nil, err
	}
	const steps = 400
	var worst float64
	for _, t := range all {
		tr := newTransition(t, TransitionConfig{Sigma: []float64{0.3, 1, 2}})
		x := make([]float32, v.chains*t.dim)
		for i := range x {
			x[i] = 3
		}
		const strip = 512
		v.workers.Run(v.chains/strip, func(piece int) {
			part := x[piece*strip*t.dim : (piece+1)*strip*t.dim]
			v.run(tr, part, steps, &asm.Counter{Seed: 5}, uint64(piece*strip), tr.newScratch(strip))
		})
		deviation, _ := moments(t, x)
		worst = max(worst, deviation)
	}
	return one(engine.AtMost("long-run", worst, sixSigma,
		"standard errors between means, second moments and responsibilities of %d chains after %d steps and of the target, the largest of two targets", v.chains, steps))
}

// random returns normal numbers of a generator that nothing else here uses.
func random(n int, scale float64, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 0))
	x := make([]float64, n)
	for i := range x {
		x[i] = scale * r.NormFloat64()
	}
	return x
}

// widen returns x in float64.
func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// narrow returns x in float32.
func narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}
