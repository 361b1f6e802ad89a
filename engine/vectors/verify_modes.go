package vectors

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

func newModalSubject(c *Config, known Known, workers *pool.Pool) *subject {
	v := newSubject(c, []Known{known}, Known{}, workers)
	v.chains, v.steps, v.batches, v.samples, v.summed = 1<<14, 300, 200, 1<<18, 100
	v.checks = func() []engine.Checker {
		c := *v.config
		c.Training.Batch = 300 // two blocks of rows and more
		c.Generator.Latent, c.Generator.Hidden, c.Generator.Gain = 5, []int{9, 8}, 3
		return []engine.Checker{
			v.checkModalBalance, v.checkInvariance, v.checkLongRun, v.checkReversible,
			v.checkLosses, func(emit func(engine.Check)) { v.checkBackpropagation(emit, &c) }, v.checkModalPopulation,
		}
	}
	return v
}

// order returns the configured moves towards a target in the given order.
func (v *subject) order(known Known, order string) *kernel {
	c := v.config.Transition
	c.Order = order
	return v.kernel(known.Target, c)
}

// checkModalBalance compares the two sides of
// π(s) q(s→s′) α(s→s′) = π(s′) q(s′→s) α(s′→s) for each move, with the density that
// the moves use, on pairs of exact samples whose coordinates are scaled at random. A teleport is
// deterministic, so the volume element dx′ of the right side is dx times the determinant of the
// map, which is computed numerically.
func (v *subject) checkModalBalance(emit func(engine.Check)) {
	const pairs = 5000
	t, r := v.order(v.known[0], "random"), rand.New(rand.NewPCG(1, 0))
	d, m, known := t.dim, t.newMover(strip), v.known[0]
	bound := 4e-6 // relative to the logarithms
	_, precise := t.target.(Precise)
	if precise {
		bound = 1e-9
	}
	// States in every mode.
	x, y, k, l := make([]float32, pairs*d), make([]float32, pairs*d), make([]uint8, pairs), make([]uint8, pairs)
	known.Sample(x, k, &asm.Counter{Seed: 1}, 0)
	known.Sample(y, l, &asm.Counter{Seed: 2}, 0)
	for i := range x {
		x[i], y[i] = x[i]*float32(2*r.Float64()), y[i]*float32(2*r.Float64())
	}
	density := func(x []float32, k uint8) float64 {
		var log [1]float64
		m.logDensity(log[:], States{d, x, []uint8{k}})
		return log[0]
	}
	image := func(p *proposal, x []float64) []float64 {
		y := make([]float64, d)
		for i, v := range x {
			y[i] = p.factor*v + p.shift[i]
		}
		return y
	}
	var worst [numMoves]float64
	var worstReturn float64 // distance of a state from where a teleport and its inverse lead
	for i := range t.proposals {
		p := &t.proposals[i]
		back := t.inverse(p)
		for pair := range pairs {
			a, b := x[pair*d:(pair+1)*d], y[pair*d:(pair+1)*d]
			from := number.Widen(a)
			mean := image(p, from) // of the proposed state
			var forward, backward float64
			if p.noise == 0 {
				for j, v := range image(back, mean) {
					worstReturn = max(worstReturn, math.Abs(v-from[j])/(1+math.Abs(from[j])))
				}
				b = number.Narrow(mean)
				const h = 1e-3
				for j := range d { // the map acts on each coordinate alone
					up, down := slices.Clone(from), slices.Clone(from)
					up[j], down[j] = from[j]+h, from[j]-h
					backward += math.Log(math.Abs(image(p, up)[j]-image(p, down)[j]) / (2 * h))
				}
			} else {
				to := number.Widen(b)
				forward, backward = t.logNoise(to, mean), t.logNoise(from, image(back, to))
			}
			logFrom, logTo := known.Log(from, int(p.fromMode)), known.Log(number.Widen(b), int(p.toMode))
			logPi, logNext := density(a, p.fromMode), density(b, p.toMode)
			forward += logFrom + math.Min(0, p.logRatio(logPi, logNext))
			backward += logTo + math.Min(0, back.logRatio(logNext, logPi))
			difference := math.Abs(forward - backward)
			if !precise {
				difference /= 1 + math.Abs(logFrom) + math.Abs(logTo)
			}
			worst[p.kind] = max(worst[p.kind], difference)
		}
	}
	for kind, w := range worst {
		emit(engine.AtMost("detailed_balance_"+moveNames[kind], w, bound,
			"largest difference of the logarithms of both sides on %d pairs of states of each two modes", pairs))
	}
	emit(engine.AtMost("teleport_returns", worstReturn, 1e-12,
		"largest difference of a state from where a teleport and the one back lead, relative to 1 + |x|"))
}

