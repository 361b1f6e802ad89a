package vectors

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/lists"
)

// How many modes and coordinates are measured one by one.
const (
	observedModes       = 16
	ObservedCoordinates = 8
)

// wideCoordinates are those of chains.ManyCoordinates in which a chain begins with thrice
// the scale.
const wideCoordinates = 16

// An observable is a function of a state (x, k) and its ln π.
type observable struct {
	name string
	of   func(x []float32, k int, logPi float64) float64
}

// observables are the weights of modes (the first of many), the coordinates (the first of
// many), the mean square of all, the first coordinate in each of those modes, and ln π. With a
// chart the squares of the coordinates take the place of that in each mode.
func (e *Ensemble) observables() (all []observable) {
	add := func(name string, of func(x []float32, k int, logPi float64) float64) {
		all = append(all, observable{name, of})
	}
	modes := min(e.Modes, observedModes)
	if modes == 1 {
		modes = 0
	}
	within := func(mode int, of func(x []float32) float64) func(x []float32, k int, _ float64) float64 {
		return func(x []float32, k int, _ float64) float64 {
			if k != mode {
				return 0
			}
			return of(x)
		}
	}
	for mode := range modes {
		add(fmt.Sprintf("mode_weight_%d", mode), within(mode, func([]float32) float64 { return 1 }))
	}
	if e.Modes > observedModes {
		add("mode", func(_ []float32, k int, _ float64) float64 { return float64(k) })
	}
	each := min(e.Dim, ObservedCoordinates)
	for i := range each {
		add(fmt.Sprintf("x%d", i), func(x []float32, _ int, _ float64) float64 { return float64(x[i]) })
	}
	if e.Chart != nil {
		modes = 0
		for i := range each {
			add(fmt.Sprintf("x%d_squared", i), func(x []float32, _ int, _ float64) float64 { return square(x[i : i+1]) })
		}
	}
	if e.Dim > 1 {
		add("mean_square", func(x []float32, _ int, _ float64) float64 { return square(x) / float64(e.Dim) })
	}
	for mode := range modes {
		add(fmt.Sprintf("x0_in_mode_%d", mode), within(mode, func(x []float32) float64 { return float64(x[0]) }))
	}
	add("log_density", func(_ []float32, _ int, logPi float64) float64 { return logPi })
	return all
}

// Observables names the observables, the target's own functions, and the density's weight.
func (e *Ensemble) Observables() []string {
	names := append(lists.Map(e.observables(), func(o observable) string { return o.name }), e.names...)
	if e.Dense {
		names = append(names, engine.LogWeight)
	}
	return names
}

// observe sets values, [rows][observables], of up to a piece's states, but for the
// density's weight, and ln π of what is learned, unless logPi has it.
func (e *Ensemble) observe(m *mover, values, logPi []float64, s States) {
	all, stride := e.observables(), len(values)/s.Len()
	m.ensureLogPi(logPi, s)
	if len(e.names) > 0 {
		m.clone.(Observed).Observe(values[len(all):], stride, logPi, s.X, s.K)
	}
	var volume []float64
	if e.Chart != nil {
		s, volume = e.Chart.ToTarget(s)
	}
	for r, v := range logPi {
		if e.Chart != nil && !math.IsInf(v, -1) { // which the volume may be too
			v = v + e.Chart.Level() - volume[r]
		}
		for i, o := range all {
			values[r*stride+i] = o.of(s.X[r*s.Dim:(r+1)*s.Dim], s.mode(r), v)
		}
	}
}

// A walk is a chains.Walk of states by the Metropolis steps of refinement.
type walk struct {
	chains.Strides
	e       *Ensemble
	all     States
	sampler *Sampler
	lo, hi  int // those that are a rank's own
	first   uint64
	shaped  *shaping  // nil for walks and chains by the steps of refinement alone
	leaps   uint64    // the first of the samples that chains leap to, 0 for none
	logPi   []float64 // of the states, as it is learned, where it is known
}

