package density

import (
	"fmt"
	"math"
	"runtime"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

// A kit is reals.System or mixed.System.
type kit interface {
	engine.System
	engine.Initializer
	engine.TensorNamer
	engine.Differentiable
	engine.Sampler
	engine.Scorer
	chains.Observer
	HasDensity() bool
}

// A system trains a generator of a target of one's own. Its samples are in the target's
// coordinates, what a kit learns in those of the chart.
type system struct {
	kit
	*problem
	workers   *pool.Pool
	names     []string // of the observables
	reference reference
}

func newSystem(k kit, e *vectors.Ensemble, p *problem, workers *pool.Pool) *system {
	e.Chart = p
	s := &system{kit: k, problem: p, workers: workers, names: k.Observables()}
	release(s, p)
	return s
}

// release ends the processes of a system that is forgotten without Close.
func release[T any](system *T, p *problem) {
	if p.program != nil {
		runtime.AddCleanup(system, func(p *problem) { _ = p.Close() }, p)
	}
}

// Transition draws s′_i ~ p^m(s_i, ·), and looks at the first values of ln π.
func (s *system) Transition(step uint32) {
	s.kit.Transition(step)
	s.judge(step, s.workers)
}

// State implements engine.Stateful.
func (s *system) State() []engine.Section { return state.Of(s.kit) }

// Volume implements vectors.Chart: the generator learns coordinates in units of their
// scales, and ln π from a level.
func (p *problem) Volume() float64 {
	if p.modes > 0 {
		return 0 // modes have volumes of their own, which are in the kit's ln π
	}
	return p.chart.volumes[0] + p.fromLevel()
}

// Show implements vectors.Chart.
func (p *problem) Show(s vectors.States) {
	if p.chart.plain {
		return
	}
	for r := range s.Len() {
		for i, m := range p.chart.of(s.K, r) {
			x, _ := m.place(float64(s.X[r*p.dim+i]))
			s.X[r*p.dim+i] = float32(x)
		}
	}
}

// Learn implements vectors.Chart. What the volume of the coordinates that are learned adds
// to ln π does not count as energy.
func (p *problem) Learn(s vectors.States) (energies []float64, err error) {
	energies = make([]float64, s.Len())
	for r := range energies {
		for i, m := range p.chart.of(s.K, r) {
			x := s.X[r*p.dim+i]
			y := float32(m.invert(float64(x)))
			if y-y != 0 {
				return nil, fmt.Errorf("states: coordinate %d of state %d is %v, outside the target's support", i, r, x)
			}
			_, slope := m.place(float64(y))
			energies[r] += slope
			if p.modes > 0 {
				energies[r] += math.Log(m.scale)
			}
			s.X[r*p.dim+i] = y
		}
	}
	return energies, nil
}

// Level implements vectors.Chart.
func (p *problem) Level() float64 {
	if p.modes > 0 {
		return 0
	}
	return p.fromLevel()
}

var (
	_ engine.Evaluator   = (*system)(nil)
	_ engine.Illustrator = (*system)(nil)
	_ engine.Fallible    = (*system)(nil)
	_ kit                = (*system)(nil)
)
