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

// evaluators are a source that lends each caller an evaluator; there is one for each thread.
type evaluators chan evaluator

func newEvaluators(threads int, newEvaluator func() evaluator) evaluators {
	l := make(evaluators, threads)
	for range threads {
		l <- newEvaluator()
	}
	return l
}

// Evaluate implements source.
func (l evaluators) Evaluate(dst []float64, x []float32, k []uint8) error {
	evaluate := <-l
	defer func() { l <- evaluate }()
	evaluate(dst, x, k)
	return nil
}

// A problem is a target in the coordinates in which it is learned. All threads share it.
type problem struct {
	config     *TargetConfig
	dim, modes int    // 0 modes for real vectors
	key        string // of the configuration, with which errors of the target begin
	chart      *chart
	source     source
	operations int              // of an evaluation
	tally      *engine.Tally    // of evaluations
	program    *program.Workers // the source, nil unless that is a program

	levelOnce sync.Once
	level     float64 // of ln π, see Level

	mutex       sync.Mutex
	err         error
	firstValues firstValues
	learnable   bool // the first values show that there is something to learn
}

// firstValues are ln π at the states of the first steps.
type firstValues struct {
	valueRange
	firstState string // the first of the states, for a message
}

// A valueRange counts values of ln π, and bounds those that are finite.
type valueRange struct {
	states, finite int     // number of values, and of finite values
	low, high      float64 // least and largest finite value
}

func (s *valueRange) add(other valueRange) {
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

// blockRows is how many states are evaluated in one call at most.
const blockRows = 256

// An evaluation is a problem with the buffers of one thread.
type evaluation struct {
	*problem
	x      []float32 // states in the target's coordinates, [blockRows][dim]
	volume []float64 // ln |∂x/∂y|, [blockRows]
	logPi  []float64 // of realsTarget, [blockRows]
}

func (p *problem) evaluation() *evaluation {
	return &evaluation{p, make([]float32, blockRows*p.dim), make([]float64, blockRows), make([]float64, blockRows)}
}

// Dim returns the number of coordinates of a state.
func (e *evaluation) Dim() int { return e.dim }

// logDensity sets dst to ln π of the states y, as a density with respect to y. A value of NaN
// or +∞ is a failure of the target, after which the density vanishes everywhere.
func (e *evaluation) logDensity(dst []float64, y []float32, k []uint8) {
	for lo := 0; lo < len(dst); lo += blockRows {
		hi := min(lo+blockRows, len(dst))
		e.logDensityBlock(dst[lo:hi], y[lo*e.dim:hi*e.dim], lists.Part(k, lo, hi))
	}
}

func (e *evaluation) logDensityBlock(dst []float64, y []float32, k []uint8) {
	x := e.x[:len(y)]
	e.chart.toTarget(x, e.volume[:len(dst)], y, k)
	err := e.evaluate(dst, x, k)
	for r, v := range dst {
		state := x[r*e.dim : (r+1)*e.dim]
		switch {
		case err != nil || !asm.AllFinite(state):
			v = math.Inf(-1) // an infinite state is beyond float32, which is not the target's fault
		case !(v < math.Inf(1)):
			err = fmt.Errorf("%s: ln π is %v at %s; return −∞ where the density is zero, or bound the coordinates with target.support", e.key, v, program.State(state, lists.Part(k, r, r+1)))
			e.fail(err)
			v = math.Inf(-1)
		default:
			v += e.volume[r]
		}
		dst[r] = v
	}
	e.recordFirstValues(dst, x, k)
}

// evaluate evaluates the source, unless the target has failed.
func (p *problem) evaluate(dst []float64, x []float32, k []uint8) error {
	err := p.Err()
	if err == nil {
		if err = p.evaluateSource(dst, x, k); err != nil {
			p.fail(err)
		}
	}
	return err
}

// evaluateSource evaluates ln π of len(dst) states and counts them. Nothing else calls the source.
func (p *problem) evaluateSource(dst []float64, x []float32, k []uint8) error {
	p.tally.Add(len(dst))
	return p.source.Evaluate(dst, x, k)
}

// Count implements engine.Counted.
func (p *problem) Count(t *engine.Tally) { p.tally = t }

// programOperations is how many numbers are computed in the time that another process takes to
// answer, at least.
const programOperations = 1 << 14

// Operations implements engine.Counted.
func (p *problem) Operations() int { return p.operations }

// recordFirstValues records values until judgeValues has seen that the target is learnable.
func (e *evaluation) recordFirstValues(logPi []float64, x []float32, k []uint8) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.learnable {
		return
	}
	for r, v := range logPi {
		if e.firstValues.states == 0 {
			e.firstValues.firstState = program.State(x[r*e.dim:(r+1)*e.dim], lists.Part(k, r, r+1))
		}
		if math.IsInf(v, -1) {
			e.firstValues.add(valueRange{states: 1})
		} else {
			e.firstValues.add(valueRange{1, 1, v, v})
		}
	}
}

// ofAllRanks returns the first values of all ranks together.
func (s firstValues) ofAllRanks(workers *pool.Pool) firstValues {
	n := workers.Size()
	if n == 1 {
		return s
	}
	perRank := make([]valueRange, n)
	perRank[workers.Rank()] = s.valueRange
	workers.Gather(n, pool.SpanOf(perRank, 1))
	sum := firstValues{firstState: s.firstState}
	for _, r := range perRank {
		sum.add(r)
	}
	if s.states == 0 {
		sum.firstState = "another rank's"
	}
	return sum
}

// judgeValues fails the target if nothing can be learned from the values of the first steps on
// all ranks: if none is finite, or all finite ones are equal after patience steps.
func (p *problem) judgeValues(step uint32, workers *pool.Pool) {
	const patience = 20 // steps
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.learnable {
		return
	}
	s := p.firstValues.ofAllRanks(workers)
	switch {
	case p.err != nil:
	case s.finite > 0 && s.low < s.high:
		p.learnable = true
	case step < patience:
	case s.finite == 0:
		p.err = fmt.Errorf("%s: ln π is −∞ at each of %d states, the first of them %s; say where it is finite with target.center and target.scale",
			p.key, s.states, s.firstState)
	default:
		p.err = fmt.Errorf("%s: ln π is %v at each of %d states, the first of them %s, and a constant cannot be normalised; bound the coordinates with target.support",
			p.key, s.low, s.states, s.firstState)
	}
}

// Level implements vectors.Chart. It is subtracted from ln π before the kit rounds ln π of vectors to
// float32: the value at y = 0, if that is so large that rounding would show, and 0 otherwise. With
// modes the kit keeps float64, and the level is 0.
func (p *problem) Level() float64 {
	const exactRange = 1 << 12 // float32 numbers are 0.0005 apart at its end
	if p.modes > 0 {
		return 0
	}
	p.levelOnce.Do(func() {
		middle := make([]float64, 1)
		p.evaluation().logDensity(middle, make([]float32, p.dim), nil)
		if math.Abs(middle[0]) > exactRange && !math.IsInf(middle[0], 0) {
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
		logPi := t.logPi[:hi-lo]
		t.logDensity(logPi, y[lo*t.dim:hi*t.dim], lists.Part(k, lo, hi))
		for r, v := range logPi {
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
