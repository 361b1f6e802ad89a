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

// Limits of how many modes and coordinates have observables of their own.
const (
	observedModes       = 16
	ObservedCoordinates = 8
)

// wideCoordinates is how many coordinates of a chain begin at a multiple of the scale, if there are
// chains.ManyCoordinates or more.
const wideCoordinates = 16

// An observable is a function of a state (x, k) and its ln π.
type observable struct {
	name  string
	value func(x []float32, k int, logPi float64) float64
}

// observables returns the weights of the first modes, the first coordinates, the mean square of all
// coordinates, the first coordinate in each of those modes, and ln π. With a chart the squares of
// the first coordinates replace the first coordinate in each mode.
func (e *Ensemble) observables() (all []observable) {
	add := func(name string, value func(x []float32, k int, logPi float64) float64) {
		all = append(all, observable{name, value})
	}
	modes := min(e.Modes, observedModes)
	if modes == 1 {
		modes = 0
	}
	inMode := func(mode int, value func(x []float32) float64) func(x []float32, k int, _ float64) float64 {
		return func(x []float32, k int, _ float64) float64 {
			if k != mode {
				return 0
			}
			return value(x)
		}
	}
	for mode := range modes {
		add(fmt.Sprintf("mode_weight_%d", mode), inMode(mode, func([]float32) float64 { return 1 }))
	}
	if e.Modes > observedModes {
		add("mode", func(_ []float32, k int, _ float64) float64 { return float64(k) })
	}
	coordinates := min(e.Dim, ObservedCoordinates)
	for i := range coordinates {
		add(fmt.Sprintf("x%d", i), func(x []float32, _ int, _ float64) float64 { return float64(x[i]) })
	}
	if e.Chart != nil {
		modes = 0
		for i := range coordinates {
			add(fmt.Sprintf("x%d_squared", i), func(x []float32, _ int, _ float64) float64 { return square(x[i : i+1]) })
		}
	}
	if e.Dim > 1 {
		add("mean_square", func(x []float32, _ int, _ float64) float64 { return square(x) / float64(e.Dim) })
	}
	for mode := range modes {
		add(fmt.Sprintf("x0_in_mode_%d", mode), inMode(mode, func(x []float32) float64 { return float64(x[0]) }))
	}
	add("log_density", func(_ []float32, _ int, logPi float64) float64 { return logPi })
	return all
}

// Observables names the observables, the target's own, and the log weight if the density is known.
func (e *Ensemble) Observables() []string {
	names := append(lists.Map(e.observables(), func(o observable) string { return o.name }), e.names...)
	if e.Dense {
		names = append(names, engine.LogWeight)
	}
	return names
}

// observe sets values, [rows][observables], of up to a piece's states, except for the log weight. It
// sets logPi to ln π in the learned coordinates, unless that is known.
func (e *Ensemble) observe(m *mover, values, logPi []float64, s States) {
	all, stride := e.observables(), len(values)/s.Len()
	m.ensureLogPi(logPi, s)
	if len(e.names) > 0 {
		m.threadTarget.(Observed).Observe(values[len(all):], stride, logPi, s.X, s.K)
	}
	var volume []float64
	if e.Chart != nil {
		s, volume = e.Chart.ToTarget(s)
	}
	for r, v := range logPi {
		if e.Chart != nil && !math.IsInf(v, -1) { // where v is −∞, the volume may be too
			v = v + e.Chart.Level() - volume[r]
		}
		for i, o := range all {
			values[r*stride+i] = o.value(s.X[r*s.Dim:(r+1)*s.Dim], s.mode(r), v)
		}
	}
}

// A walk is a chains.Walk of states by the Metropolis steps of refinement.
type walk struct {
	chains.Strides
	e         *Ensemble
	states    States
	logPi     []float64 // of the states, in the learned coordinates; NaN where unknown
	sampler   *Sampler
	lo, hi    int      // the states lo … hi−1 are the rank's own
	first     uint64   // number of the first state in streams
	shaping   *shaping // nil if all steps are the kernel's own
	firstLeap uint64   // number of the first sample that chains leap to; 0 if they do not leap
}

// unknownLogPi returns n times NaN.
func unknownLogPi(n int) []float64 { return slices.Repeat([]float64{math.NaN()}, n) }

func (e *Ensemble) newWalk(params []float32, purpose rng.Purpose, first uint64, n int) *walk {
	const slice = 64 // steps between looks at the context
	return &walk{
		Strides: chains.Strides{Seed: e.seed, Purpose: purpose, Slice: slice}, e: e,
		states: e.NewStates(n), logPi: unknownLogPi(n), sampler: e.NewSampler(params), hi: n, first: first,
	}
}

// Walk implements chains.Observer.
func (e *Ensemble) Walk(params []float32, first uint64, n int) (chains.Walk, error) {
	if err := e.Reach(first, uint64(n), 0); err != nil {
		return nil, err
	}
	w := e.newWalk(params, rng.WalkTransition, first, n)
	w.sampler.Draw(w.states, nil, first)
	return w, e.err()
}

// Chains implements chains.Observer. The states begin in every mode in turn. They are normally
// distributed about its centre, in turns with once and with three times its scale, and begin nearer
// to it where they would have no weight. In many coordinates chains would not come back from three
// times the scale, so only some of a state's coordinates have it, others for the next state.
func (e *Ensemble) Chains(params []float32, n int) (chains.Walk, error) {
	return e.newChains(params, 0, n, []float64{1, 3})
}

