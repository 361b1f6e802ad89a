package density

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mixed"
	"github.com/revgen/revgen/engine/reals"
	"github.com/revgen/revgen/internal/pool"
)

// A realsSystem trains a generator of a target over real vectors.
type realsSystem struct {
	*reals.System
	*problem
	*observer
}

func newRealsSystem(c *RealsConfig, workers *pool.Pool) (*realsSystem, error) {
	p, err := c.problem(workers.Threads())
	if err != nil {
		return nil, err
	}
	kit, err := reals.New(&c.Config, realsTarget{p.evaluation()}, workers)
	if err != nil {
		return nil, err
	}
	s := &realsSystem{kit, p, newObserver(kit, p)}
	release(s, p)
	return s, nil
}

// A mixedSystem trains a generator of a target over a mode beside a vector.
type mixedSystem struct {
	*mixed.System
	*problem
	*observer
}

func newMixedSystem(c *MixedConfig, workers *pool.Pool) (*mixedSystem, error) {
	p, err := c.problem(workers.Threads())
	if err != nil {
		return nil, err
	}
	kit, err := mixed.New(&c.Config, mixedTarget{p.evaluation()}, workers)
	if err != nil {
		return nil, err
	}
	s := &mixedSystem{kit, p, newObserver(kit, p)}
	release(s, p)
	return s, nil
}

// release ends the processes of a system that is forgotten without Close.
func release[T any](system *T, p *problem) {
	if p.program != nil {
		runtime.AddCleanup(system, func(p *problem) { _ = p.Close() }, p)
	}
}

// Transition draws s′_i ~ p^m(s_i, ·), and looks at the first values of ln π.
func (s *realsSystem) Transition(step uint32) {
	s.System.Transition(step)
	s.judge(step)
}

// Transition draws s′_i ~ p^m(s_i, ·), and looks at the first values of ln π.
func (s *mixedSystem) Transition(step uint32) {
	s.System.Transition(step)
	s.judge(step)
}

// Sample implements engine.Sampler, in the target's coordinates.
func (s *realsSystem) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	if err := s.System.Sample(dst, format, params, first, n, refine); err != nil {
		return err
	}
	if err := s.Err(); err != nil {
		return err
	}
	for r := range n {
		s.toTarget(dst[4*s.dim*r:], 0)
	}
	return nil
}

// Sample implements engine.Sampler, in the target's coordinates.
func (s *mixedSystem) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	formats := s.Formats()
	if !slices.ContainsFunc(formats, func(f engine.Format) bool { return f.Name == format }) {
		return fmt.Errorf("format: %q is not states or x", format)
	}
	if err := s.Reach(first, uint64(max(n, 0)), refine); err != nil {
		return err
	}
	whole := formats[0] // with the mode, which decides about the coordinates
	states := make([]byte, n*whole.RowBytes)
	if err := s.System.Sample(states, whole.Name, params, first, n, refine); err != nil {
		return err
	}
	if err := s.Err(); err != nil {
		return err
	}
	row := len(dst) / max(n, 1)
	for r := range n {
		state := states[r*whole.RowBytes:][:whole.RowBytes]
		s.toTarget(state, int(binary.LittleEndian.Uint32(state[4*s.dim:])))
		copy(dst[r*row:(r+1)*row], state)
	}
	return nil
}

// toTarget replaces y by x in a state that is written.
func (p *problem) toTarget(state []byte, mode int) {
	if p.chart.plain {
		return
	}
	for i := range p.dim {
		y := math.Float32frombits(binary.LittleEndian.Uint32(state[4*i:]))
		x, _ := p.chart.maps[mode*p.dim+i].place(float64(y))
		binary.LittleEndian.PutUint32(state[4*i:], math.Float32bits(float32(x)))
	}
}

