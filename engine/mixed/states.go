package mixed

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// decode reads finite states in a format of Formats that has their modes.
func (s *System) decode(format string, states []byte) (x []float32, k []uint8, err error) {
	d, modes := s.target.Dim(), s.target.Modes()
	row := 4*d + 4
	switch {
	case format == "x":
		return nil, nil, fmt.Errorf("format: x says nothing of the modes; take states")
	case format != "states":
		return nil, nil, fmt.Errorf("format: %q is not states", format)
	case len(states)%row != 0:
		return nil, nil, fmt.Errorf("states: %d bytes are not a number of states of %d coordinates and a mode", len(states), d)
	}
	n := len(states) / row
	x, k = make([]float32, n*d), make([]uint8, n)
	for i := range n {
		for j := range d {
			v := math.Float32frombits(binary.LittleEndian.Uint32(states[i*row+4*j:]))
			if v-v != 0 {
				return nil, nil, fmt.Errorf("states: coordinate %d of state %d is %v", j, i, v)
			}
			x[i*d+j] = v
		}
		mode := int32(binary.LittleEndian.Uint32(states[i*row+4*d:]))
		if mode < 0 || int(mode) >= modes {
			return nil, nil, fmt.Errorf("states: the mode of state %d is %d; there are modes 0 to %d", i, mode, modes-1)
		}
		k[i] = uint8(mode)
	}
	return x, k, nil
}

// eachRow calls body for pieces lo … hi−1 of a number of rows, concurrently.
func (s *System) eachRow(rows, piece int, body func(m *moveScratch, lo, hi int)) {
	fresh := func() *moveScratch {
		m := s.transition.newScratch()
		m.halted = s.workers.Halted
		return m
	}
	pool.NewTools(s.workers, fresh).Rows(rows, piece, body)
}

// Energies implements engine.Weigher: E = −ln π + const, and β = 1.
func (s *System) Energies(dst []float64, format string, states []byte) (beta float64, err error) {
	d := s.target.Dim()
	x, k, err := s.decode(format, states)
	if err == nil && len(k) != len(dst) {
		err = fmt.Errorf("states: there are %d for %d energies", len(k), len(dst))
	}
	if err != nil {
		return 0, err
	}
	s.eachRow(len(k), strip, func(m *moveScratch, lo, hi int) {
		m.logDensity(dst[lo:hi], x[lo*d:hi*d], k[lo:hi])
		for i, v := range dst[lo:hi] {
			dst[lo+i] = -v
		}
	})
	return 1, nil
}

// Score implements engine.Scorer.
func (s *System) Score(values []float64, params []float32, format string, states []byte) error {
	stride := len(s.Observables())
	x, k, err := s.decode(format, states)
	if err == nil && len(k)*stride != len(values) {
		err = fmt.Errorf("states: there are %d for %d values of %d each", len(k), len(values), stride)
	}
	if err != nil {
		return err
	}
	weigh := params != nil
	if params == nil {
		params = make([]float32, s.NumParams())
	}
	w := s.newWalk(params, 0, 0, 0)
	w.x, w.k, w.hi = x, k, len(k)
	w.observeAll(values, weigh)
	for i := stride - 1; s.HasDensity() && !weigh && i < len(values); i += stride {
		values[i] = math.NaN()
	}
	return nil
}

// Witness implements engine.Witnesser: that of least squares is a function of a state.
func (s *System) Witness(ctx context.Context, params []float32, fit int) (func(values []float64, format string, states []byte) error, error) {
	o, ok := s.objective.(*leastSquares)
	if !ok {
		return nil, nil
	}
	c, err := engine.FitWitness(ctx, s, params, s.config.Training.Steps, fit, o.fit.Coefficients)
	return func(values []float64, format string, states []byte) error {
		x, k, err := s.decode(format, states)
		if err != nil {
			return err
		}
		o.fit.At(values, c, x, k)
		return nil
	}, err
}

// Refine implements engine.Refiner.
func (s *System) Refine(states []byte, format string, first uint64, steps int) error {
	d := s.target.Dim()
	x, k, err := s.decode(format, states)
	if err == nil {
		err = s.Reach(first, uint64(len(k)), steps)
	}
	if err != nil || steps == 0 {
		return err
	}
	s.eachRow(len(k), nn.BlockRows(), func(m *moveScratch, lo, hi int) {
		moving := rng.Stream(s.config.Training.Seed, rng.SampleTransition, 0)
		var counts moveCounts
		s.transition.run(x[lo*d:hi*d], k[lo:hi], steps, &moving, first+uint64(lo), m, &counts)
	})
	for i, mode := range k {
		row := states[i*(4*d+4):][:4*d+4]
		for j, v := range x[i*d : (i+1)*d] {
			binary.LittleEndian.PutUint32(row[4*j:], math.Float32bits(v))
		}
		binary.LittleEndian.PutUint32(row[4*d:], uint32(mode))
	}
	return nil
}

var (
	_ engine.Scorer  = (*System)(nil)
	_ engine.Refiner = (*System)(nil)
)
