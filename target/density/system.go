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
	"github.com/revgen/revgen/engine/mixed"
	"github.com/revgen/revgen/engine/reals"
	"github.com/revgen/revgen/internal/pool"
)

// A realsSystem trains a generator of a target over real vectors.
type realsSystem struct {
	*reals.System
	*problem
	*observer
	workers *pool.Pool
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
	s := &realsSystem{kit, p, newObserver(kit, p), workers}
	release(s, p)
	return s, nil
}

// A mixedSystem trains a generator of a target over a mode beside a vector.
type mixedSystem struct {
	*mixed.System
	*problem
	*observer
	workers *pool.Pool
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
	s := &mixedSystem{kit, p, newObserver(kit, p), workers}
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
	s.judge(step, s.workers)
}

// Transition draws s′_i ~ p^m(s_i, ·), and looks at the first values of ln π.
func (s *mixedSystem) Transition(step uint32) {
	s.System.Transition(step)
	s.judge(step, s.workers)
}

// volume returns what the weights of a kit lack for those of the target's coordinates.
func (p *problem) volume() float64 {
	if p.modes > 0 {
		return 0 // modes have volumes of their own, which are in the kit's ln π
	}
	return p.chart.volumes[0]
}

// weighted is the kits' format of samples with their weights.
const weighted = "weighted"