// unknown are so many ln π.
func unknown(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) }

func (e *Ensemble) newWalk(params []float32, purpose rng.Purpose, first uint64, n int) *walk {
	const slice = 64 // steps between looks at the context
	return &walk{chains.Strides{Seed: e.seed, Purpose: purpose, Slice: slice}, e, e.NewStates(n), e.NewSampler(params), 0, n, first, nil, 0, unknown(n)}
}

// Walk implements chains.Observer.
func (e *Ensemble) Walk(params []float32, first uint64, n int) (chains.Walk, error) {
	if err := e.Reach(first, uint64(n), 0); err != nil {
		return nil, err
	}
	w := e.newWalk(params, rng.WalkTransition, first, n)
	w.sampler.Draw(w.all, nil, first)
	return w, e.err()
}

// Chains implements chains.Observer. The states begin in every mode in turn, normally
// distributed about its centre, in turns with once and with thrice its scale, and nearer
// to it where there would be no weight. In many coordinates, where thrice the scale is
// farther than chains come back from, it is that of a few, which are others for each.
func (e *Ensemble) Chains(params []float32, n int) (chains.Walk, error) {
	return e.begin(params, 0, n, []float64{1, 3})
}

// Leaps returns chains that also leap to samples of the generator, from number first on, and begin
// in turns with so many times the scale of a mode.
func (e *Ensemble) Leaps(params []float32, n int, first uint64, scales ...float64) (chains.Walk, error) {
	w, err := e.begin(params, 0, n, scales)
	w.leaps = first
	return w, err
}

// Prospect implements chains.Prospector.
func (e *Ensemble) Prospect(params []float32, n int, scales []float64) (chains.Walk, error) {
	return e.begin(params, 1, n, scales)
}

// begin returns the walk of chains of an epoch that begin in turns at so many times the
// scale from a mode's centre.
func (e *Ensemble) begin(params []float32, epoch uint32, n int, scales []float64) (*walk, error) {
	w, modes := e.newWalk(params, rng.ChainTransition, uint64(epoch)<<32, n), max(1, e.Modes)
	s := w.all
	from := rng.Stream(e.seed, rng.ChainStart, epoch)
	rng.Normals(s.X, s.Dim, &from, 0)
	for mode := range modes {
		center, scale := placeOf(e.target, mode)
		for i := mode; i < n; i += modes {
			turn := i / modes
			wide := s.Dim
			if s.Dim >= chains.ManyCoordinates {
				wide = wideCoordinates
			}
			for j, c := range center {
				spread := scale
				if (j+turn/len(scales)*wideCoordinates)%s.Dim < wide {
					spread *= scales[turn%len(scales)]
				}
				s.X[i*s.Dim+j] = float32(c + spread*float64(s.X[i*s.Dim+j]))
			}
			if s.K != nil {
				s.K[i] = uint8(mode)
			}
		}
	}
	w.lo, w.hi = e.Workers.Rows(n, nn.BlockRows())
	w.enter()
	return w, e.err()
}

// enter takes states where ln π is −∞, from which no step may find the way in, half-way to
// their mode's centre, again and again until there is weight. Those that meet none stay.
func (w *walk) enter() {
	const halvings = 16
	w.each(func(t *Tools, lo, hi int) {
		part, logPi := w.all.Part(lo, hi), w.logPi[lo:hi]
		t.mover.LogDensity(logPi, part)
		outside := func(v float64) bool { return math.IsInf(v, -1) }
		if !slices.ContainsFunc(logPi, outside) {
			return
		}
		at, found := w.e.NewStates(hi-lo), make([]float64, hi-lo)
		at.set(part)
		for range halvings {
			for r, v := range logPi {
				if !outside(v) {
					continue
				}
				center, _ := placeOf(w.e.target, at.mode(r))
				for j, c := range center {
					x := &at.X[r*at.Dim+j]
					*x = float32((c + float64(*x)) / 2)
				}
			}
			t.mover.LogDensity(found, at)
			for r, v := range logPi {
				if outside(v) && !outside(found[r]) {
					logPi[r] = found[r]
					part.Part(r, r+1).set(at.Part(r, r+1))
				}
			}
		}
	})
}

