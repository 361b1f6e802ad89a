package hybrid

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// Verify checks the mathematics of the paper's target and of both orders of
// moves, and reports each check through emit.
func Verify(ctx context.Context, workers *pool.Pool, emit func(engine.Check)) error {
	target, err := NewTarget([]float64{1, 9, 25})
	if err != nil {
		return err
	}
	c := TransitionConfig{Order: "random", Across: 0.5, Sigma: []float64{0.5}, Flip: 0.1, Steps: 3}
	random := newTransition(target, c)
	c.Order = "paper-order"
	ordered := newTransition(target, c)

	return engine.RunChecks(ctx, emit,
		func() ([]engine.Check, error) { return checkTarget(target), nil },
		func() ([]engine.Check, error) { return checkDetailedBalance(random), nil },
		func() ([]engine.Check, error) {
			return []engine.Check{checkInvariance("random", random), checkInvariance("paper_order", ordered)}, nil
		},
		func() ([]engine.Check, error) { return []engine.Check{checkLongRun(random, 300)}, nil },
		func() ([]engine.Check, error) {
			return []engine.Check{checkReversible("random", random, true), checkReversible("paper_order", ordered, false)}, nil
		},
		func() ([]engine.Check, error) { return checkLoss(workers, mixedLoss, mmd.MixedNaive) },
		func() ([]engine.Check, error) { return checkWitness(random, workers, (*kfd.Mixed).Fit) },
		func() ([]engine.Check, error) { return checkBackward(workers, (*system).Backward) },
		func() ([]engine.Check, error) { return checkPopulationLoss(ctx, random, ordered, 200, workers) },
	)
}

// checkTarget compares the trapezoidal rule with the Gauss–Legendre rule of the
// quantile tables and with known digits, and quantiles with their inverse.
func checkTarget(target *Target) []engine.Check {
	known := map[float64][3]float64{ // ln Z, ⟨|x|⟩, ⟨x²⟩
		1:  {0.679926242894, 0.827392439339, 0.832745487128},
		9:  {-0.523903196021, 2.992975786952, 8.971958414172},
		25: {-1.036772487917, 4.998497817741, 24.989987961409},
	}
	var rules, digits, quantiles float64
	laws := []stat.Law{target}
	for _, w := range target.wells {
		rules = max(rules, math.Abs(2*w.mass[len(w.mass)-1]-1))
		if d, ok := known[w.mu]; ok {
			for i, v := range [3]float64{w.LogZ(), w.MeanAbs(), w.MeanSquare()} {
				digits = max(digits, math.Abs(v-d[i]))
			}
		}
		laws = append(laws, w)
	}
	for _, l := range laws {
		for i := 1; i < 1000; i++ {
			u := float64(i) / 1000
			quantiles = max(quantiles, math.Abs(l.CDF(l.Quantile(u))-u))
		}
	}
	return []engine.Check{
		engine.AtMost("normalising_constants", rules, 1e-12, "Z by two quadrature rules, relative"),
		engine.AtMost("known_moments", digits, 2e-12, "ln Z, ⟨|x|⟩ and ⟨x²⟩ for μ = 1, 9, 25 against known digits"),
		engine.AtMost("quantiles", quantiles, 1e-12, "|F(Q(u)) − u| of the modes and of their mixture"),
	}
}

// checkDetailedBalance compares the two sides of
// π(s) q(s→s′) α(s→s′) = π(s′) q(s′→s) α(s′→s) for each move on random pairs of
// states. The teleport is deterministic: there the element dx′ of the second
// side is dx times the derivative of the map, taken numerically.
func checkDetailedBalance(t *transition) []engine.Check {
	r := rand.New(rand.NewPCG(1, 0))
	logPi := func(x float64, k uint8) float64 {
		return -t.target.Energy(x, int(k)) - t.target.Well(int(k)).LogZ()
	}
	var worst [moves]float64
	const pairs = 5000
	for i := range t.proposals {
		p := &t.proposals[i]
		back := t.inverse(p)
		for range pairs {
			edge := 1.2 * t.target.Well(int(p.from)).edge()
			x, y := edge*(2*r.Float64()-1), edge*(2*r.Float64()-1)
			forward, backward := t.logNoise(y-p.factor*x), t.logNoise(x-back.factor*y)
			var returns float64
			if p.noise == 0 {
				y = p.factor * x
				const h = 1e-3
				element := (p.factor*(x+h) - p.factor*(x-h)) / (2 * h)
				forward, backward = 0, math.Log(math.Abs(element))
				returns = math.Abs(back.factor*y - x)
			}
			forward += logPi(x, p.from) + math.Min(0, p.logRatio(x, y))
			backward += logPi(y, p.to) + math.Min(0, back.logRatio(y, x))
			worst[p.kind] = max(worst[p.kind], math.Abs(forward-backward), returns)
		}
	}
	var all []engine.Check
	for kind, w := range worst {
		all = append(all, engine.AtMost("detailed_balance_"+move(kind).String(), w, 1e-9,
			"largest difference of the logarithms of both sides on %d pairs of states of each two modes", pairs))
	}
	return all
}

