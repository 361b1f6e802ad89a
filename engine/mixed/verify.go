package mixed

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// A Known is a target of which all is known that checks of the kit need.
type Known struct {
	Target
	// Log is ln π(x, k) in float64, up to the constant of Target's.
	Log func(x []float64, k int) float64
	// Sample fills x, [len(k)][d], and k with exact samples.
	Sample func(x []float32, k []uint8, c *rng.Counter, first uint64)
	// Weights are the probabilities of the modes.
	Weights []float64
	// Rank is a function of the exact x of a mode that is uniform on [0, 1].
	Rank func(x []float32, k uint8) float64
	// Deviation returns by how many standard errors statistics of the states (x, k)
	// are off their exact values, at most.
	Deviation func(x []float32, k []uint8) float64
	// Width is that of the narrowest parts of the law of x.
	Width float64
}

// Checks returns the checks of the kit's mathematics, each against an independent
// computation: for the moves, the network and the kernel of c, towards a known
// target.
func Checks(c Config, known Known, workers *pool.Pool) []func() ([]engine.Check, error) {
	return newSubject(c, known, workers).checks()
}

// A subject is what Checks examines. Tests replace a part by a wrong one and
// expect the check of that part to fail.
type subject struct {
	config  Config
	known   Known
	workers *pool.Pool
	chains  int // of the long run
	steps   int // of each
	batches int // of the population loss

	propose  func(t Target, c TransitionConfig) *transition
	loss     func(m *mmd.Mixed, x, y []float32, k, l []uint8, gradX, gradK []float32) float64
	naive    func(k *mmd.Kernel, stat mmd.Statistic, x, y, e, f []float64, dim, modes int, gradX, gradE []float64) float64
	backward func(s *System, params, grad []float32)
}

func newSubject(c Config, known Known, workers *pool.Pool) *subject {
	return &subject{
		config: c, known: known, workers: workers, chains: 1 << 14, steps: 300, batches: 200,
		propose:  newTransition,
		loss:     (*mmd.Mixed).LossGradient,
		naive:    mmd.MixedNaive,
		backward: (*System).Backward,
	}
}

// transition returns the configured moves in the given order.
func (v *subject) transition(order string) *transition {
	c := v.config.Transition
	c.Order = order
	return v.propose(v.known.Target, c)
}

func (v *subject) checks() []func() ([]engine.Check, error) {
	return []func() ([]engine.Check, error){
		v.checkDetailedBalance, v.checkInvariance, v.checkLongRun, v.checkReversible,
		v.checkLoss, v.checkBackward, v.checkPopulation,
	}
}

// checkDetailedBalance compares the two sides of
// π(s) q(s→s′) α(s→s′) = π(s′) q(s′→s) α(s′→s) for each move, with the density that
// the moves use, on pairs of exact samples that are stretched. The teleport is
// deterministic: there the element dx′ of the second side is dx times the
// determinant of the map, taken numerically.
func (v *subject) checkDetailedBalance() ([]engine.Check, error) {
	const pairs = 5000
	t, r := v.transition("random"), rand.New(rand.NewPCG(1, 0))
	d, s := t.dim, t.newScratch()
	bound := 4e-6 // of the logarithms' size
	_, precise := t.target.(Precise)
	if precise {
		bound = 1e-9
	}
	// States in every mode.
	x, y, k, l := make([]float32, pairs*d), make([]float32, pairs*d), make([]uint8, pairs), make([]uint8, pairs)
	v.known.Sample(x, k, &asm.Counter{Seed: 1}, 0)
	v.known.Sample(y, l, &asm.Counter{Seed: 2}, 0)
	for i := range x {
		x[i], y[i] = x[i]*float32(2*r.Float64()), y[i]*float32(2*r.Float64())
	}
	density := func(x []float32, k uint8) float64 {
		var log [1]float64
		s.logDensity(log[:], x, []uint8{k})
		return log[0]
	}
	image := func(p *proposal, x []float64) []float64 {
		to := make([]float64, d)
		for i, v := range x {
			to[i] = p.factor*v + p.shift[i]
		}
		return to
	}
	var worst [moves]float64
	var astray float64
	for i := range t.proposals {
		p := &t.proposals[i]
		back := t.inverse(p)
		for pair := range pairs {
			a, b := x[pair*d:(pair+1)*d], y[pair*d:(pair+1)*d]
			from := number.Widen(a)
			there := image(p, from)
			var forward, backward float64
			if p.noise == 0 {
				for j, v := range image(back, there) {
					astray = max(astray, math.Abs(v-from[j])/(1+math.Abs(from[j])))
				}
				b = number.Narrow(there)
				const h = 1e-3
				for j := range d { // the map acts on each coordinate alone
					up, down := slices.Clone(from), slices.Clone(from)
					up[j], down[j] = from[j]+h, from[j]-h
					backward += math.Log(math.Abs(image(p, up)[j]-image(p, down)[j]) / (2 * h))
				}
			} else {
				to := number.Widen(b)
				forward, backward = t.logNoise(to, there), t.logNoise(from, image(back, to))
			}
			logFrom, logTo := v.known.Log(from, int(p.from)), v.known.Log(number.Widen(b), int(p.to))
			current, next := density(a, p.from), density(b, p.to)
			forward += logFrom + math.Min(0, p.logRatio(current, next))
			backward += logTo + math.Min(0, back.logRatio(next, current))
			off := math.Abs(forward - backward)
			if !precise {
				off /= 1 + math.Abs(logFrom) + math.Abs(logTo)
			}
			worst[p.kind] = max(worst[p.kind], off)
		}
	}
	var all []engine.Check
	for kind, w := range worst {
		all = append(all, engine.AtMost("detailed_balance_"+move(kind).String(), w, bound,
			"largest difference of the logarithms of both sides on %d pairs of states of each two modes", pairs))
	}
	return append(all, engine.AtMost("teleport_returns", astray, 1e-12,
		"largest difference of a state from where a teleport and the one back lead, relative to 1 + |x|")), nil
}