// LogDensity sets dst[r] = ln q(x_r), the exact density of the generator with
// parameters params, for the states x, row-major [len(dst)][dim].
func (s *realsSystem) LogDensity(dst []float64, params, x []float32) error {
	if len(x) != len(dst)*s.dim {
		return fmt.Errorf("%d numbers are not %d states of %d coordinates", len(x), len(dst), s.dim)
	}
	y, volume := make([]float32, len(x)), make([]float64, len(dst))
	for i, v := range x {
		m := &s.chart.maps[i%s.dim]
		u := m.invert(float64(v))
		y[i] = float32(u)
		_, slope := m.place(u)
		volume[i/s.dim] += slope + math.Log(m.scale)
	}
	if err := s.System.LogDensity(dst, params, y); err != nil {
		return err
	}
	for r := range dst {
		dst[r] -= volume[r]
	}
	return nil
}

// Observables, Walk and Chains are those of the observer, whose states are in the
// target's coordinates.
func (s *realsSystem) Observables() []string { return s.observer.Observables() }

// Walk implements engine.Observer.
func (s *realsSystem) Walk(params []float32, first uint64, n int) (engine.Walk, error) {
	return s.observer.Walk(params, first, n)
}

// Chains implements engine.Observer.
func (s *realsSystem) Chains(params []float32, n int) (engine.Walk, error) {
	return s.observer.Chains(params, n)
}

// Observables implements engine.Observer.
func (s *mixedSystem) Observables() []string { return s.observer.Observables() }

// Walk implements engine.Observer.
func (s *mixedSystem) Walk(params []float32, first uint64, n int) (engine.Walk, error) {
	return s.observer.Walk(params, first, n)
}

// Chains implements engine.Observer.
func (s *mixedSystem) Chains(params []float32, n int) (engine.Walk, error) {
	return s.observer.Chains(params, n)
}

// An observer is what a kit observes, in the target's coordinates.
type observer struct {
	kit     engine.Observer
	problem *problem
	names   []string
	columns []int // of the kit's observables
	reference
}

func newObserver(kit engine.Observer, p *problem) *observer {
	o := &observer{kit: kit, problem: p}
	for i, name := range kit.Observables() {
		own, ok := strings.CutPrefix(name, prefix)
		if ok || name == engine.LogWeight || strings.HasPrefix(name, "mode") {
			o.names, o.columns = append(o.names, own), append(o.columns, i)
		}
	}
	return o
}

// Observables implements engine.Observer.
func (o *observer) Observables() []string { return o.names }

// Walk implements engine.Observer.
func (o *observer) Walk(params []float32, first uint64, n int) (engine.Walk, error) {
	w, err := o.kit.Walk(params, first, n)
	if err != nil {
		return nil, err
	}
	return &walk{w, o, n}, o.problem.Err()
}

// Chains implements engine.Observer.
func (o *observer) Chains(params []float32, n int) (engine.Walk, error) {
	w, err := o.kit.Chains(params, n)
	if err != nil {
		return nil, err
	}
	return &walk{w, o, n}, o.problem.Err()
}

// A walk is a kit's, of whose observables only the target's are kept.
type walk struct {
	engine.Walk
	o *observer
	n int
}

// Observe implements engine.Walk.
func (w *walk) Observe(values []float64) {
	width := len(w.o.kit.Observables())
	all := make([]float64, w.n*width)
	w.Walk.Observe(all)
	for r := range w.n {
		for i, column := range w.o.columns {
			values[r*len(w.o.columns)+i] = all[r*width+column]
		}
	}
}

var (
	_ engine.System      = (*realsSystem)(nil)
	_ engine.Sampler     = (*realsSystem)(nil)
	_ engine.Evaluator   = (*realsSystem)(nil)
	_ engine.Illustrator = (*realsSystem)(nil)
	_ engine.Observer    = (*realsSystem)(nil)
	_ engine.Fallible    = (*realsSystem)(nil)
	_ engine.System      = (*mixedSystem)(nil)
	_ engine.Sampler     = (*mixedSystem)(nil)
	_ engine.Evaluator   = (*mixedSystem)(nil)
	_ engine.Illustrator = (*mixedSystem)(nil)
	_ engine.Observer    = (*mixedSystem)(nil)
	_ engine.Fallible    = (*mixedSystem)(nil)
)
