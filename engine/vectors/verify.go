package vectors

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

// A Known is a target with all that the checks of the kit need to know of it.
type Known struct {
	Target
	// Log returns ln π(x, k) in float64, up to the constant of Target.LogDensity.
	Log func(x []float64, k int) float64
	// Sample fills x, [rows][d], and k, nil without modes, with exact samples.
	Sample func(x []float32, k []uint8, c *rng.Counter, first uint64)
	// Deviation returns the largest deviation of statistics of the states (x, k) from their exact
	// values, in standard errors.
	Deviation func(x []float32, k []uint8) float64

	// With modes:
	Weights []float64                          // probabilities of the modes
	Rank    func(x []float32, k uint8) float64 // uniform on [0, 1] for exact x of mode k
	Width   float64                            // of the narrowest parts of the law of x
}

// Checks returns the checks of the kit's mathematics, each against an independent computation. They
// are for the architecture and the loss of c, and moves towards the known targets. The first of
// these is in the plane, and so is other, which has another law.
func Checks(c Config, known []Known, other Known, workers *pool.Pool) []engine.Checker {
	return newSubject(c.settings(), known, other, workers).checks()
}

// ModalChecks returns the checks for the moves, the network and the kernel of c, towards a known target
// with modes.
func ModalChecks(c ModalConfig, known Known, workers *pool.Pool) []engine.Checker {
	return newModalSubject(c.converted(), known, workers).checks()
}

// A subject holds the parts that Checks examines. Tests replace a part by a wrong one and expect the
// check of that part to fail.
type subject struct {
	config  *Config
	known   []Known // a single one with modes
	other   Known
	workers *pool.Pool
	chains  int // of the long run
	steps   int // of each chain
	batches int // of the population loss
	samples int // exact samples that move, with modes
	summed  int // size of the larger batches for double sums

	kernel      func(t Target, c TransitionConfig) *kernel
	acceptance  func(m *mover, rows int) []float32
	run         func(m *mover, s States, steps int, c *rng.Counter, first uint64) engine.Count
	transform64 func(f *flow, params, z []float64) (x []float64, logVolume float64)
	inverse     func(p *flowPass, z, x []float32, w *weights)
	flowDensity func(p *flowPass, dst []float64)
	naive       func(k *mmd.Kernel, stat mmd.Statistic, x, y, e, f []float64, dim, modes int, gradX, gradE []float64) float64
	estimator   func(l *LossConfig, n, dim, modes int) discrepancy
	penalty     func(b *boundary, grad, x, sigmoids []float32, n int) float64
	backward    func(s *System, params, grad []float32)
	checks      func() []engine.Checker
}

func newSubject(c *Config, known []Known, other Known, workers *pool.Pool) *subject {
	v := &subject{
		config: c, known: known, other: other, workers: workers, chains: 1 << 15, steps: 400, batches: 300, summed: 301,
		kernel:      newKernel,
		acceptance:  (*mover).acceptance,
		run:         (*mover).run,
		transform64: (*flow).transform64,
		inverse:     (*flowPass).inverse,
		flowDensity: (*flowPass).logDensity,
		naive:       mmd.MixedNaive,
		estimator: func(l *LossConfig, n, dim, modes int) discrepancy {
			return mmdLoss.make(l, n, dim, modes, 1, workers)
		},
		penalty:  (*boundary).add,
		backward: (*System).Backward,
	}
	v.checks = func() []engine.Checker {
		list := []engine.Checker{
			v.checkDetailedBalance, v.checkLongRun, v.checkFlow,
			v.checkLosses, v.checkPenalty, v.checkPopulation,
		}
		residual := GeneratorConfig{Kind: "residual", Depth: 3, Hidden: []int{32, 24}, Slope: 0.01, Gain: 1, Latent: 4}
		for _, g := range []GeneratorConfig{v.config.Generator, residual} {
			c := *v.config
			c.Training.Batch, c.Generator = 24, g
			// A wider walk and a smaller disc make all parts of the loss matter.
			c.Transition.Sigma, c.Loss.Boundary.Radius = []float64{1}, 1.5
			list = append(list, func(emit func(engine.Check)) { v.checkBackpropagation(emit, &c) })
		}
		return list
	}
	return v
}

// states returns rows of vectors without modes.
func states(x []float32, dim int) States { return States{Dim: dim, X: x} }

