package vectors

import (
	"encoding/binary"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// An Ensemble is a generator with its target and moves: what states are drawn, refined,
// weighed and observed by.
type Ensemble struct {
	Dim     int
	Modes   int  // 0 for laws without them
	Dense   bool // whether the generator's density is known
	Workers *pool.Pool
	// Chart, unless it is nil, has the coordinates that all states have outside, in which they
	// are observed.
	Chart Chart

	target    Target
	kernel    *kernel
	generator generator
	names     []string // of the target's own observables
	seed      uint64   // of the training
}

func newEnsemble(c *Config, target Target, workers *pool.Pool) *Ensemble {
	e := &Ensemble{
		Dim: target.Dim(), Modes: modesOf(target), Workers: workers, target: target, seed: c.Training.Seed,
		kernel: newKernel(target, c.Transition),
	}
	e.generator = newGenerator(c.Generator, e.Dim, e.Modes)
	e.Dense = c.Generator.Kind == "realnvp" || c.Generator.Kind == "mixture"
	if o, ok := target.(Observed); ok {
		e.names = o.Observables()
	}
	return e
}

// A Chart is between the coordinates that a generator learns, in which a Mover moves, and
// those of the target.
type Chart interface {
	// ToTarget returns states in the target's coordinates, and ln |∂x/∂y| of each, as far as it
	// is in ln π of what is learned.
	ToTarget(s States) (to States, volume []float64)
	// ToLearned is the inverse of ToTarget, in place. It returns what is to be added to −ln π of
	// the states, and does not ask the target.
	ToLearned(s States) (energies []float64, err error)
	// Level returns what is to be added to ln π of any state that is learned.
	Level() float64
	// Volume returns what is to be added to ln π − ln q of any state.
	Volume() float64
	// Err returns the first failure of the target.
	Err() error
	// Judge looks at what the target has said by the end of a step's moves. It returns its
	// failure, on all ranks if on any.
	Judge(step uint32, workers *pool.Pool) error
}

// Reach implements engine.Sampler.
func (e *Ensemble) Reach(first, n uint64, refine int) error {
	return engine.SampleRange(first, e.kernel.maxSamples(), n, refine, maxSteps)
}

// Sample implements engine.Sampler.
func (e *Ensemble) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	if err := e.Reach(first, uint64(n), refine); err != nil {
		return err
	}
	s := e.NewStates(n)
	if format == engine.Weighted && e.Dense {
		if refine > 0 {
			return fmt.Errorf("refine: the density of refined samples is not known, and neither are their weights; leave it 0, or take another format")
		}
		r, row := make([]float64, n), e.row()+8
		e.NewSampler(params).Weigh(r, s, first)
		e.write(dst, s, row)
		for i, v := range r {
			binary.LittleEndian.PutUint64(dst[(i+1)*row-8:], math.Float64bits(e.volume()-v))
		}
		return e.err()
	}
	row, err := e.rowBytes(format)
	if err != nil {
		return fmt.Errorf("format: %q is not one of the samples' formats", format)
	}
	e.NewSampler(params).Draw(s, nil, first)
	if e.Chart != nil {
		// They are rounded before they move, as those are that come back to Refine, and finite.
		s = e.shown(s)
		if err := s.finite(); err != nil {
			return err
		}
		if refine > 0 {
			if _, err := e.Chart.ToLearned(s); err != nil {
				return err
			}
		}
	}
	if refine > 0 {
		if err := e.move(s, first, refine); err != nil {
			return err
		}
		s = e.shown(s)
	}
	s.write(dst, row)
	return nil
}

// err returns the first failure of a target that may fail.
func (e *Ensemble) err() error {
	if e.Chart == nil {
		return nil
	}
	return e.Chart.Err()
}

// newMover returns a mover that ends early where the workers are halted.
func (e *Ensemble) newMover() *mover {
	m := e.kernel.newMover(nn.BlockRows())
	m.halted = e.Workers.Halted
	return m
}

