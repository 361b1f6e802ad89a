package vectors

import (
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// weigher is a learner of a density, with what R and its gradient need. Some of each
// block's states move.
type weigher struct {
	*learner
	after   []densePass // of the states of each block that move, none where none do
	weighed []pool.Span

	r, rNext []float64 // of the call under way
	c, cNext []float64
	moved    States
	stale    bool // the batch is of an earlier step

	weighBlock func(block, lo, hi int, _ []float32)
	scoreBlock func(lane, lo, hi int, grad []float32)
}

// densities is the form of log densities.
type densities struct {
	engine.Densities[States]
	config      *Config
	weigher     *weigher
	transition  *transition
	convergence *convergence // nil where training takes all steps
}

// balanceLoss is its lossKind.
type balanceLoss struct{}

func (balanceLoss) validate(l *LossConfig, _ int) error {
	return l.Balancing.Validate()
}

// bytes are those of the passes of s′ and of R.
func (balanceLoss) bytes(l *LossConfig, n, _, _ int, passes float64) float64 {
	return (1-l.Partners)*passes + 64*float64(n+nn.WideBlockRows(n))
}

func (balanceLoss) explain(c *Config, move string) (string, int) {
	n := c.Training.Batch
	return c.Loss.Explain(move), n + engine.NewBalance(c.Loss.Balancing, n, n, 1).Moved()*c.Transition.Steps
}

// mostApart is how far from its mean R of an independent sample may be before its slope is
// bounded: one far out on an arm would decide the step, and the next ones never mend it.
const mostApart = 20

func (balanceLoss) build(c *Config, e *Ensemble, l *learner, t *transition) form {
	n, rows := c.Training.Batch, l.lanes.BlockRows()
	b, w := engine.NewBalance(c.Loss.Balancing, n, rows, 1), &weigher{learner: l}
	b.Apart = mostApart
	t.moving = b.Moving
	w.weighed = []pool.Span{nn.RowSpan(l.lanes, b.R, 1), nn.RowSpan(l.lanes, b.RNext, 1), nn.BlockSpan(l.lanes, t.counts)}
	if moving := b.Moving(0, rows); moving > 0 {
		for range l.passes {
			w.after = append(w.after, l.newPass(moving, true).(densePass))
		}
	}
	w.weighBlock = func(block, lo, hi int, _ []float32) {
		if p := l.passes[block].(densePass); w.stale {
			finiteDensity(p, w.r[lo:hi], w.s.Part(lo, hi), l.weights)
		} else {
			p.logDensity(w.r[lo:hi])
		}
		floats.Sub(w.r[lo:hi], t.logPi[lo:hi])
		if end := b.Moving(lo, hi); end > lo {
			finiteDensity(w.after[block], w.rNext[lo:end], w.moved.Part(lo, end), l.weights)
			floats.Sub(w.rNext[lo:end], t.logNext[lo:end])
		}
	}
	if c.Loss.Reuse > 0 && e.Modes > 0 {
		t.modes = make([]float32, n)
	}
	w.scoreBlock = func(lane, lo, hi int, grad []float32) {
		block := lo / rows
		l.passes[block].(densePass).score(grad, w.c[lo:hi], l.weights, l.scratch[lane])
		if end := b.Moving(lo, hi); end > lo {
			w.after[block].score(grad, w.cNext[lo:end], l.weights, l.scratch[lane])
		}
	}
	d := &densities{Densities: engine.Densities[States]{Balance: b, Generator: w, Transition: t, S: e.NewStates(n), Next: e.NewStates(n)}, config: c, weigher: w, transition: t}
	if c.Loss.Reuse > 0 { // all ranks go on with all of the batch
		t.shared = append(spans(l.lanes, d.S), spans(l.lanes, d.Next)...)
		t.shared = append(t.shared, nn.RowSpan(l.lanes, t.logPi, 1), nn.RowSpan(l.lanes, t.logNext, 1), nn.BlockSpan(l.lanes, t.counts))
	}
	if c.Loss.Enough > 0 {
		d.convergence = newConvergence(&c.Loss.Economy)
	}
	return d
}

// finiteDensity sets dst to ln q of states. A state so far from all others that its noise overflows
// would make every gradient NaN, though its coefficient is 0: a copy of another state takes its
// place. Its ln π stays, by which R is far off, so that the copy does not count.
func finiteDensity(p densePass, dst []float64, s States, w *weights) {
	p.density(dst, s, w)
	good := slices.IndexFunc(dst, number.Finite)
	if good < 0 || !slices.ContainsFunc(dst, func(l float64) bool { return !number.Finite(l) }) {
		return
	}
	for i, l := range dst {
		if !number.Finite(l) {
			s.Part(i, i+1).take(s.Part(good, good+1))
		}
	}
	p.density(dst, s, w)
}

// Weigh sets R of the states that were drawn, and of where they have moved.
func (w *weigher) Weigh(r, rNext []float64, s, next States) {
	w.r, w.rNext, w.s, w.moved = r, rNext, s, next
	w.lanes.Share(w.weighBlock, w.weighed...)
}

// Score sets grad to Σ c ∇ln q of all states that were weighed.
func (w *weigher) Score(grad, θ []float32, c, cNext []float64) {
	w.weights.params, w.c, w.cNext = θ, c, cNext
	w.lanes.Backward(grad, w.scoreBlock)
	w.nets.finish(grad, w.weights)
}

func (b *densities) surrogate(_ *LossConfig, l *learner) func(params []float64) float64 {
	n := len(b.R)
	d, rows, was := l.nets.dim, l.lanes.BlockRows(), number.Widen(l.weights.params)
	density := l.generator.(interface {
		logDensity64(params []float64) func(x []float64, k int) float64
	})
	at := func(params []float64) (r, next []float64) {
		params = slices.Clone(params)
		if l.nets.base != nil { // of whose place nothing is learned
			copy(params[l.nets.placed:l.nets.learned()], was[l.nets.placed:])
		}
		log := density.logDensity64(params)
		of := func(s States, i int) float64 { return log(number.Widen(s.X[i*d:(i+1)*d]), s.mode(i)) }
		r, next = make([]float64, n), make([]float64, n)
		for i := range r {
			r[i] = of(b.S, i)
			if lo := i / rows * rows; i < b.Moving(lo, min(lo+rows, n)) {
				next[i] = of(b.Next, i)
			}
		}
		return r, next
	}
	before, beforeNext := at(was)
	now, nowNext := slices.Clone(b.R), slices.Clone(b.RNext)
	return func(params []float64) float64 {
		r, next := at(params)
		for i := range r {
			r[i] += now[i] - before[i]
			next[i] += nowNext[i] - beforeNext[i]
		}
		return b.Of(r, next)
	}
}
