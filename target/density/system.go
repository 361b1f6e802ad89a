package density

import (
	"runtime"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/pool"
)

// A system trains a generator of a target of one's own. Its samples are in the target's
// coordinates, what the kit learns in those of the chart.
type system struct {
	*vectors.System
	*problem
	names     []string   // of the observables
	long      *reference // of chains that owe nothing to the generator, once they have been run
	reference *reference // of the last table
	params    []float32  // of the generator that it was of
	values    []float64  // of its samples' observables, [samples][names]
	spare     bool       // evaluations are spared, each of which is another program's work
}

func newSystem(c vectors.Configuration, t vectors.Target, p *problem, workers *pool.Pool) *system {
	k := vectors.New(c, t, workers)
	k.Chart = p
	s := &system{System: k, problem: p, names: k.Observables()}
	if p.program != nil { // whose processes end with a system that is forgotten without Close
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
	p.chart.place(x, make([]float64, states), y, k)
	return answers, p.evaluate(answers, x, k)
}

// Named implements engine.Prober.
func (p *problem) Named() string { return p.key }

// Volume implements vectors.Chart: the generator learns coordinates in units of their
// scales, and ln π from a level.
func (p *problem) Volume() float64 {
	if p.modes > 0 {
		return 0 // modes have volumes of their own, which are in the kit's ln π
	}
	return p.chart.volumes[0] + p.Level()
}

// Judge implements vectors.Chart.
func (p *problem) Judge(step uint32, workers *pool.Pool) error {
	p.judge(step, workers)
	return engine.Agree(workers, p.Err())
}

var (
	_ engine.Evaluator   = (*system)(nil)
	_ engine.Illustrator = (*system)(nil)
	_ engine.Fallible    = (*system)(nil)
	_ engine.Prober      = (*system)(nil)
	_ engine.Counted     = (*system)(nil)
)
