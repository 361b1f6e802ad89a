package mixed

import (
	"context"
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// An Observed target adds functions of its own to what is measured of a state.
type Observed interface {
	Target
	// Observables names them.
	Observables() []string
	// Observe sets dst[r·stride + i] to function i of the state (x_r, k_r), x
	// row-major [len(k)][d]. Unless the target is a Cloner, calls may be concurrent.
	Observe(dst []float64, stride int, x []float32, k []uint8)
}

// How many modes and coordinates are measured one by one.
const (
	observedModes       = 16
	observedCoordinates = 8
)

// Observables returns the weights of modes (the first of many), the coordinates, the
// mean square of all, the first coordinate in each of those modes,
// ln π, the target's own functions, and the density's weight.
func (s *System) Observables() []string {
	var names []string
	dim, modes := s.generator.dim, s.target.Modes()
	for k := range s.observed() {
		names = append(names, fmt.Sprintf("mode_weight_%d", k))
	}
	if modes > observedModes {
		names = append(names, "mode")
	}
	each := min(dim, observedCoordinates)
	for i := range each {
		names = append(names, fmt.Sprintf("x%d", i))
	}
	if dim > 1 {
		names = append(names, "mean_square")
	}
	for k := range s.observed() {
		names = append(names, fmt.Sprintf("x0_in_mode_%d", k))
	}
	names = append(names, "log_density")
	if o, ok := s.target.(Observed); ok {
		names = append(names, o.Observables()...)
	}
	if s.HasDensity() {
		names = append(names, engine.LogWeight)
	}
	return names
}

// observed returns how many modes have a weight of their own.
func (s *System) observed() int {
	if m := s.target.Modes(); m > 1 {
		return min(m, observedModes)
	}
	return 0
}

// observe sets values, [rows][observables], of up to a strip's states.
func (w *walkers) observe(m *walkScratch, values []float64, x []float32, k []uint8, weigh bool) {
	s := w.s
	dim, modes, rows := s.generator.dim, s.target.Modes(), len(k)
	if rows == 0 {
		return
	}
	stride, each := len(values)/rows, min(dim, observedCoordinates)
	logPi := m.current[:rows]
	m.logDensity(logPi, x, k)
	at := 0
	for r := range rows {
		row := values[r*stride:][:stride]
		at = s.observed()
		clear(row[:at])
		if int(k[r]) < at {
			row[k[r]] = 1
		}
		if modes > observedModes {
			row[at] = float64(k[r])
			at++
		}
		var squares float64
		for i, v := range x[r*dim : (r+1)*dim] {
			v := float64(v)
			squares += v * v
			if i < each {
				row[at+i] = v
			}
		}
		at += each
		if dim > 1 {
			row[at] = squares / float64(dim)
			at++
		}
		clear(row[at:][:s.observed()])
		if int(k[r]) < s.observed() {
			row[at+int(k[r])] = float64(x[r*dim])
		}
		at += s.observed()
		row[at] = logPi[r]
		at++
	}
	if o, ok := m.target.(Observed); ok {
		o.Observe(values[at:], stride, x, k)
	}
	if weigh && w.base != nil {
		logQ := m.logQ[:rows]
		w.base.LogDensity(logQ, x, k, m.work)
		for r := range logQ {
			values[r*stride+stride-1] = logPi[r] - logQ[r]
		}
	}
}

// walkers are an engine.Walk of states of a real vector and a mode.
type walkers struct {
	engine.Strides
	s      *System
	x      []float32 // [n][d]
	k      []uint8
	lo, hi int // those that are a rank's own
	first  uint64
	base   *mixture.Packed // of a generator with a density
	tools  *pool.Tools[*walkScratch]
}

type walkScratch struct {
	*moveScratch
	work *mixture.Work
	logQ []float64
}

func (s *System) newWalk(params []float32, purpose rng.Purpose, first uint64, n int) *walkers {
	const slice = 64 // steps between looks at the context
	w := &walkers{Strides: engine.Strides{Seed: s.config.Training.Seed, Purpose: purpose, Slice: slice}, s: s, x: make([]float32, n*s.generator.dim), k: make([]uint8, n), hi: n, first: first}
	if s.HasDensity() {
		w.base = s.generator.base.NewPacked()
		w.base.Set(params)
	}
	w.tools = pool.NewTools(s.workers, func() *walkScratch {
		m := &walkScratch{moveScratch: s.transition.newScratch()}
		if s.HasDensity() {
			m.work, m.logQ = s.generator.base.NewWork(strip), make([]float64, strip)
		}
		return m
	})
	return w
}

// Walk implements engine.Observer.
func (s *System) Walk(params []float32, first uint64, n int) (engine.Walk, error) {
	if err := s.Reach(first, uint64(n), 0); err != nil {
		return nil, err
	}
	w := s.newWalk(params, rng.WalkTransition, first, n)
	s.NewSampler(params).Draw(w.x, w.k, first, 0)
	return w, nil
}

// Chains implements engine.Observer. The states begin in every mode in turn,
// normally distributed about its centre with once and with thrice its scale.
func (s *System) Chains(params []float32, n int) (engine.Walk, error) {
	w, d, modes := s.newWalk(params, rng.ChainTransition, 0, n), s.generator.dim, s.target.Modes()
	from := rng.Stream(s.config.Training.Seed, rng.ChainStart, 0)
	rng.Normals(w.x, d, &from, 0)
	for i := range w.k {
		w.k[i] = uint8(i % modes)
		center, scale := place(s.target, i%modes)
		if i/modes%2 == 1 {
			scale *= 3
		}
		for j, c := range center {
			w.x[i*d+j] = float32(c + scale*float64(w.x[i*d+j]))
		}
	}
	w.lo, w.hi = s.workers.Rows(n, nn.BlockRows())
	return w, nil
}

// each calls body for the pieces lo … hi−1 of the rank's own states, concurrently.
func (w *walkers) each(rows int, body func(m *walkScratch, lo, hi int)) {
	w.tools.Rows(w.hi-w.lo, rows, func(m *walkScratch, lo, hi int) { body(m, w.lo+lo, w.lo+hi) })
}

// Own implements engine.SharedWalk.
func (w *walkers) Own() (lo, hi int) { return w.lo, w.hi }

// Advance implements engine.Walk.
func (w *walkers) Advance(ctx context.Context, steps int) error {
	d := w.s.generator.dim
	return w.Take(ctx, steps, func(stream rng.Counter, steps int) {
		w.each(nn.BlockRows(), func(m *walkScratch, lo, hi int) {
			c, counts := stream, moveCounts{}
			w.s.transition.run(w.x[lo*d:hi*d], w.k[lo:hi], steps, &c, w.first+uint64(lo), m.moveScratch, &counts)
		})
	})
}

// Observe implements engine.Walk.
func (w *walkers) Observe(values []float64) { w.observeAll(values, true) }

// ObserveUnweighted implements engine.UnweightedWalk.
func (w *walkers) ObserveUnweighted(values []float64) { w.observeAll(values, false) }

func (w *walkers) observeAll(values []float64, weigh bool) {
	d, stride := w.s.generator.dim, len(values)/max(1, len(w.k))
	w.each(strip, func(m *walkScratch, lo, hi int) {
		w.observe(m, values[lo*stride:hi*stride], w.x[lo*d:hi*d], w.k[lo:hi], weigh)
	})
}

// States implements engine.StateWalk.
func (w *walkers) States(dst []byte, format string) error {
	if format != "states" && format != "x" {
		return fmt.Errorf("format: %q is not states or x", format)
	}
	write(dst, format, w.x, w.k)
	return nil
}

var (
	_ engine.Observer  = (*System)(nil)
	_ engine.StateWalk = (*walkers)(nil)

	_ engine.SharedWalk = (*walkers)(nil)
)