// inverse returns the proposal of p's kind from p's toMode to its fromMode.
func (t *kernel) inverse(p *proposal) *proposal {
	return &t.proposals[slices.IndexFunc(t.proposals, func(q proposal) bool {
		return q.kind == p.kind && q.fromMode == p.toMode && q.toMode == p.fromMode
	})]
}

// logNoise returns the logarithm of the density at y of Gaussians about x, summed over the listed standard
// deviations, up to a constant.
func (t *kernel) logNoise(y, x []float64) float64 {
	var square float64
	for i, v := range y {
		square += (v - x[i]) * (v - x[i])
	}
	// The widest Gaussian is factored out, so that the sum does not vanish far from x.
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

// cell returns the index of a state's cell.
func (c cells) cell(x []float32, k uint8) int {
	return int(k)*c.bins + min(c.bins-1, int(c.known.Rank(x, k)*float64(c.bins)))
}

// orders calls visit with the moves in each order, and the order's name in checks. Only the random order is
// reversible.
func (v *subject) orders(visit func(t *kernel, reversible bool, name string)) {
	for _, order := range conf.Values(new(ModalConfig), "transition.order") {
		visit(v.order(v.known[0], order), order == "random", strings.ReplaceAll(order, "-", "_"))
	}
}

// checkInvariance moves exact samples and compares them with the target.
func (v *subject) checkInvariance(emit func(engine.Check)) {
	n := v.samples
	v.orders(func(t *kernel, _ bool, name string) {
		_, s := v.moved(t, v.known[0], n, 11, 0)
		c := cells{v.known[0], 32}
		count := make([]float64, c.count())
		for i, k := range s.K {
			count[c.cell(s.X[i*t.dim:(i+1)*t.dim], k)]++
		}
		var chi float64
		for cell, got := range count {
			want := float64(n) * c.known.Weights[cell/c.bins] / float64(c.bins)
			chi += (got - want) * (got - want) / want
		}
		emit(engine.AtMost("invariance_"+name, chi, quantileChiSquare(float64(len(count)-1)),
			"χ² of %d moved exact samples on %d cells, level 1e-9", n, len(count)))
	})
}

// checkReversible counts how many exact samples move from cell to cell, and compares each flow with the
// opposite one by Bowker's test of symmetry. For moves that are not reversible the flows must differ.
func (v *subject) checkReversible(emit func(engine.Check)) {
	v.orders(func(t *kernel, reversible bool, name string) {
		s, next := v.moved(t, v.known[0], v.samples, 13, 0)
		c := cells{v.known[0], 8}
		size, d := c.count(), t.dim
		flow := make([]float64, size*size)
		for i, k := range s.K {
			flow[c.cell(s.X[i*d:(i+1)*d], k)*size+c.cell(next.X[i*d:(i+1)*d], next.K[i])]++
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
			emit(engine.AtMost("reversible_"+name, chi, bound,
				"χ² of the flows between %.0f pairs of cells, level 1e-9", pairs))
		} else {
			emit(engine.AtLeast("not_reversible_"+name, chi, bound,
				"χ² of the flows between %.0f pairs of cells must exceed the level 1e-9: this order of moves is not reversible", pairs))
		}
	})
}

// checkModalPopulation averages the unbiased loss of exact samples over many batches. In
// random order it is zero within its standard error; in the paper's order it is not.
func (v *subject) checkModalPopulation(emit func(engine.Check)) {
	const n = 2048
	v.orders(func(t *kernel, reversible bool, name string) {
		mean := v.population(t, v.known[0], n, v.known[0].Width, nil)
		if reversible {
			emit(engine.AtMost("population_loss_"+name, math.Abs(mean.Value())/mean.StandardError(), 6,
				"U-statistic of exact samples in standard errors, %.2e ± %.1e over %d batches", mean.Value(), mean.StandardError(), v.batches))
		} else {
			emit(engine.AtLeast("population_loss_"+name, mean.Value()/mean.StandardError(), 6,
				"the same in the paper's order must exceed the bound: %.2e ± %.1e, as moves in a fixed order are not reversible", mean.Value(), mean.StandardError()))
		}
	})
}
