package density

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/pool"
)

// A kit is reals.System or mixed.System.
type kit interface {
	engine.System
	engine.Initializer
	engine.Stateful
	engine.TensorNamer
	engine.Differentiable
	engine.Sampler
	engine.Converter
	engine.Energetic
	engine.Refiner
	engine.Scorer
	engine.Witnesser
	engine.Foreteller
	engine.Observer
	HasDensity() bool
}

// A system trains a generator of a target of one's own. Its samples are in the target's
// coordinates, what a kit learns in those of the chart.
type system struct {
	kit
	*problem
	workers   *pool.Pool
	names     []string // of the observables in the target's coordinates
	columns   []int    // of the kit's
	reference reference
}

func newSystem(k kit, p *problem, workers *pool.Pool) *system {
	s := &system{kit: k, problem: p, workers: workers}
	for i, name := range k.Observables() {
		own, ok := strings.CutPrefix(name, prefix)
		if ok || name == engine.LogWeight || strings.HasPrefix(name, "mode") {
			s.names, s.columns = append(s.names, own), append(s.columns, i)
		}
	}
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

// volume returns what ln π − ln q of a kit lacks for that of the target's coordinates over
// their volume: the generator learns coordinates in units of their scales, and ln π from a
// level.
func (p *problem) volume() float64 {
	if p.modes > 0 {
		return 0 // modes have volumes of their own, which are in the kit's ln π
	}
	return p.chart.volumes[0] + p.fromLevel()
}

// weighted is the kits' format of samples with their weights.
const weighted = "weighted"

// row returns the bytes of a state that is written.
func (p *problem) row() int {
	if p.modes > 0 {
		return 4*p.dim + 4
	}
	return 4 * p.dim
}

// Sample implements engine.Sampler, in the target's coordinates. Samples that are
// refined are rounded before, as those are that come back to Refine.
func (s *system) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	formats := s.Formats()
	if !slices.ContainsFunc(formats, func(f engine.Format) bool { return f.Name == format }) {
		return fmt.Errorf("format: %q is not one of the samples' formats", format)
	}
	if err := s.Reach(first, uint64(max(n, 0)), refine); err != nil {
		return err
	}
	if row := len(dst) / max(n, 1); format == weighted {
		if err := s.kit.Sample(dst, format, params, first, n, refine); err != nil {
			return err
		}
		s.toTarget(dst, row)
		for at := row - 8; at < len(dst); at += row {
			log := math.Float64frombits(binary.LittleEndian.Uint64(dst[at:]))
			binary.LittleEndian.PutUint64(dst[at:], math.Float64bits(log+s.volume()))
		}
		return nil
	}
	// With the mode, which decides about the coordinates.
	states, whole := make([]byte, n*s.row()), formats[0].Name
	if err := s.kit.Sample(states, whole, params, first, n, 0); err != nil {
		return err
	}
	s.toTarget(states, s.row())
	if err := s.Refine(states, whole, first, refine); err != nil {
		return err
	}
	cut(dst, states, n)
	return nil
}

// cut copies the beginnings of n states.
func cut(dst, states []byte, n int) {
	if n == 0 {
		return
	}
	row, whole := len(dst)/n, len(states)/n
	for r := range n {
		copy(dst[r*row:(r+1)*row], states[r*whole:])
	}
}

// Refine implements engine.Refiner, in the target's coordinates.
func (s *system) Refine(states []byte, format string, first uint64, steps int) error {
	learned, _, err := s.toLearned(states)
	if err == nil {
		err = s.kit.Refine(learned, format, first, steps)
	}
	if err == nil {
		err = s.Err()
	}
	if err != nil || steps == 0 {
		return err
	}
	s.toTarget(learned, s.row())
	copy(states, learned)
	return nil
}

