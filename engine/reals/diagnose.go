package reals

import (
	"context"
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
)

// A Placed target says where its weight is, as far as that is known: chains begin
// about the centre, within once and within thrice the scale. Of any other target the
// centre is 0 and the scale is 3.
type Placed interface {
	Target
	Place() (center []float64, scale float64)
}

// An Observed target adds functions of its own to what is measured of a state: the
// weights of its modes, say.
type Observed interface {
	Target
	// Observables names them.
	Observables() []string
	// Observe sets dst[r·stride + i] to function i of row r of x, row-major
	// [rows][d]. Unless the target is a Cloner, calls may be concurrent.
	Observe(dst []float64, stride int, x []float32)
}

// observedCoordinates is how many coordinates are measured one by one.
const observedCoordinates = 8

// Observables returns the coordinates (the first of many), the mean square of all, ln π, the target's own functions, and the density's weight.
func (s *System) Observables() []string {
	var names []string
	each := min(s.nets.dim, observedCoordinates)
	for i := range each {
		names = append(names, fmt.Sprintf("x%d", i))
	}
	if s.nets.dim > 1 {
		names = append(names, "mean_square")
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

// observe sets values, [rows][observables], of up to a piece's rows of states.
func (d *Sampler) observe(b *Buffers, values []float64, x []float32, weigh bool) {
	dim := d.s.nets.dim
	rows := len(x) / dim
	if rows == 0 {
		return
	}
	stride, each := len(values)/rows, min(dim, observedCoordinates)
	logPi := b.moves.current[:rows]
	b.Target.LogDensity(logPi, x)
	density := each
	if dim > 1 {
		density++
	}
	for r := range rows {
		var squares float64
		row := values[r*stride:][:stride]
		for i, v := range x[r*dim : (r+1)*dim] {
			v := float64(v)
			squares += v * v
			if i < each {
				row[i] = v
			}
		}
		if dim > 1 {
			row[each] = squares / float64(dim)
		}
		row[density] = float64(logPi[r])
	}
	if o, ok := b.Target.(Observed); ok {
		o.Observe(values[density+1:], stride, x)
	}
	if weigh && d.s.HasDensity() {
		if b.logQ == nil {
			b.logQ = make([]float64, nn.BlockRows())
		}
		d.LogDensity(b, b.logQ[:rows], x)
		for r, logQ := range b.logQ[:rows] {
			values[r*stride+stride-1] = float64(logPi[r]) - logQ
		}
	}
}

// walkers are an engine.Walk of real vectors.
type walkers struct {
	engine.Strides
	sampler *Sampler
	x       []float32 // [n][d]
	lo, hi  int       // those that are a rank's own
	first   uint64
}

const slice = 64 // steps of a walk between looks at its context

func (s *System) newWalk(params []float32, purpose rng.Purpose, first uint64, n int) *walkers {
	return &walkers{engine.Strides{Seed: s.config.Training.Seed, Purpose: purpose, Slice: slice},
		s.NewSampler(params), make([]float32, n*s.nets.dim), 0, n, first}
}

// Walk implements engine.Observer.
func (s *System) Walk(params []float32, first uint64, n int) (engine.Walk, error) {
	if err := s.Reach(first, uint64(n), 0); err != nil {
		return nil, err
	}
	w := s.newWalk(params, rng.WalkTransition, first, n)
	w.sampler.Draw(w.x, nil, first, 0)
	return w, nil
}

// Spreads of the states that chains begin with, in scales of the target.
var spreads = [...]float64{1, 3}

// Chains implements engine.Observer. The states begin normally distributed about
// the target's centre, in turns with each of the spreads.
func (s *System) Chains(params []float32, n int) (engine.Walk, error) {
	d, w := s.nets.dim, s.newWalk(params, rng.ChainTransition, 0, n)
	center, scale := make([]float64, d), 3.0
	if p, ok := s.target.(Placed); ok {
		center, scale = p.Place()
	}
	from := rng.Stream(s.config.Training.Seed, rng.ChainStart, 0)
	rng.Normals(w.x, d, &from, 0)
	for i, z := range w.x {
		w.x[i] = float32(center[i%d] + spreads[i/d%len(spreads)]*scale*float64(z))
	}
	w.lo, w.hi = s.workers.Rows(n, nn.BlockRows())
	return w, nil
}

// Advance implements engine.Walk.
func (w *walkers) Advance(ctx context.Context, steps int) error {
	s := w.sampler.s
	d := s.nets.dim
	return w.Take(ctx, steps, func(stream rng.Counter, steps int) {
		w.each(func(b *Buffers, lo, hi int) {
			c := stream
			s.transition.run(w.x[lo*d:hi*d], steps, &c, w.first+uint64(lo), b.moves)
		})
	})
}

// each calls body for pieces lo … hi−1 of the rank's own states, concurrently.
func (w *walkers) each(body func(b *Buffers, lo, hi int)) {
	w.sampler.Each(w.hi-w.lo, func(b *Buffers, lo, hi int) { body(b, w.lo+lo, w.lo+hi) })
}

// Own implements engine.SharedWalk.
func (w *walkers) Own() (lo, hi int) { return w.lo, w.hi }

// Observe implements engine.Walk.
func (w *walkers) Observe(values []float64) { w.observe(values, true) }

// ObserveUnweighted implements engine.UnweightedWalk: the inverse of a flow takes most
// of the time.
func (w *walkers) ObserveUnweighted(values []float64) { w.observe(values, false) }

func (w *walkers) observe(values []float64, weigh bool) {
	d := w.sampler.s.nets.dim
	rows := len(w.x) / d
	stride := len(values) / max(rows, 1)
	w.each(func(b *Buffers, lo, hi int) {
		w.sampler.observe(b, values[lo*stride:hi*stride], w.x[lo*d:hi*d], weigh)
	})
}

// States implements engine.StateWalk.
func (w *walkers) States(dst []byte, format string) error {
	if format != "states" {
		return fmt.Errorf("format: %q is not states", format)
	}
	put(dst, w.x)
	return nil
}

var (
	_ engine.Observer  = (*System)(nil)
	_ engine.StateWalk = (*walkers)(nil)

	_ engine.SharedWalk = (*walkers)(nil)
)