// inverse returns the proposal of p's kind from where p leads to where it came
// from.
func (t *transition) inverse(p *proposal) *proposal {
	return &t.proposals[slices.IndexFunc(t.proposals, func(q proposal) bool {
		return q.kind == p.kind && q.from == p.to && q.to == p.from
	})]
}

// logNoise returns the logarithm of the density of ε.
func (t *transition) logNoise(epsilon float64) float64 {
	// Factored by the widest Gaussian, so that it does not vanish far out.
	var widest, sum float64
	for _, s := range t.config.Sigma {
		widest = max(widest, s)
	}
	for _, s := range t.config.Sigma {
		sum += math.Exp(epsilon*epsilon/2*(1/(widest*widest)-1/(s*s))) / s
	}
	return math.Log(sum) - epsilon*epsilon/(2*widest*widest)
}

// quantileChiSquare returns the value that χ² with df degrees of freedom exceeds
// once in 10⁹, by Wilson and Hilferty's approximation.
func quantileChiSquare(df float64) float64 {
	const z = 6
	a := 2 / (9 * df)
	return df * math.Pow(1-a+z*math.Sqrt(a), 3)
}

// cells sorts states into equally likely cells, bins of x in each mode.
type cells struct {
	target *Target
	bins   int
}

func (c cells) count() int { return c.bins * c.target.Modes() }

func (c cells) of(x float32, k uint8) int {
	u := c.target.Well(int(k)).CDF(float64(x))
	return int(k)*c.bins + min(c.bins-1, int(u*float64(c.bins)))
}

// moved returns exact samples and where the transition takes them.
func moved(t *transition, n int, seed uint64) (x, y []float32, k, l []uint8) {
	x, y, k, l = make([]float32, n), make([]float32, n), make([]uint8, n), make([]uint8, n)
	t.target.Sample(x, k, &asm.Counter{Seed: seed, Purpose: 1}, 0)
	copy(y, x)
	copy(l, k)
	var counts moveCounts
	t.run(y, l, t.config.Steps, &asm.Counter{Seed: seed, Purpose: 2}, 0, &counts)
	return x, y, k, l
}

// checkInvariance moves exact samples and compares them with the target.
func checkInvariance(name string, t *transition) engine.Check {
	const n = 1 << 18
	_, y, _, l := moved(t, n, 11)
	c := cells{t.target, 32}
	count := make([]float64, c.count())
	for i := range y {
		count[c.of(y[i], l[i])]++
	}
	want := float64(n) / float64(len(count))
	var chi float64
	for _, v := range count {
		chi += (v - want) * (v - want) / want
	}
	return engine.AtMost("invariance_"+name, chi, quantileChiSquare(float64(len(count)-1)),
		"χ² of %d moved exact samples on %d cells, level 1e-9", n, len(count))
}

// checkLongRun starts independent chains in the right well of the first mode
// and compares where they end with the exact moments.
func checkLongRun(t *transition, steps int) engine.Check {
	const n = 1 << 14
	x, k := make([]float32, n), make([]uint8, n)
	for i := range x {
		x[i] = float32(math.Sqrt(t.target.Well(0).Mu()))
	}
	var counts moveCounts
	t.run(x, k, steps, &asm.Counter{Seed: 12}, 0, &counts)

	var worst float64
	deviates := func(sum, squares, n, want float64) {
		se := math.Sqrt((squares/n - sum/n*sum/n) / n)
		worst = max(worst, math.Abs(sum/n-want)/se)
	}
	for mode := range t.target.Modes() {
		var in, abs, square, fourth, right float64
		for i := range x {
			if int(k[i]) != mode {
				continue
			}
			v := float64(x[i])
			in++
			abs += math.Abs(v)
			square += v * v
			fourth += v * v * v * v
			if v > 0 {
				right++
			}
		}
		deviates(in, in, n, 1/float64(t.target.Modes()))
		deviates(right, right, in, 0.5)
		deviates(abs, square, in, t.target.Well(mode).MeanAbs())
		deviates(square, fourth, in, t.target.Well(mode).MeanSquare())
	}
	return engine.AtMost("long_run_moments", worst, 6,
		"largest deviation of P(k), P(x>0|k), ⟨|x|⟩ and ⟨x²⟩ in standard errors, %d chains of %d steps from one point", n, steps)
}