// Energies implements engine.Energetic: E = −ln π + const, and β = 1. The volume of the
// kit's coordinates does not count.
func (s *system) Energies(dst []float64, format string, states []byte) (beta float64, err error) {
	if format == weighted {
		return 0, fmt.Errorf("format: weighted holds more than the states; take states")
	}
	learned, volumes, err := s.toLearned(states)
	if err != nil {
		return 0, err
	}
	if beta, err = s.kit.Energies(dst, format, learned); err == nil {
		err = s.Err()
	}
	if err != nil {
		return 0, err
	}
	var level float64
	if s.modes == 0 && len(dst) > 0 {
		level = s.fromLevel()
	}
	for r := range dst {
		dst[r] += volumes[r] - level
	}
	return beta, nil
}

// of returns coordinate i of a state that is written, and its map. A state longer than
// its coordinates ends with its mode.
func (p *problem) of(state []byte, i int) (m *coordinate, at []byte) {
	mode := 0
	if p.modes > 0 && len(state) > 4*p.dim {
		mode = int(binary.LittleEndian.Uint32(state[4*p.dim:]))
		mode = min(max(mode, 0), p.modes-1) // the kit reports it
	}
	return &p.chart.maps[mode*p.dim+i], state[4*i:]
}

// toTarget replaces y by x in states that are written.
func (p *problem) toTarget(states []byte, row int) {
	if p.chart.plain {
		return
	}
	for ; len(states) >= row; states = states[row:] {
		for i := range p.dim {
			m, at := p.of(states[:row], i)
			x, _ := m.place(float64(math.Float32frombits(binary.LittleEndian.Uint32(at))))
			binary.LittleEndian.PutUint32(at, math.Float32bits(float32(x)))
		}
	}
}

// toLearned returns the y of states that are written, and what their volume adds to
// ln π.
func (p *problem) toLearned(states []byte) (learned []byte, volumes []float64, err error) {
	row := p.row()
	learned, volumes = slices.Clone(states), make([]float64, len(states)/row)
	for r := range volumes {
		state := learned[r*row : (r+1)*row]
		for i := range p.dim {
			m, at := p.of(state, i)
			x := math.Float32frombits(binary.LittleEndian.Uint32(at))
			y := m.invert(float64(x))
			if math.IsNaN(y) && x == x {
				return nil, nil, fmt.Errorf("states: coordinate %d of state %d is %v, outside the target's support", i, r, x)
			}
			_, slope := m.place(float64(float32(y)))
			volumes[r] += slope
			if p.modes > 0 {
				volumes[r] += math.Log(m.scale)
			}
			binary.LittleEndian.PutUint32(at, math.Float32bits(float32(y)))
		}
	}
	return learned, volumes, nil
}

// Observables implements engine.Observer, in the target's coordinates.
func (s *system) Observables() []string { return s.names }

// Walk implements engine.Observer.
func (s *system) Walk(params []float32, first uint64, n int) (engine.Walk, error) {
	w, err := s.kit.Walk(params, first, n)
	if err != nil {
		return nil, err
	}
	return &walk{w, s, n}, s.Err()
}

// Chains implements engine.Observer.
func (s *system) Chains(params []float32, n int) (engine.Walk, error) {
	w, err := s.kit.Chains(params, n)
	if err != nil {
		return nil, err
	}
	return &walk{w, s, n}, s.Err()
}

// A walk is a kit's, of whose observables only the target's are kept.
type walk struct {
	engine.Walk
	s *system
	n int
}

// Observe implements engine.Walk.
func (w *walk) Observe(values []float64) {
	all := w.room()
	w.Walk.Observe(all)
	w.keep(values, all, true)
}

// ObserveUnweighted implements engine.UnweightedWalk.
func (w *walk) ObserveUnweighted(values []float64) {
	all := w.room()
	if u, ok := w.Walk.(engine.UnweightedWalk); ok {
		u.ObserveUnweighted(all)
	} else {
		w.Walk.Observe(all)
	}
	w.keep(values, all, false)
}

// Own implements engine.SharedWalk, if the kit's walk does.
func (w *walk) Own() (lo, hi int) {
	if shared, ok := w.Walk.(engine.SharedWalk); ok {
		return shared.Own()
	}
	return 0, w.n
}

