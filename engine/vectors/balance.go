package vectors

import (
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// A weigher is a learner whose density q is known. It evaluates R = ln q − ln π of a batch and of
// the states s′ to which the first samples of each block have moved, and the gradient of R.
type weigher struct {
	*learner
	nextPasses []densePass // of each block's s′; nil where no states move
	weighed    []pool.Span // R, which ranks exchange
	reused     bool        // whether the batch was drawn at an earlier step, with other parameters

	// Arguments of the call under way.
	r, rNext []float64
	c, cNext []float64
	next     States

	weighBlock func(block, lo, hi int, _ []float32)
	scoreBlock func(lane, lo, hi int, grad []float32)
}

// balance is the form of reversibility that compares log densities. A batch may serve several steps.
type balance struct {
	engine.Densities[States]
	config      *Config
	weigher     *weigher
	transition  *transition
	convergence *convergence // nil where training takes all steps
}

// balanceLoss is the lossKind of balance.
type balanceLoss struct{}

func (balanceLoss) validate(l *LossConfig, _ int) error {
	return l.Balancing.Validate()
}

// bytes counts the passes of s′, and R.
func (balanceLoss) bytes(l *LossConfig, n, _, _ int, passes float64) float64 {
	return (1-l.Partners)*passes + 64*float64(n+nn.WideBlockRows(n))
}

func (balanceLoss) explain(c *Config, move string) (string, int) {
	n := c.Training.Batch
	return c.Loss.Explain(move), n + engine.NewBalance(c.Loss.Balancing, n, n, 1).NumMoving()*c.Transition.Steps
}

// maxApart is how far from its mean R of an independent sample may be before its slope is
// bounded. Without a bound one sample far out on an arm would decide the step, and later steps
// would not mend that.
const maxApart = 20

func (balanceLoss) build(c *Config, e *Ensemble, l *learner, t *transition) form {
	n, rows := c.Training.Batch, l.lanes.BlockRows()
	b, w := engine.NewBalance(c.Loss.Balancing, n, rows, 1), &weigher{learner: l}
	b.SlopeBound = maxApart
	t.movingEnd = b.EndOfMoving
	w.weighed = []pool.Span{nn.RowSpan(l.lanes, b.R, 1), nn.RowSpan(l.lanes, b.RNext, 1), nn.BlockSpan(l.lanes, t.counts)}
	if moving := b.EndOfMoving(0, rows); moving > 0 {
		for range l.passes {
			w.nextPasses = append(w.nextPasses, l.newPass(moving, true).(densePass))
		}
	}
	w.weighBlock = func(block, lo, hi int, _ []float32) {
		if p := l.passes[block].(densePass); w.reused {
			finiteDensity(p, w.r[lo:hi], w.s.Part(lo, hi), l.weights)
		} else {
			p.logDensity(w.r[lo:hi])
		}
		floats.Sub(w.r[lo:hi], t.logPi[lo:hi])
		if end := b.EndOfMoving(lo, hi); end > lo {
			finiteDensity(w.nextPasses[block], w.rNext[lo:end], w.next.Part(lo, end), l.weights)
			floats.Sub(w.rNext[lo:end], t.logNext[lo:end])
		}
	}
	if c.Loss.Reuse > 0 && e.Modes > 0 {
		t.modes = make([]float32, n)
	}
	w.scoreBlock = func(lane, lo, hi int, grad []float32) {
		block := lo / rows
		l.passes[block].(densePass).score(grad, w.c[lo:hi], l.weights, l.scratch[lane])
		if end := b.EndOfMoving(lo, hi); end > lo {
			w.nextPasses[block].score(grad, w.cNext[lo:end], l.weights, l.scratch[lane])
		}
	}
	d := &balance{
		Densities: engine.Densities[States]{Balance: b, Generator: w, Transition: t, S: e.NewStates(n), Next: e.NewStates(n)},
		config:    c, weigher: w, transition: t,
	}
	if c.Loss.Reuse > 0 { // every rank needs the whole batch at later steps
		t.shared = append(spans(l.lanes, d.S), spans(l.lanes, d.Next)...)
		t.shared = append(t.shared, nn.RowSpan(l.lanes, t.logPi, 1), nn.RowSpan(l.lanes, t.logNext, 1), nn.BlockSpan(l.lanes, t.counts))
	}
	if c.Loss.Enough > 0 {
		d.convergence = newConvergence(&c.Loss.Economy)
	}
	return d
}

// finiteDensity sets dst to ln q of states. The noise of a state far from all others may overflow.
// That would make every gradient NaN, although the state's coefficient is 0, so a copy of another
// state replaces it. The copy does not count: with ln π of the replaced state, its R is far off.
func finiteDensity(p densePass, dst []float64, s States, w *weights) {
	p.density(dst, s, w)
	replacement := slices.IndexFunc(dst, number.Finite)
	if replacement < 0 || !slices.ContainsFunc(dst, func(l float64) bool { return !number.Finite(l) }) {
		return
	}
	for i, l := range dst {
		if !number.Finite(l) {
			s.Part(i, i+1).set(s.Part(replacement, replacement+1))
		}
	}
	p.density(dst, s, w)
}

// Weigh sets r and rNext to R of the states s that were drawn, and of the s′ that they moved to.
func (w *weigher) Weigh(r, rNext []float64, s, next States) {
	w.r, w.rNext, w.s, w.next = r, rNext, s, next
	w.lanes.Share(w.weighBlock, w.weighed...)
}

// Score sets grad to Σ c ∇ln q of all states that were weighed.
func (w *weigher) Score(grad, θ []float32, c, cNext []float64) {
	w.weights.params, w.c, w.cNext = θ, c, cNext
	w.lanes.Backward(grad, w.scoreBlock)
	w.nets.finish(grad, w.weights)
}

// Converged implements engine.Converging.
func (b *balance) Converged() bool { return b.convergence != nil && b.convergence.state[1] > 0 }

// Loss is engine.Densities.Loss where the step draws a batch, whose weights are then judged.
// Other steps evaluate R of the last batch again with the present parameters.
func (b *balance) Loss(θ []float32, step uint32) (float64, error) {
	w := b.weigher
	if w.reused = !b.config.Loss.fresh(step); w.reused {
		b.transition.restoreModes(b.S, b.Next)
		w.pack(θ)
		w.Weigh(b.R, b.RNext, b.S, b.Next)
		return b.Measure(), nil
	}
	loss, err := b.Densities.Loss(θ, step)
	if b.convergence != nil && err == nil {
		if b.config.Transition.At(int(step), b.config.Training.Steps) == 1 {
			b.convergence.add(b.R)
		} else {
			b.convergence.reset()
		}
	}
	return loss, err
}

// State returns the batch, if it serves several steps, and the state of the convergence, if training
// may end early.
func (b *balance) State() (all []engine.Section) {
	if t := b.transition; b.config.Loss.Reuse > 0 {
		all = append(all, engine.Section{Name: "batch.states", Float32: b.S.X}, engine.Section{Name: "batch.next", Float32: b.Next.X},
			engine.Section{Name: "batch.log_density", Float64: t.logPi}, engine.Section{Name: "batch.next_log_density", Float64: t.logNext})
		if b.S.K != nil {
			all = append(all, engine.Section{Name: "batch.modes", Float32: t.modes})
		}
	}
	if b.convergence != nil {
		all = append(all, engine.Section{Name: "enough.log_ratios", Float64: b.convergence.r}, engine.Section{Name: "enough.state", Float64: b.convergence.state[:]})
	}
	return all
}

func (b *balance) surrogate(_ *LossConfig, l *learner) func(params []float64) float64 {
	n := len(b.R)
	d, rows, initial := l.nets.dim, l.lanes.BlockRows(), number.Widen(l.weights.params)
	density := l.generator.(interface {
		logDensity64(params []float64) func(x []float64, k int) float64
	})
	logDensities := func(params []float64) (logQ, nextLogQ []float64) {
		params = slices.Clone(params)
		if l.nets.base != nil { // its place is not learned
			copy(params[l.nets.placeStart:l.nets.learnedStart()], initial[l.nets.placeStart:])
		}
		log := density.logDensity64(params)
		row := func(s States, i int) float64 { return log(number.Widen(s.X[i*d:(i+1)*d]), s.mode(i)) }
		logQ, nextLogQ = make([]float64, n), make([]float64, n)
		for i := range logQ {
			logQ[i] = row(b.S, i)
			if lo := i / rows * rows; i < b.EndOfMoving(lo, min(lo+rows, n)) {
				nextLogQ[i] = row(b.Next, i)
			}
		}
		return logQ, nextLogQ
	}
	// R at other parameters is R of the last step and the change of ln q in float64.
	initialLogQ, initialNext := logDensities(initial)
	initialR, initialRNext := slices.Clone(b.R), slices.Clone(b.RNext)
	return func(params []float64) float64 {
		r, rNext := logDensities(params)
		for i := range r {
			r[i] += initialR[i] - initialLogQ[i]
			rNext[i] += initialRNext[i] - initialNext[i]
		}
		return b.LossOf(r, rNext)
	}
}
