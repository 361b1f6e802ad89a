package density

import (
	"runtime"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/pool"
)

// A system trains a generator of a target of one's own. Its samples are in the target's
// coordinates. The kit learns in the coordinates of the chart.
type system struct {
	*vectors.System
	*problem
	names       []string   // of the observables
	independent *reference // chains that do not depend on the generator, nil until they have run
	frugal      bool       // ln π is evaluated seldom, since each evaluation is another program's work

	// The last table.
	reference *reference
	params    []float32 // of the generator
	values    []float64 // observables of its samples, [samples][names]
}

func newSystem(c vectors.Configuration, t vectors.Target, p *problem, workers *pool.Pool) *system {
	k := vectors.New(c, t, workers)
	k.Chart = p
	s := &system{System: k, problem: p, names: k.Observables()}
	if p.program != nil { // its processes also end with a system that nobody has closed
		runtime.AddCleanup(s, func(p *problem) { _ = p.Close() }, p)
	}
	return s
}

// Probe implements engine.Prober.
func (p *problem) Probe() ([]float64, error) {
	const states = 64
	if p.program == nil {
		return nil, nil
	}
	y, k := p.states(states, rng.ChainStart, 1<<31)
	x, answers := make([]float32, len(y)), make([]float64, states)
	p.chart.toTarget(x, make([]float64, states), y, k)
	return answers, p.evaluate(answers, x, k)
}

// Key implements engine.Prober.
func (p *problem) Key() string { return p.key }

// Volume implements vectors.Chart. It undoes two offsets of ln π: coordinates are learned in
// units of their scales, and Level is subtracted.
func (p *problem) Volume() float64 {
	if p.modes > 0 {
		return 0 // the kit's ln π includes the volume of each mode
	}
	return p.chart.volumes[0] + p.Level()
}

// Judge implements vectors.Chart.
func (p *problem) Judge(step uint32, workers *pool.Pool) error {
	p.judgeValues(step, workers)
	return engine.Agree(workers, p.Err())
}

var (
	_ engine.Evaluator   = (*system)(nil)
	_ engine.Illustrator = (*system)(nil)
	_ engine.Fallible    = (*system)(nil)
	_ engine.Prober      = (*system)(nil)
	_ engine.Counted     = (*system)(nil)
)