// Coordinates implements engine.VectorWalk, in the target's.
func (w *walk) Coordinates() []float32 {
	if w.s.chart.plain {
		return w.Walk.(engine.VectorWalk).Coordinates()
	}
	states, x := make([]byte, w.n*w.s.row()), make([]float32, 0, w.n*w.s.dim)
	if err := w.States(states, w.s.Formats()[0].Name); err != nil {
		panic(err) // which the first of the formats cannot be
	}
	for ; len(states) > 0; states = states[w.s.row():] {
		for i := range w.s.dim {
			x = append(x, math.Float32frombits(binary.LittleEndian.Uint32(states[4*i:])))
		}
	}
	return x
}

// Shape implements engine.VectorWalk.
func (w *walk) Shape(first uint64) { w.Walk.(engine.VectorWalk).Shape(first) }

func (w *walk) room() []float64 { return make([]float64, w.n*len(w.s.kit.Observables())) }

// keep takes the target's columns, with or without that of the weights.
func (w *walk) keep(values, all []float64, weighted bool) {
	width := len(w.s.kit.Observables())
	for i, column := range w.s.columns {
		if !weighted && w.s.names[i] == engine.LogWeight {
			continue
		}
		for r := range w.n {
			values[r*len(w.s.columns)+i] = all[r*width+column]
			if w.s.names[i] == engine.LogWeight {
				values[r*len(w.s.columns)+i] += w.s.volume()
			}
		}
	}
}

// States implements engine.StateWalk, in the target's coordinates.
func (w *walk) States(dst []byte, format string) error {
	formats := w.s.Formats()
	if !slices.ContainsFunc(formats, func(f engine.Format) bool { return f.Name == format && !f.Unrefined }) {
		return fmt.Errorf("format: %q is not one of chains' states", format)
	}
	whole := formats[0] // with the mode, which decides about the coordinates
	states := make([]byte, w.n*whole.RowBytes)
	if err := w.Walk.(engine.StateWalk).States(states, whole.Name); err != nil {
		return err
	}
	w.s.toTarget(states, whole.RowBytes)
	cut(dst, states, w.n)
	return nil
}

// Witness implements engine.Witnesser, of states in the target's coordinates.
func (s *system) Witness(ctx context.Context, params []float32, fit int) (func(values []float64, format string, states []byte) error, error) {
	of, err := s.kit.Witness(ctx, params, fit)
	if err == nil {
		err = s.Err()
	}
	if of == nil || err != nil {
		return nil, err
	}
	return func(values []float64, format string, states []byte) error {
		if format == weighted || len(states) != s.row()*len(values) {
			return fmt.Errorf("states: %d bytes in format %s are not those of %d states", len(states), format, len(values))
		}
		learned, _, err := s.toLearned(states)
		if err != nil {
			return err
		}
		return of(values, format, learned)
	}, nil
}

// Score implements engine.Scorer.
func (s *system) Score(values []float64, params []float32, format string, states []byte) error {
	names, width, row := s.names, len(s.kit.Observables()), s.row()
	if format == weighted || len(states)%row != 0 || len(states)/row*len(names) != len(values) {
		return fmt.Errorf("states: %d bytes in format %s are not those of %d values of %d each", len(states), format, len(values), len(names))
	}
	learned, _, err := s.toLearned(states)
	if err != nil {
		return err
	}
	all := make([]float64, len(states)/row*width)
	if err := s.kit.Score(all, params, format, learned); err != nil {
		return err
	}
	if err := s.Err(); err != nil {
		return err
	}
	lacks := s.volume()
	for r := range len(states) / row {
		for i, column := range s.columns {
			v := all[r*width+column]
			if names[i] == engine.LogWeight {
				v += lacks
			}
			values[r*len(names)+i] = v
		}
	}
	return nil
}

var (
	_ engine.StateWalk   = (*walk)(nil)
	_ engine.VectorWalk  = (*walk)(nil)
	_ engine.Evaluator   = (*system)(nil)
	_ engine.Illustrator = (*system)(nil)
	_ engine.Fallible    = (*system)(nil)
	_ kit                = (*system)(nil)
)
