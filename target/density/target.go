package density

import (
	"fmt"
	"math"
	"sync"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/target/density/program"
)

// A source computes ln π, up to a constant, of the states x, [len(dst)][dim], in the
// modes k, nil if there are none. Calls may be concurrent.
type source interface {
	Evaluate(dst []float64, x []float32, k []uint8) error
}

// An evaluator sets dst to ln π for one thread, as a source does.
type evaluator func(dst []float64, x []float32, k []uint8)

// lent are evaluators for as many threads as there are.
type lent chan evaluator

func newLent(threads int, one func() evaluator) lent {
	l := make(lent, threads)
	for range threads {
		l <- one()
	}
	return l
}

// Evaluate implements source.
func (l lent) Evaluate(dst []float64, x []float32, k []uint8) error {
	evaluate := <-l
	defer func() { l <- evaluate }()
	evaluate(dst, x, k)
	return nil
}

// A problem is a target in the coordinates in which it is learned, shared by all who
// evaluate it.
type problem struct {
	config     *TargetConfig
	dim, modes int // no modes for real vectors
	key        string
	chart      *chart
	source     source
	operations int              // of an evaluation
	tally      *engine.Tally    // of evaluations
	program    *program.Workers // the source, if it is one

	measure sync.Once
	level   float64 // of ln π, which the kit, whose ln π of vectors alone is float32, sees from there

	mutex  sync.Mutex
	err    error
	seen   seen
	judged bool // the first values have been found sound
}

// seen are the values of the first steps.
type seen struct {
	values
	first string // state
}

// values are how many there were, and the finite ones.
type values struct {
	states, finite int
	low, high      float64
}

func (s *values) add(other values) {
	switch {
	case other.finite == 0:
	case s.finite == 0:
		s.low, s.high = other.low, other.high
	default:
		s.low, s.high = min(s.low, other.low), max(s.high, other.high)
	}
	s.states, s.finite = s.states+other.states, s.finite+other.finite
}

func (p *problem) fail(err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.err == nil {
		p.err = err
	}
}

// Err implements engine.Fallible.
func (p *problem) Err() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.err
}

// Interrupt implements engine.Fallible.
func (p *problem) Interrupt(cause error) {
	p.fail(cause)
	if p.program != nil {
		p.program.Interrupt(cause)
	}
}

// Close implements engine.Fallible.
func (p *problem) Close() error {
	if p.program == nil {
		return nil
	}
	return p.program.Close()
}

// blockRows is how many states are evaluated together.
const blockRows = 256

// An evaluation is what one thread evaluates with.
type evaluation struct {
	*problem
	x      []float32
	volume []float64
	value  []float64
}

func (p *problem) evaluation() *evaluation {
	return &evaluation{p, make([]float32, blockRows*p.dim), make([]float64, blockRows), make([]float64, blockRows)}
}

// Dim returns the number of coordinates of a state.
func (e *evaluation) Dim() int { return e.dim }

// logDensity sets dst to ln π of the states y, in whose coordinates the volume
// counts. What is not a number, or infinite, is the failure of the target, after
// which the density vanishes everywhere.
func (e *evaluation) logDensity(dst []float64, y []float32, k []uint8) {
	for lo := 0; lo < len(dst); lo += blockRows {
		hi := min(lo+blockRows, len(dst))
		e.part(dst[lo:hi], y[lo*e.dim:hi*e.dim], lists.Part(k, lo, hi))
	}
}

func (e *evaluation) part(dst []float64, y []float32, k []uint8) {
	x := e.x[:len(y)]
	e.chart.place(x, e.volume[:len(dst)], y, k)
	err := e.evaluate(dst, x, k)
	for r, v := range dst {
		state := x[r*e.dim : (r+1)*e.dim]
		switch {
		case err != nil || !asm.AllFinite(state):
			v = math.Inf(-1) // a state beyond float32, which is not the target's fault
		case !(v < math.Inf(1)):
			err = fmt.Errorf("%s: ln π is %v at %s; return −∞ where the density is zero, or bound the coordinates with target.support", e.key, v, program.State(state, lists.Part(k, r, r+1)))
			e.fail(err)
			v = math.Inf(-1)
		default:
			v += e.volume[r]
		}
		dst[r] = v
	}
	e.watch(dst, x, k)
}

// evaluate asks the source, unless the target has failed.
func (p *problem) evaluate(dst []float64, x []float32, k []uint8) error {
	err := p.Err()
	if err == nil {
		if err = p.ask(dst, x, k); err != nil {
			p.fail(err)
		}
	}
	return err
}