// volume returns what ln π − ln q of what is learned lacks.
func (e *Ensemble) volume() float64 {
	if e.Chart == nil {
		return 0
	}
	return e.Chart.Volume()
}

// eachRow calls body for pieces lo … hi−1 of a number of states, concurrently.
func (e *Ensemble) eachRow(rows int, body func(m *mover, lo, hi int)) {
	pool.NewTools(e.Workers, e.newMover).Rows(rows, nn.BlockRows(), body)
}

// Energies implements engine.Scorer: E = −ln π + const, and β = 1.
func (e *Ensemble) Energies(dst []float64, format string, states []byte) (beta float64, err error) {
	s, added, err := e.learn(format, states)
	if err == nil && s.Len() != len(dst) {
		err = fmt.Errorf("states: there are %d for %d energies", s.Len(), len(dst))
	}
	if err != nil {
		return 0, err
	}
	e.eachRow(len(dst), func(m *mover, lo, hi int) {
		m.LogDensity(dst[lo:hi], s.Part(lo, hi))
		floats.Scale(-1, dst[lo:hi])
	})
	if e.Chart != nil {
		floats.AddConst(-e.Chart.Level(), added)
		floats.Add(dst, added)
	}
	return 1, e.err()
}

// Refine implements engine.Scorer.
func (e *Ensemble) Refine(states []byte, format string, first uint64, steps int) error {
	s, _, err := e.learn(format, states)
	if err == nil {
		err = e.Reach(first, uint64(s.Len()), steps)
	}
	if err != nil || steps == 0 {
		return err
	}
	if err := e.move(s, first, steps); err != nil {
		return err
	}
	e.write(states, s, e.row())
	return nil
}

// move takes steps with states, of which the first is that sample's.
func (e *Ensemble) move(s States, first uint64, steps int) error {
	e.eachRow(s.Len(), func(m *mover, lo, hi int) {
		moving := rng.Stream(e.seed, rng.SampleTransition, 0)
		m.run(s.Part(lo, hi), steps, &moving, first+uint64(lo))
	})
	return e.err()
}

// Score implements engine.Scorer.
func (e *Ensemble) Score(values []float64, params []float32, format string, states []byte) error {
	_, _, err := e.Likelihoods(values, params, format, states, nil)
	return err
}

// Likelihoods is Score that also returns the states in the coordinates that are learned, and
// where the density is known their ln π, in the units of ln Z. Where a chart's states have been
// observed before, the log_density of then is not evaluated again.
func (e *Ensemble) Likelihoods(values []float64, params []float32, format string, states []byte, observed []float64) (s States, logPi []float64, err error) {
	stride := len(e.Observables())
	s, added, err := e.learn(format, states)
	if err == nil && s.Len()*stride != len(values) {
		err = fmt.Errorf("states: there are %d for %d values of %d each", s.Len(), len(values), stride)
	}
	if err != nil {
		return s, nil, err
	}
	if params != nil && e.Dense {
		w := &walk{e: e, states: s, sampler: e.NewSampler(params), hi: s.Len(), logPi: unknownLogPi(s.Len())}
		for i, v := range observed {
			w.logPi[i] = v + added[i] - e.Chart.Level()
		}
		w.Observe(values)
		return s, w.LogDensities(), e.err()
	}
	e.eachRow(s.Len(), func(m *mover, lo, hi int) {
		e.observe(m, values[lo*stride:hi*stride], unknownLogPi(hi-lo), s.Part(lo, hi))
	})
	for i := stride - 1; e.Dense && i < len(values); i += stride {
		values[i] = math.NaN()
	}
	return s, nil, e.err()
}

var (
	_ engine.Sampler  = (*Ensemble)(nil)
	_ engine.Scorer   = (*Ensemble)(nil)
	_ chains.Observer = (*Ensemble)(nil)
)
