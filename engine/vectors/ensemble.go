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

// An Ensemble is a generator with its target and moves. It draws, refines, weighs and observes states.
type Ensemble struct {
	Dim     int
	Modes   int  // 0 without modes
	Dense   bool // whether the generator's density is known
	Workers *pool.Pool
	// Chart is nil if the target's coordinates are learned. Otherwise states are read, written and
	// observed in the target's coordinates, and drawn and moved in the learned ones.
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

// A Chart is a map between the coordinates y that a generator learns and the coordinates x of the
// target.
type Chart interface {
	// ToTarget returns states in the target's coordinates. The volume of each is ln |∂x/∂y| as far
	// as ln π of the learned coordinates contains it.
	ToTarget(s States) (x States, volume []float64)
	// ToLearned is the inverse of ToTarget, in place. It returns the energies to add to −ln π of the
	// states, and does not evaluate the target.
	ToLearned(s States) (energies []float64, err error)
	// Level returns the constant to add to ln π in the learned coordinates.
	Level() float64
	// Volume returns the constant to add to ln π − ln q.
	Volume() float64
	// Err returns the first failure of the target.
	Err() error
	// Judge checks the target's results at the end of a step's moves. If any rank has a failure, it
	// returns one on all ranks.
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
		r, rowBytes := make([]float64, n), e.stateBytes()+8
		e.NewSampler(params).Weigh(r, s, first)
		e.write(dst, s, rowBytes)
		for i, v := range r {
			binary.LittleEndian.PutUint64(dst[(i+1)*rowBytes-8:], math.Float64bits(e.volume()-v))
		}
		return e.err()
	}
	rowBytes, err := e.rowBytes(format)
	if err != nil {
		return fmt.Errorf("format: %q is not one of the samples' formats", format)
	}
	e.NewSampler(params).Draw(s, nil, first)
	if e.Chart != nil {
		// Samples are rounded in the target's coordinates before they move, as those in a file that Refine
		// reads are.
		s = e.toTarget(s)
		if err := s.checkFinite(); err != nil {
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
		s = e.toTarget(s)
	}
	s.write(dst, rowBytes)
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

// volume returns the constant to add to ln π − ln q of learned states.
func (e *Ensemble) volume() float64 {
	if e.Chart == nil {
		return 0
	}
	return e.Chart.Volume()
}

// eachPiece calls body for pieces lo … hi−1 of a number of states, concurrently.
func (e *Ensemble) eachPiece(rows int, body func(m *mover, lo, hi int)) {
	pool.NewTools(e.Workers, e.newMover).Rows(rows, nn.BlockRows(), body)
}

// Energies implements engine.Scorer: E = −ln π + const, and β = 1.
func (e *Ensemble) Energies(dst []float64, format string, states []byte) (beta float64, err error) {
	s, energies, err := e.toLearned(format, states)
	if err == nil && s.Len() != len(dst) {
		err = fmt.Errorf("states: there are %d for %d energies", s.Len(), len(dst))
	}
	if err != nil {
		return 0, err
	}
	e.eachPiece(len(dst), func(m *mover, lo, hi int) {
		m.LogDensity(dst[lo:hi], s.Part(lo, hi))
		floats.Scale(-1, dst[lo:hi])
	})
	if e.Chart != nil {
		floats.AddConst(-e.Chart.Level(), energies)
		floats.Add(dst, energies)
	}
	return 1, e.err()
}

// Refine implements engine.Scorer.
func (e *Ensemble) Refine(states []byte, format string, first uint64, steps int) error {
	s, _, err := e.toLearned(format, states)
	if err == nil {
		err = e.Reach(first, uint64(s.Len()), steps)
	}
	if err != nil || steps == 0 {
		return err
	}
	if err := e.move(s, first, steps); err != nil {
		return err
	}
	e.write(states, s, e.stateBytes())
	return nil
}

// move takes steps with the states of samples first, first+1, ….
func (e *Ensemble) move(s States, first uint64, steps int) error {
	e.eachPiece(s.Len(), func(m *mover, lo, hi int) {
		stream := rng.Stream(e.seed, rng.SampleTransition, 0)
		m.run(s.Part(lo, hi), steps, &stream, first+uint64(lo))
	})
	return e.err()
}

// Score implements engine.Scorer.
func (e *Ensemble) Score(values []float64, params []float32, format string, states []byte) error {
	_, _, err := e.Likelihoods(values, params, format, states, nil)
	return err
}

// Likelihoods is Score that also returns the states in the learned coordinates, and if the density is
// known their ln π in the units of ln Z. If the states of a chart have been observed before, their
// log_density is given, and ln π is not evaluated again.
func (e *Ensemble) Likelihoods(values []float64, params []float32, format string, states []byte, logDensity []float64) (s States, logPi []float64, err error) {
	stride := len(e.Observables())
	s, energies, err := e.toLearned(format, states)
	if err == nil && s.Len()*stride != len(values) {
		err = fmt.Errorf("states: there are %d for %d values of %d each", s.Len(), len(values), stride)
	}
	if err != nil {
		return s, nil, err
	}
	if params != nil && e.Dense {
		w := &walk{e: e, states: s, sampler: e.NewSampler(params), hi: s.Len(), logPi: unknownLogPi(s.Len())}
		for i, v := range logDensity {
			w.logPi[i] = v + energies[i] - e.Chart.Level()
		}
		w.Observe(values)
		return s, w.LogDensities(), e.err()
	}
	e.eachPiece(s.Len(), func(m *mover, lo, hi int) {
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