// ask is the one place that a source is asked at.
func (p *problem) ask(dst []float64, x []float32, k []uint8) error {
	p.tally.Add(len(dst))
	return p.source.Evaluate(dst, x, k)
}

// Count implements engine.Counted.
func (p *problem) Count(t *engine.Tally) { p.tally = t }

// asking is how many numbers are computed in the time that another process takes to answer, at least.
const asking = 1 << 14

// Operations implements engine.Counted.
func (p *problem) Operations() int { return p.operations }

// watch notes values until they have been judged.
func (e *evaluation) watch(logPi []float64, x []float32, k []uint8) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.judged {
		return
	}
	for r, v := range logPi {
		if e.seen.states == 0 {
			e.seen.first = program.State(x[r*e.dim:(r+1)*e.dim], lists.Part(k, r, r+1))
		}
		if math.IsInf(v, -1) {
			e.seen.add(values{states: 1})
		} else {
			e.seen.add(values{1, 1, v, v})
		}
	}
}

// all returns what all ranks have seen.
func (s seen) all(workers *pool.Pool) seen {
	n := workers.Size()
	if n == 1 {
		return s
	}
	every := make([]values, n)
	every[workers.Rank()] = s.values
	workers.Gather(n, pool.SpanOf(every, 1))
	sum := seen{first: s.first}
	for _, r := range every {
		sum.add(r)
	}
	if s.states == 0 {
		sum.first = "another rank's"
	}
	return sum
}

// judge looks at the values of the first steps, those of all ranks, and fails the
// target if nothing can be learned from them.
func (p *problem) judge(step uint32, workers *pool.Pool) {
	const steps = 20
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.judged {
		return
	}
	s := p.seen.all(workers)
	switch {
	case p.err != nil:
	case s.finite > 0 && s.low < s.high:
		p.judged = true
	case step < steps:
	case s.finite == 0:
		p.err = fmt.Errorf("%s: ln π is −∞ at each of %d states, the first of them %s; say where it is finite with target.center and target.scale",
			p.key, s.states, s.first)
	default:
		p.err = fmt.Errorf("%s: ln π is %v at each of %d states, the first of them %s, and a constant cannot be normalised; bound the coordinates with target.support",
			p.key, s.low, s.states, s.first)
	}
}

// Level implements vectors.Chart: what is taken off ln π before it is rounded to float32. It is nothing,
// or without modes the value in the middle of where the weight is, if that is so large that rounding
// would show.
func (p *problem) Level() float64 {
	const large = 1 << 12 // float32 numbers are 0.0005 apart there
	if p.modes > 0 {
		return 0
	}
	p.measure.Do(func() {
		middle := make([]float64, 1)
		p.evaluation().logDensity(middle, make([]float32, p.dim), nil)
		if math.Abs(middle[0]) > large && !math.IsInf(middle[0], 0) {
			p.level = middle[0]
		}
	})
	return p.level
}

// A realsTarget is a problem without modes as the kit sees it.
type realsTarget struct{ *evaluation }

// LogDensity implements vectors.Target.
func (t realsTarget) LogDensity(dst, y []float32, k []uint8) {
	level := t.Level()
	for lo := 0; lo < len(dst); lo += blockRows {
		hi := min(lo+blockRows, len(dst))
		wide := t.value[:hi-lo]
		t.logDensity(wide, y[lo*t.dim:hi*t.dim], lists.Part(k, lo, hi))
		for r, v := range wide {
			dst[lo+r] = float32(v - level)
		}
	}
}

// Clone implements vectors.Cloner.
func (t realsTarget) Clone() vectors.Target { return realsTarget{t.problem.evaluation()} }

// A mixedTarget is a problem with modes as the kit sees it.
type mixedTarget struct{ realsTarget }

// Modes implements vectors.Modal.
func (t mixedTarget) Modes() int { return t.modes }

// LogDensity64 implements vectors.Precise.
func (t mixedTarget) LogDensity64(dst []float64, y []float32, k []uint8) { t.logDensity(dst, y, k) }

// Clone implements vectors.Cloner.
func (t mixedTarget) Clone() vectors.Target {
	return mixedTarget{realsTarget{t.problem.evaluation()}}
}

// Place implements vectors.Placed.
func (e *evaluation) Place(int) (center []float64, scale float64) { return make([]float64, e.dim), 1 }
