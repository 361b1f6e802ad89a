package reals

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// decode reads finite states in a format of Formats.
func (s *System) decode(format string, states []byte) ([]float32, error) {
	d := s.target.Dim()
	if format != "states" {
		return nil, fmt.Errorf("format: %q is not states", format)
	}
	if len(states)%(4*d) != 0 {
		return nil, fmt.Errorf("states: %d bytes are not a number of states of %d coordinates", len(states), d)
	}
	x := make([]float32, len(states)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(states[4*i:]))
	}
	if !asm.AllFinite(x) {
		for i, v := range x {
			if v-v != 0 {
				return nil, fmt.Errorf("states: coordinate %d of state %d is %v", i%d, i/d, v)
			}
		}
	}
	return x, nil
}

// eachRow calls body for pieces lo … hi−1 of a number of rows, concurrently.
func (s *System) eachRow(rows int, body func(m *moveScratch, lo, hi int)) {
	fresh := func() *moveScratch {
		m := s.transition.newScratch(nn.BlockRows())
		m.halted = s.workers.Halted
		return m
	}
	pool.NewTools(s.workers, fresh).Rows(rows, nn.BlockRows(), body)
}

// Energies implements engine.Weigher: E = −ln π + const, and β = 1.
func (s *System) Energies(dst []float64, format string, states []byte) (beta float64, err error) {
	d := s.target.Dim()
	x, err := s.decode(format, states)
	if err == nil && len(x) != len(dst)*d {
		err = fmt.Errorf("states: there are %d for %d energies", len(x)/d, len(dst))
	}
	if err != nil {
		return 0, err
	}
	s.eachRow(len(dst), func(m *moveScratch, lo, hi int) {
		logPi := m.current[:hi-lo]
		m.target.LogDensity(logPi, x[lo*d:hi*d])
		for i, v := range logPi {
			dst[lo+i] = -float64(v)
		}
	})
	return 1, nil
}

// Score implements engine.Scorer.
func (s *System) Score(values []float64, params []float32, format string, states []byte) error {
	d, stride := s.target.Dim(), len(s.Observables())
	x, err := s.decode(format, states)
	if err == nil && len(x)/d*stride != len(values) {
		err = fmt.Errorf("states: there are %d for %d values of %d each", len(x)/d, len(values), stride)
	}
	if err != nil {
		return err
	}
	weigh := params != nil && s.HasDensity()
	if params == nil {
		params = make([]float32, s.NumParams())
	}
	sampler := s.NewSampler(params)
	sampler.Each(len(x)/d, func(b *Buffers, lo, hi int) {
		sampler.observe(b, values[lo*stride:hi*stride], x[lo*d:hi*d], weigh)
	})
	for i := stride - 1; s.HasDensity() && !weigh && i < len(values); i += stride {
		values[i] = math.NaN()
	}
	return nil
}

// Witness implements engine.Witnesser: that of least squares is a function of a state.
func (s *System) Witness(ctx context.Context, params []float32, fit int) (func(values []float64, format string, states []byte) error, error) {
	loss, ok := s.loss.(*kfd.Random)
	if !ok {
		return nil, nil
	}
	c, err := engine.FitWitness(ctx, s, params, s.config.Training.Steps, fit, loss.Coefficients)
	return func(values []float64, format string, states []byte) error {
		x, err := s.decode(format, states)
		if err != nil {
			return err
		}
		loss.At(values, c, x)
		return nil
	}, err
}

// Refine implements engine.Refiner.
func (s *System) Refine(states []byte, format string, first uint64, steps int) error {
	d := s.target.Dim()
	x, err := s.decode(format, states)
	if err == nil {
		err = s.Reach(first, uint64(len(x)/d), steps)
	}
	if err != nil || steps == 0 {
		return err
	}
	s.eachRow(len(x)/d, func(m *moveScratch, lo, hi int) {
		moving := rng.Stream(s.config.Training.Seed, rng.SampleTransition, 0)
		s.transition.run(x[lo*d:hi*d], steps, &moving, first+uint64(lo), m)
	})
	for i, v := range x {
		binary.LittleEndian.PutUint32(states[4*i:], math.Float32bits(v))
	}
	return nil
}

var (
	_ engine.Scorer  = (*System)(nil)
	_ engine.Refiner = (*System)(nil)
)