// checkDetailedBalance compares the two sides of
// π(s) q(s, s′) α(s, s′) = π(s′) q(s′, s) α(s′, s) on random pairs for each σ, with
// the float32 density and acceptance that the moves use.
func (v *subject) checkDetailedBalance(emit func(engine.Check)) {
	const pairs, vanishing = 4096, 1e-30
	for _, sigma := range []float64{0.1, 0.3, 1, 2} {
		var worst float64
		for _, t := range v.known {
			d := t.Dim()
			moves := v.kernel(t.Target, TransitionConfig{Sigma: []float64{sigma}})
			x, y := make([]float32, pairs*d), make([]float32, pairs*d)
			asm.Normals(x, &asm.Counter{Seed: 2}, 0)
			asm.Normals(y, &asm.Counter{Seed: 3}, 0)
			for i := range x {
				x[i] *= 2
			}
			moves.shift(y, x, make([]float32, 4*pairs))
			forward, backward := v.acceptances(moves, x, y)
			for r := range pairs {
				if min(forward[r], backward[r]) < vanishing {
					continue
				}
				a, b := number.Widen(x[r*d:(r+1)*d]), number.Widen(y[r*d:(r+1)*d])
				left := t.Log(a, 0) + logWalk(a, b, sigma) + math.Log(float64(forward[r]))
				right := t.Log(b, 0) + logWalk(b, a, sigma) + math.Log(float64(backward[r]))
				worst = max(worst, math.Abs(left-right)/(1+math.Abs(t.Log(a, 0))+math.Abs(t.Log(b, 0))))
			}
		}
		emit(engine.AtMost(fmt.Sprintf("detailed-balance/sigma=%g", sigma), worst, 4e-6,
			"largest difference of the logarithms of both sides, relative to 1 + |ln π(s)| + |ln π(s′)|, on %d pairs for each target, less those accepted with probability below %g", pairs, vanishing))
	}
}

// acceptances returns the acceptance of moves x → y and y → x.
func (v *subject) acceptances(t *kernel, x, y []float32) (forward, backward []float32) {
	m := t.newMover(strip)
	for lo := 0; lo < len(x); lo += strip * t.dim {
		hi := min(lo+strip*t.dim, len(x))
		s, next := states(x[lo:hi], t.dim), states(y[lo:hi], t.dim)
		m.logDensity(m.logPi[:s.Len()], s)
		m.logDensity(m.logNext[:s.Len()], next)
		forward = append(forward, v.acceptance(m, s.Len())...)
		m.logPi, m.logNext = m.logNext, m.logPi
		backward = append(backward, v.acceptance(m, s.Len())...)
	}
	return forward, backward
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

// checkLongRun starts all chains at one point, a scale away from the centre of the first mode. It compares
// the moments of the states where they end with the exact ones.
func (v *subject) checkLongRun(emit func(engine.Check)) {
	name, c := "long-run", TransitionConfig{Sigma: []float64{0.3, 1, 2}}
	if v.modal() {
		name, c = "long_run_moments", v.config.Transition
		c.Order = "random"
	}
	var worst float64
	for _, t := range v.known {
		moves := v.kernel(t.Target, c)
		s := newStates(v.chains, moves.dim, moves.modes)
		center, scale := placeOf(t.Target, 0)
		for i := range s.X {
			s.X[i] = float32(center[i%moves.dim] + scale)
		}
		const piece = 512
		v.workers.Run(v.chains/piece, func(i int) {
			v.run(moves.newMover(strip), s.Part(i*piece, (i+1)*piece), v.steps, &asm.Counter{Seed: 5}, uint64(i*piece))
		})
		worst = max(worst, t.Deviation(s.X, s.K))
	}
	emit(engine.AtMost(name, worst, sixSigma,
		"standard errors between statistics of %d chains after %d steps and of the target, the largest of all targets", v.chains, v.steps))
}

// checkBackpropagation compares a training step's gradient with respect to the parameters with central
// differences of the surrogate, in float64, along random directions of each tensor.
func (v *subject) checkBackpropagation(emit func(engine.Check), c *Config) {
	name := "backpropagation/" + c.Generator.Kind
	if v.modal() {
		name = "backward"
	}
	s := build(c, v.known[0].Target, v.workers)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	worst, tensors := engine.GradientError(s, params, func(params, grad []float32) { v.backward(s, params, grad) })
	emit(engine.AtMost(name, worst, 1e-4,
		"gradient of the loss by the parameters against central differences in float64 along random directions of each of %d tensors, relative to the largest", tensors))
}

// modal reports whether states have modes.
func (v *subject) modal() bool { return modesOf(v.known[0].Target) > 0 }

// random returns normal numbers from another generator than rng's.
func random(n int, scale float64, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 0))
	x := make([]float64, n)
	for i := range x {
		x[i] = scale * r.NormFloat64()
	}
	return x
}