// checkReversible counts how many exact samples move from cell to cell and
// compares each flow with the opposite one by Bowker's test of symmetry. Of a
// kernel that is not reversible it shows that it is not.
func checkReversible(name string, t *transition, reversible bool) engine.Check {
	const n = 1 << 18
	x, y, k, l := moved(t, n, 13)
	c := cells{t.target, 8}
	size := c.count()
	flow := make([]float64, size*size)
	for i := range x {
		flow[c.of(x[i], k[i])*size+c.of(y[i], l[i])]++
	}
	var chi, pairs float64
	for i := range size {
		for j := range i {
			a, b := flow[i*size+j], flow[j*size+i]
			if a+b >= 20 {
				chi += (a - b) * (a - b) / (a + b)
				pairs++
			}
		}
	}
	bound := quantileChiSquare(pairs)
	if reversible {
		return engine.AtMost("reversible_"+name, chi, bound,
			"χ² of the flows between %.0f pairs of cells, level 1e-9", pairs)
	}
	return engine.AtLeast("not_reversible_"+name, chi, bound,
		"χ² of the flows between %.0f pairs of cells must exceed the level 1e-9: this order of moves is not reversible", pairs)
}

// A lossGradient is mmd.Mixed's method, or what stands in for it.
type lossGradient func(m *mmd.Mixed, x, y []float32, k, l []uint8, gradX, gradK []float32) float64

func mixedLoss(m *mmd.Mixed, x, y []float32, k, l []uint8, gradX, gradK []float32) float64 {
	return m.LossGradient(x, y, k, l, gradX, gradK)
}

// A naiveGradient is mmd.MixedNaive, or what stands in for it.
type naiveGradient func(k *mmd.Kernel, stat mmd.Statistic, x, y, e, f []float64, modes int, gradX, gradE []float64) float64

// verifyKernel has one term of each kind.
var verifyKernel = mmd.Kernel{Bandwidths: []float64{0.5, 1}, IMQ: []mmd.IMQ{{C: 0.1, Beta: 0.5, Weight: 0.1}}}

// checkLoss compares the loss and its gradients with the plain double sum, and
// the gradients of that with central differences.
func checkLoss(workers *pool.Pool, loss lossGradient, plain naiveGradient) ([]engine.Check, error) {
	target, err := NewTarget([]float64{1, 9, 25})
	if err != nil {
		return nil, err
	}
	t := newTransition(target, TransitionConfig{Order: "random", Across: 0.5, Sigma: []float64{0.5}, Flip: 0.1, Steps: 3})
	const n = 100
	modes := target.Modes()
	var lossError, gradError, difference float64
	for _, stat := range []mmd.Statistic{mmd.V, mmd.U} {
		x, y, k, l := moved(t, n, 14)
		for i := range x { // away from the target, where gradients do not vanish
			x[i] *= 0.9
		}
		m, err := mmd.NewMixed(n, modes, verifyKernel, stat, workers)
		if err != nil {
			return nil, err
		}
		gradX, gradK := make([]float32, n), make([]float32, n*modes)
		got := loss(m, x, y, k, l, gradX, gradK)

		x64, y64, e, f := widen(x), widen(y), oneHot(k, modes), oneHot(l, modes)
		wantX, wantK := make([]float64, n), make([]float64, n*modes)
		naive := func(gradX, gradK []float64) float64 {
			return plain(&verifyKernel, stat, x64, y64, e, f, modes, gradX, gradK)
		}
		want := naive(wantX, wantK)
		lossError = max(lossError, math.Abs(got-want)/want)
		gradError = max(gradError, relativeError(widen(gradX), wantX), relativeError(widen(gradK), wantK))

		for _, c := range []struct{ at, grad []float64 }{{x64, wantX}, {e, wantK}} {
			var numerical, analytic []float64
			for i := 0; i < len(c.at); i += 7 {
				numerical = append(numerical, centralDifference(&c.at[i], 2e-5, func() float64 { return naive(nil, nil) }))
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

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func oneHot(k []uint8, modes int) []float64 {
	e := make([]float64, len(k)*modes)
	for i, c := range k {
		e[i*modes+int(c)] = 1
	}
	return e
}

// relativeError returns the norm of a − b divided by the norm of b.
func relativeError(a, b []float64) float64 {
	var d, n float64
	for i := range b {
		d += (a[i] - b[i]) * (a[i] - b[i])
		n += b[i] * b[i]
	}
	return math.Sqrt(d / n)
}

// centralDifference differentiates f by *v.
func centralDifference(v *float64, h float64, f func() float64) float64 {
	keep := *v
	*v = keep + h
	up := f()
	*v = keep - h
	down := f()
	*v = keep
	return (up - down) / (2 * h)
}