// inverse returns the proposal of p's kind from where p leads to where it came
// from.
func (t *transition) inverse(p *proposal) *proposal {
	return &t.proposals[slices.IndexFunc(t.proposals, func(q proposal) bool {
		return q.kind == p.kind && q.from == p.to && q.to == p.from
	})]
}

// logNoise returns the logarithm of the density at y of a Gaussian about x with one
// of the listed standard deviations.
func (t *transition) logNoise(y, x []float64) float64 {
	var square float64
	for i, v := range y {
		square += (v - x[i]) * (v - x[i])
	}
	// Factored by the widest Gaussian, so that it does not vanish far out.
	var widest, sum float64
	for _, s := range t.config.Sigma {
		widest = max(widest, s)
	}
	for _, s := range t.config.Sigma {
		sum += math.Exp(square/2*(1/(widest*widest)-1/(s*s))) / math.Pow(s, float64(t.dim))
	}
	return math.Log(sum) - square/(2*widest*widest)
}

// quantileChiSquare returns the value that χ² with df degrees of freedom exceeds
// once in 10⁹, by Wilson and Hilferty's approximation.
func quantileChiSquare(df float64) float64 {
	const z = 6
	a := 2 / (9 * df)
	return df * math.Pow(1-a+z*math.Sqrt(a), 3)
}

// cells sorts exact states into bins that are equally likely within each mode.
type cells struct {
	known Known
	bins  int
}

func (c cells) count() int { return c.bins * len(c.known.Weights) }

func (c cells) of(x []float32, k uint8) int {
	return int(k)*c.bins + min(c.bins-1, int(c.known.Rank(x, k)*float64(c.bins)))
}

// moved returns exact samples and where the transition takes them.
func (v *subject) moved(t *transition, n int, seed uint64, step uint32) (x, y []float32, k, l []uint8) {
	x, y, k, l = make([]float32, n*t.dim), make([]float32, n*t.dim), make([]uint8, n), make([]uint8, n)
	v.known.Sample(x, k, &asm.Counter{Seed: seed, Purpose: 1, Step: step}, 0)
	copy(y, x)
	copy(l, k)
	var counts moveCounts
	t.run(y, l, t.config.Steps, &asm.Counter{Seed: seed, Purpose: 2, Step: step}, 0, t.newScratch(), &counts)
	return x, y, k, l
}

// values returns the choices that a key has.
func values(key string) []string { return conf.Values(new(Config), key) }

// orderName is how the checks name an order of moves.
func orderName(order string) string {
	return strings.ReplaceAll(order, "-", "_")
}

// checkInvariance moves exact samples and compares them with the target.
func (v *subject) checkInvariance() (all []engine.Check, err error) {
	const n = 1 << 18
	for _, order := range values("transition.order") {
		t := v.transition(order)
		_, y, _, l := v.moved(t, n, 11, 0)
		c := cells{v.known, 32}
		count := make([]float64, c.count())
		for i, k := range l {
			count[c.of(y[i*t.dim:(i+1)*t.dim], k)]++
		}
		var chi float64
		for cell, got := range count {
			want := n * v.known.Weights[cell/c.bins] / float64(c.bins)
			chi += (got - want) * (got - want) / want
		}
		all = append(all, engine.AtMost("invariance_"+orderName(order), chi, quantileChiSquare(float64(len(count)-1)),
			"χ² of %d moved exact samples on %d cells, level 1e-9", n, len(count)))
	}
	return all, nil
}

// checkLongRun starts independent chains from one point, a scale from the centre
// of the first mode, and compares where they end with the exact moments.
func (v *subject) checkLongRun() ([]engine.Check, error) {
	t := v.transition("random")
	x, k := make([]float32, v.chains*t.dim), make([]uint8, v.chains)
	center, scale := place(v.known.Target, 0)
	for i := range x {
		x[i] = float32(center[i%t.dim] + scale)
	}
	var counts moveCounts
	t.run(x, k, v.steps, &asm.Counter{Seed: 12}, 0, t.newScratch(), &counts)
	return engine.One(engine.AtMost("long_run_moments", v.known.Deviation(x, k), 6,
		"standard errors between statistics of the target and of %d chains of %d steps from one point", v.chains, v.steps))
}

// checkReversible counts how many exact samples move from cell to cell and
// compares each flow with the opposite one by Bowker's test of symmetry. Of a
// kernel that is not reversible it shows that it is not.
func (v *subject) checkReversible() (all []engine.Check, err error) {
	const n = 1 << 18
	for _, order := range values("transition.order") {
		t := v.transition(order)
		x, y, k, l := v.moved(t, n, 13, 0)
		c := cells{v.known, 8}
		size, d := c.count(), t.dim
		flow := make([]float64, size*size)
		for i := range k {
			flow[c.of(x[i*d:(i+1)*d], k[i])*size+c.of(y[i*d:(i+1)*d], l[i])]++
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
		if order == "random" {
			all = append(all, engine.AtMost("reversible_"+orderName(order), chi, bound,
				"χ² of the flows between %.0f pairs of cells, level 1e-9", pairs))
		} else {
			all = append(all, engine.AtLeast("not_reversible_"+orderName(order), chi, bound,
				"χ² of the flows between %.0f pairs of cells must exceed the level 1e-9: this order of moves is not reversible", pairs))
		}
	}
	return all, nil
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
	return floats.Distance(a, b, 2) / floats.Norm(b, 2)
}