// Sample implements engine.Sampler, in the target's coordinates. Samples that are
// refined are rounded before, as those are that come back to Refine.
func (s *realsSystem) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	if err := s.Reach(first, uint64(max(n, 0)), refine); err != nil {
		return err
	}
	if row := len(dst) / max(n, 1); format == weighted && s.HasDensity() {
		if err := s.System.Sample(dst, format, params, first, n, refine); err != nil {
			return err
		}
		s.toTarget(dst, row)
		for at := row - 8; at < len(dst); at += row {
			log := math.Float64frombits(binary.LittleEndian.Uint64(dst[at:]))
			binary.LittleEndian.PutUint64(dst[at:], math.Float64bits(log+s.volume()))
		}
		return nil
	}
	if err := s.System.Sample(dst, format, params, first, n, 0); err != nil {
		return err
	}
	s.toTarget(dst, 4*s.dim)
	return s.Refine(dst, format, first, refine)
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
	if row := len(dst) / max(n, 1); format == weighted {
		if err := s.System.Sample(dst, format, params, first, n, refine); err != nil {
			return err
		}
		s.toTarget(dst, row)
		return nil
	}
	whole := formats[0] // with the mode, which decides about the coordinates
	states := make([]byte, n*whole.RowBytes)
	if err := s.System.Sample(states, whole.Name, params, first, n, 0); err != nil {
		return err
	}
	s.toTarget(states, whole.RowBytes)
	if err := s.Refine(states, whole.Name, first, refine); err != nil {
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
func (s *realsSystem) Refine(states []byte, format string, first uint64, steps int) error {
	return s.refine(s.System, 4*s.dim, states, format, first, steps)
}

// Refine implements engine.Refiner, in the target's coordinates.
func (s *mixedSystem) Refine(states []byte, format string, first uint64, steps int) error {
	return s.refine(s.System, 4*s.dim+4, states, format, first, steps)
}

// Energies implements engine.Weigher: E = −ln π + const, and β = 1.
func (s *realsSystem) Energies(dst []float64, format string, states []byte) (beta float64, err error) {
	return s.energies(s.System, 4*s.dim, dst, format, states)
}

// Energies implements engine.Weigher: E = −ln π + const, and β = 1.
func (s *mixedSystem) Energies(dst []float64, format string, states []byte) (beta float64, err error) {
	return s.energies(s.System, 4*s.dim+4, dst, format, states)
}

// refine lets a kit refine states that are written in rows of so many bytes.
func (p *problem) refine(kit engine.Refiner, row int, states []byte, format string, first uint64, steps int) error {
	learned, _, err := p.toLearned(states, row)
	if err == nil {
		err = kit.Refine(learned, format, first, steps)
	}
	if err == nil {
		err = p.Err()
	}
	if err != nil || steps == 0 {
		return err
	}
	p.toTarget(learned, row)
	copy(states, learned)
	return nil
}

// energies lets a kit weigh states, whose volume does not count.
func (p *problem) energies(kit engine.Weigher, row int, dst []float64, format string, states []byte) (beta float64, err error) {
	if format == weighted {
		return 0, fmt.Errorf("format: weighted holds more than the states; take states")
	}
	learned, volumes, err := p.toLearned(states, row)
	if err != nil {
		return 0, err
	}
	if beta, err = kit.Energies(dst, format, learned); err == nil {
		err = p.Err()
	}
	if err != nil {
		return 0, err
	}
	for r := range dst {
		dst[r] += volumes[r]
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
func (p *problem) toLearned(states []byte, row int) (learned []byte, volumes []float64, err error) {
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

func (w *walk) room() []float64 { return make([]float64, w.n*len(w.o.kit.Observables())) }

// keep takes the target's columns, with or without that of the weights.
func (w *walk) keep(values, all []float64, weighted bool) {
	width := len(w.o.kit.Observables())
	for i, column := range w.o.columns {
		if !weighted && w.o.names[i] == engine.LogWeight {
			continue
		}
		for r := range w.n {
			values[r*len(w.o.columns)+i] = all[r*width+column]
			if w.o.names[i] == engine.LogWeight {
				values[r*len(w.o.columns)+i] += w.o.problem.volume()
			}
		}
	}
}

// States implements engine.StateWalk, in the target's coordinates.
func (w *walk) States(dst []byte, format string) error {
	formats := w.o.kit.(engine.Sampler).Formats()
	if !slices.ContainsFunc(formats, func(f engine.Format) bool { return f.Name == format && !f.Unrefined }) {
		return fmt.Errorf("format: %q is not one of chains' states", format)
	}
	whole := formats[0] // with the mode, which decides about the coordinates
	states := make([]byte, w.n*whole.RowBytes)
	if err := w.Walk.(engine.StateWalk).States(states, whole.Name); err != nil {
		return err
	}
	w.o.problem.toTarget(states, whole.RowBytes)
	cut(dst, states, w.n)
	return nil
}

// Witness implements engine.Witnesser, of states in the target's coordinates.
func (s *realsSystem) Witness(ctx context.Context, params []float32, fit int) (func(values []float64, format string, states []byte) error, error) {
	return s.witness(ctx, s.System, 4*s.dim, params, fit)
}

// Witness implements engine.Witnesser, of states in the target's coordinates.
func (s *mixedSystem) Witness(ctx context.Context, params []float32, fit int) (func(values []float64, format string, states []byte) error, error) {
	return s.witness(ctx, s.System, 4*s.dim+4, params, fit)
}

// witness lets a kit fit its witness to states in rows of so many bytes.
func (p *problem) witness(ctx context.Context, kit engine.Witnesser, row int, params []float32, fit int) (func(values []float64, format string, states []byte) error, error) {
	of, err := kit.Witness(ctx, params, fit)
	if err == nil {
		err = p.Err()
	}
	if of == nil || err != nil {
		return nil, err
	}
	return func(values []float64, format string, states []byte) error {
		if format == weighted || len(states) != row*len(values) {
			return fmt.Errorf("states: %d bytes in format %s are not those of %d states", len(states), format, len(values))
		}
		learned, _, err := p.toLearned(states, row)
		if err != nil {
			return err
		}
		return of(values, format, learned)
	}, nil
}

// Score implements engine.Scorer.
func (s *realsSystem) Score(values []float64, params []float32, format string, states []byte) error {
	// The coordinates that the generator learns are in units of their scales, which
	// the kit's densities leave out: of a mode, they count in both.
	var volume float64
	for i := range s.dim {
		volume += math.Log(s.chart.maps[i].scale)
	}
	return s.score(s.System, s.problem, volume, 4*s.dim, values, params, format, states)
}

// Score implements engine.Scorer.
func (s *mixedSystem) Score(values []float64, params []float32, format string, states []byte) error {
	return s.score(s.System, s.problem, 0, 4*s.dim+4, values, params, format, states)
}

// score lets a kit score states in rows of so many bytes. Its densities lack a volume.
func (o *observer) score(kit engine.Scorer, p *problem, volume float64, row int, values []float64, params []float32, format string, states []byte) error {
	names, width := o.names, len(o.kit.Observables())
	if format == weighted || len(states)%row != 0 || len(states)/row*len(names) != len(values) {
		return fmt.Errorf("states: %d bytes in format %s are not those of %d values of %d each", len(states), format, len(values), len(names))
	}
	learned, _, err := p.toLearned(states, row)
	if err != nil {
		return err
	}
	all := make([]float64, len(states)/row*width)
	if err := kit.Score(all, params, format, learned); err != nil {
		return err
	}
	if err := p.Err(); err != nil {
		return err
	}
	for r := range len(states) / row {
		for i, column := range o.columns {
			v := all[r*width+column]
			if names[i] == engine.LogWeight {
				v += volume
			}
			values[r*len(names)+i] = v
		}
	}
	return nil
}

var (
	_ engine.StateWalk   = (*walk)(nil)
	_ engine.System      = (*realsSystem)(nil)
	_ engine.Sampler     = (*realsSystem)(nil)
	_ engine.Refiner     = (*realsSystem)(nil)
	_ engine.Scorer      = (*realsSystem)(nil)
	_ engine.Witnesser   = (*realsSystem)(nil)
	_ engine.Evaluator   = (*realsSystem)(nil)
	_ engine.Illustrator = (*realsSystem)(nil)
	_ engine.Observer    = (*realsSystem)(nil)
	_ engine.Fallible    = (*realsSystem)(nil)
	_ engine.System      = (*mixedSystem)(nil)
	_ engine.Sampler     = (*mixedSystem)(nil)
	_ engine.Refiner     = (*mixedSystem)(nil)
	_ engine.Scorer      = (*mixedSystem)(nil)
	_ engine.Witnesser   = (*mixedSystem)(nil)
	_ engine.Evaluator   = (*mixedSystem)(nil)
	_ engine.Illustrator = (*mixedSystem)(nil)
	_ engine.Observer    = (*mixedSystem)(nil)
	_ engine.Fallible    = (*mixedSystem)(nil)
)