// Leaps returns chains that also leap to samples of the generator, from number first on. They begin in
// turns with the given multiples of a mode's scale.
func (e *Ensemble) Leaps(params []float32, n int, first uint64, scales ...float64) (chains.Walk, error) {
	w, err := e.newChains(params, 0, n, scales)
	w.firstLeap = first
	return w, err
}

// Prospect implements chains.Prospector.
func (e *Ensemble) Prospect(params []float32, n int, scales []float64) (chains.Walk, error) {
	return e.newChains(params, 1, n, scales)
}

// newChains returns chains that begin in turns with the given multiples of a mode's scale. Each epoch
// has random numbers of its own.
func (e *Ensemble) newChains(params []float32, epoch uint32, n int, scales []float64) (*walk, error) {
	w, modes := e.newWalk(params, rng.ChainTransition, uint64(epoch)<<32, n), max(1, e.Modes)
	s := w.states
	stream := rng.Stream(e.seed, rng.ChainStart, epoch)
	rng.Normals(s.X, s.Dim, &stream, 0)
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
	w.enterSupport()
	return w, e.err()
}

// enterSupport moves states where ln π is −∞, from which steps may never find weight. It takes them half
// of the way to their mode's centre, and again until they have weight. States that find none stay.
func (w *walk) enterSupport() {
	const halvings = 16
	w.eachPiece(func(t *Tools, lo, hi int) {
		part, logPi := w.states.Part(lo, hi), w.logPi[lo:hi]
		t.mover.LogDensity(logPi, part)
		outside := func(v float64) bool { return math.IsInf(v, -1) }
		if !slices.ContainsFunc(logPi, outside) {
			return
		}
		moved, movedLogPi := w.e.NewStates(hi-lo), make([]float64, hi-lo)
		moved.set(part)
		for range halvings {
			for r, v := range logPi {
				if !outside(v) {
					continue
				}
				center, _ := placeOf(w.e.target, moved.mode(r))
				for j, c := range center {
					x := &moved.X[r*moved.Dim+j]
					*x = float32((c + float64(*x)) / 2)
				}
			}
			t.mover.LogDensity(movedLogPi, moved)
			for r, v := range logPi {
				if outside(v) && !outside(movedLogPi[r]) {
					logPi[r] = movedLogPi[r]
					part.Part(r, r+1).set(moved.Part(r, r+1))
				}
			}
		}
	})
}

// eachPiece calls body for pieces lo … hi−1 of the rank's own states, concurrently.
func (w *walk) eachPiece(body func(t *Tools, lo, hi int)) {
	w.sampler.Each(w.hi-w.lo, func(t *Tools, lo, hi int) { body(t, w.lo+lo, w.lo+hi) })
}

// Own implements chains.Walk.
func (w *walk) Own() (lo, hi int) { return w.lo, w.hi }

// Advance implements chains.Walk.
func (w *walk) Advance(ctx context.Context, steps int) error {
	return w.Take(ctx, steps, func(stream rng.Counter, steps int) {
		if w.shaping != nil {
			w.advance(&stream, steps)
			return
		}
		w.eachPiece(func(t *Tools, lo, hi int) {
			c := stream
			t.mover.resume(w.logPi[lo:hi], w.states.Part(lo, hi), steps, &c, w.first+uint64(lo))
			if w.firstLeap > 0 {
				w.leap(t, lo, hi)
			}
		})
	})
}

// leap proposes a sample x′ of the generator to each state of a piece, and accepts it with probability
// min{1, π(x′) q(x) / π(x) q(x′)}. States that the generator hardly draws are hardly ever left.
func (w *walk) leap(t *Tools, lo, hi int) {
	n, c := hi-lo, rng.Stream(w.Seed, rng.ShapeTransition, w.Calls)
	part, next, nextLogPi := w.states.Part(lo, hi), w.e.NewStates(n), make([]float64, n)
	logQ, nextLogQ, uniforms := make([]float64, n), make([]float64, n), make([]float32, 4*n)
	t.draw(next, nextLogQ, w.firstLeap+uint64(w.Calls)*uint64(w.states.Len())+uint64(lo))
	t.LogDensity(logQ, part)
	t.mover.LogDensity(nextLogPi, next)
	asm.Uniforms(uniforms, &c, upperHalf|uint64(lo))
	for r, v := range nextLogPi {
		if math.Log(float64(uniforms[4*r])) < v-nextLogQ[r]-w.logPi[lo+r]+logQ[r] { // never for NaN
			part.Part(r, r+1).set(next.Part(r, r+1))
			w.logPi[lo+r] = v
		}
	}
}

// Coordinates implements chains.VectorWalk.
func (w *walk) Coordinates() []float32 { return w.e.toTarget(w.states).X }

// Moving implements chains.VectorWalk.
func (w *walk) Moving() []float32 { return w.states.X }

// LogDensities implements chains.VectorWalk.
func (w *walk) LogDensities() []float64 {
	logPi := slices.Clone(w.logPi)
	floats.AddConst(w.e.volume(), logPi)
	return logPi
}

// Observe implements chains.Walk.
func (w *walk) Observe(values []float64) { w.observe(values, w.e.Dense) }

// ObserveUnweighted implements chains.Walk. It leaves out the log weight, which takes
// most of the time: the inverse of a flow.
func (w *walk) ObserveUnweighted(values []float64) { w.observe(values, false) }

func (w *walk) observe(values []float64, weigh bool) {
	stride := len(values) / max(1, w.states.Len())
	w.eachPiece(func(t *Tools, lo, hi int) {
		values, part := values[lo*stride:hi*stride], w.states.Part(lo, hi)
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
		w.e.write(dst, w.states, row)
	}
	return err
}

var _ chains.VectorWalk = (*walk)(nil)
