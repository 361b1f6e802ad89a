package reals

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// A Known is a target of which all is known that checks of the kit need.
type Known struct {
	Target
	// Log is ln π(x) in float64, up to the constant of Target's.
	Log func(x []float64) float64
	// Sample fills x, [rows][d], with exact samples.
	Sample func(x []float32, c *rng.Counter, first uint64)
	// Deviation returns by how many standard errors statistics of the states x,
	// [rows][d], are off their exact values, at most.
	Deviation func(x []float32) float64
}

// Checks returns the checks of the kit's mathematics, each against an independent
// computation: for the architecture and the loss of c, and moves towards the
// known targets, of which the first is one in the plane, as is other, whose law
// is another.
func Checks(c Config, known []Known, other Known, workers *pool.Pool) []func() ([]engine.Check, error) {
	return newSubject(c, known, other, workers).checks()
}

// A subject is what Checks examines. Tests replace a part by a wrong one and
// expect the check of that part to fail.
type subject struct {
	config  Config
	known   []Known
	other   Known
	workers *pool.Pool
	chains  int // of the long run
	batches int // of the population loss

	acceptance  func(ratio, current, next []float32)
	run         func(tr *transition, x []float32, steps int, c *asm.Counter, first uint64, s *moveScratch) engine.Count
	forward64   func(f *flow, params, z []float64) (x []float64, logVolume float64)
	inverse     func(p *flowPass, z, x []float32, w *weights)
	flowDensity func(p *flowPass, dst []float64)
	naive       naiveLoss
	estimator   func(l *LossConfig, n, dim int) (lossGradient, error)
	penalty     func(b *boundary, grad, x, sigmoids []float32, n int) float64
	backward    func(s *System, params, grad []float32)
}

// A naiveLoss is a loss and its gradient by double sums in float64.
type naiveLoss func(k *mmd.Kernel, stat mmd.Statistic, s, t []float64, n, dim int, grad []float64) float64

func newSubject(c Config, known []Known, other Known, workers *pool.Pool) *subject {
	return &subject{
		config: c, known: known, other: other, workers: workers, chains: 1 << 15, batches: 300,
		acceptance:  acceptance,
		run:         (*transition).run,
		forward64:   (*flow).forward64,
		inverse:     (*flowPass).inverse,
		flowDensity: (*flowPass).logDensity,
		naive:       mmd.Naive,
		estimator:   func(l *LossConfig, n, dim int) (lossGradient, error) { return l.estimator(n, dim, 1, workers) },
		penalty:     (*boundary).add,
		backward:    (*System).Backward,
	}
}

func (v *subject) checks() []func() ([]engine.Check, error) {
	list := []func() ([]engine.Check, error){
		v.checkDetailedBalance, v.checkLongRun, v.checkFlow,
		v.checkNaiveGradients, v.checkEstimators, v.checkPenalty, v.checkPopulation,
	}
	residual := GeneratorConfig{Kind: "residual", Depth: 3, Hidden: []int{32, 24}, Slope: 0.01, Gain: 1, Latent: 4}
	for _, g := range []GeneratorConfig{v.config.Generator, residual} {
		list = append(list, func() ([]engine.Check, error) { return v.checkBackpropagation(g) })
	}
	return list
}

// checkDetailedBalance compares the two sides of
// π(s) q(s, s′) α(s, s′) = π(s′) q(s′, s) α(s′, s) on random pairs for each σ, with
// the float32 density and acceptance that the moves use.
func (v *subject) checkDetailedBalance() ([]engine.Check, error) {
	const pairs, vanishing = 4096, 1e-30
	var checks []engine.Check
	for _, sigma := range []float64{0.1, 0.3, 1, 2} {
		var worst float64
		for _, t := range v.known {
			d := t.Dim()
			tr := newTransition(t.Target, TransitionConfig{Sigma: []float64{sigma}})
			x, y := make([]float32, pairs*d), make([]float32, pairs*d)
			asm.Normals(x, &asm.Counter{Seed: 2}, 0)
			asm.Normals(y, &asm.Counter{Seed: 3}, 0)
			for i := range x {
				x[i] *= 2
			}
			tr.propose(y, x, make([]float32, 4*pairs))
			from, to := make([]float32, pairs), make([]float32, pairs)
			batch := own(t.Target)
			batch.LogDensity(from, x)
			batch.LogDensity(to, y)
			forward, backward := make([]float32, pairs), make([]float32, pairs)
			v.acceptance(forward, from, to)
			v.acceptance(backward, to, from)
			for r := range pairs {
				if min(forward[r], backward[r]) < vanishing {
					continue
				}
				a, b := number.Widen(x[r*d:(r+1)*d]), number.Widen(y[r*d:(r+1)*d])
				there := t.Log(a) + logWalk(a, b, sigma) + math.Log(float64(forward[r]))
				back := t.Log(b) + logWalk(b, a, sigma) + math.Log(float64(backward[r]))
				worst = max(worst, math.Abs(there-back)/(1+math.Abs(t.Log(a))+math.Abs(t.Log(b))))
			}
		}
		checks = append(checks, engine.AtMost(fmt.Sprintf("detailed-balance/sigma=%g", sigma), worst, 4e-6,
			"largest difference of the logarithms of both sides, relative to 1 + |ln π(s)| + |ln π(s′)|, on %d pairs for each target, less those accepted with probability below %g", pairs, vanishing))
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

// sixSigma is the bound on the largest of a few dozen standardised deviations:
// the chance that chance alone exceeds it is below 10⁻⁷.
const sixSigma = 6

// checkLongRun starts chains far from equilibrium and compares where they end
// with the exact moments.
func (v *subject) checkLongRun() ([]engine.Check, error) {
	const steps = 400
	var worst float64
	for _, t := range v.known {
		d, tr := t.Dim(), newTransition(t.Target, TransitionConfig{Sigma: []float64{0.3, 1, 2}})
		x := make([]float32, v.chains*d)
		for i := range x {
			x[i] = 3
		}
		const strip = 512
		v.workers.Run(v.chains/strip, func(piece int) {
			part := x[piece*strip*d : (piece+1)*strip*d]
			v.run(tr, part, steps, &asm.Counter{Seed: 5}, uint64(piece*strip), tr.newScratch(strip))
		})
		worst = max(worst, t.Deviation(x))
	}
	return engine.One(engine.AtMost("long-run", worst, sixSigma,
		"standard errors between statistics of %d chains after %d steps and of the target, the largest of all targets", v.chains, steps))
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