// each calls body for pieces lo … hi−1 of the rank's own states, concurrently.
func (w *walk) each(body func(t *Tools, lo, hi int)) {
	w.sampler.Each(w.hi-w.lo, func(t *Tools, lo, hi int) { body(t, w.lo+lo, w.lo+hi) })
}

// Own implements chains.Walk.
func (w *walk) Own() (lo, hi int) { return w.lo, w.hi }

// Advance implements chains.Walk.
func (w *walk) Advance(ctx context.Context, steps int) error {
	return w.Take(ctx, steps, func(stream rng.Counter, steps int) {
		if w.shaped != nil {
			w.advance(&stream, steps)
			return
		}
		w.each(func(t *Tools, lo, hi int) {
			c := stream
			t.mover.resume(w.logPi[lo:hi], w.all.Part(lo, hi), steps, &c, w.first+uint64(lo))
			if w.leaps > 0 {
				w.leap(t, lo, hi)
			}
		})
	})
}

// leap offers each state of a piece a sample x′ of the generator, accepted with
// min{1, π(x′) q(x) / π(x) q(x′)}. What the generator hardly draws is hardly left.
func (w *walk) leap(t *Tools, lo, hi int) {
	n, c := hi-lo, rng.Stream(w.Seed, rng.ShapeTransition, w.Calls)
	part, to, next := w.all.Part(lo, hi), w.e.NewStates(n), unknown(n)
	logQ, nextQ, uniforms := make([]float64, n), make([]float64, n), make([]float32, 4*n)
	t.draw(to, nextQ, w.leaps+uint64(w.Calls)*uint64(w.all.Len())+uint64(lo))
	t.LogDensity(logQ, part)
	t.mover.LogDensity(next, to)
	asm.Uniforms(uniforms, &c, upperHalf|uint64(lo))
	for r, v := range next {
		if math.Log(float64(uniforms[4*r])) < v-nextQ[r]-w.logPi[lo+r]+logQ[r] { // never for NaN
			part.Part(r, r+1).set(to.Part(r, r+1))
			w.logPi[lo+r] = v
		}
	}
}

// Coordinates implements chains.VectorWalk.
func (w *walk) Coordinates() []float32 { return w.e.shown(w.all).X }

// Moving implements chains.VectorWalk.
func (w *walk) Moving() []float32 { return w.all.X }

// LogDensities implements chains.VectorWalk.
func (w *walk) LogDensities() []float64 {
	all := slices.Clone(w.logPi)
	floats.AddConst(w.e.volume(), all)
	return all
}

// Observe implements chains.Walk.
func (w *walk) Observe(values []float64) { w.observe(values, w.e.Dense) }

// ObserveUnweighted implements chains.Walk: the inverse of a flow takes most of
// the time.
func (w *walk) ObserveUnweighted(values []float64) { w.observe(values, false) }

func (w *walk) observe(values []float64, weigh bool) {
	stride := len(values) / max(1, w.all.Len())
	w.each(func(t *Tools, lo, hi int) {
		values, part := values[lo*stride:hi*stride], w.all.Part(lo, hi)
		w.e.observe(t.mover, values, w.logPi[lo:hi], part)
		if !weigh {
			return
		}
		logQ := t.log[:hi-lo]
		t.LogDensity(logQ, part)
		for r, q := range logQ {
			values[(r+1)*stride-1] = w.logPi[lo+r] + w.e.volume() - q
		}
	})
}

// States implements chains.Walk.
func (w *walk) States(dst []byte, format string) error {
	row, err := w.e.rowBytes(format)
	if err == nil {
		w.e.write(dst, w.all, row)
	}
	return err
}

var _ chains.VectorWalk = (*walk)(nil)
