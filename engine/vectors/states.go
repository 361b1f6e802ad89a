package vectors

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/lists"
)

// States are a batch of n real vectors x, each with a mode k where the target has modes.
type States struct {
	Dim int       // d
	X   []float32 // [n][d], row-major
	K   []uint8   // [n], or nil where there are no modes
}

// Len returns n.
func (s States) Len() int { return len(s.X) / s.Dim }

// Part returns the states lo … hi−1.
func (s States) Part(lo, hi int) States {
	return States{s.Dim, s.X[lo*s.Dim : hi*s.Dim], lists.Part(s.K, lo, hi)}
}

// mode returns the mode of state i, 0 without modes.
func (s States) mode(i int) int {
	if s.K == nil {
		return 0
	}
	return int(s.K[i])
}

// set sets the states to others of the same number.
func (s States) set(t States) {
	copy(s.X, t.X)
	copy(s.K, t.K)
}

// toTarget returns states in the target's coordinates.
func (e *Ensemble) toTarget(s States) States {
	if e.Chart != nil {
		s, _ = e.Chart.ToTarget(s)
	}
	return s
}

// write writes learned states in the target's coordinates.
func (e *Ensemble) write(dst []byte, s States, rowBytes int) { e.toTarget(s).write(dst, rowBytes) }

// write writes states in rows of the given length, with their modes where the rows have room.
func (s States) write(dst []byte, rowBytes int) {
	for i := range s.Len() {
		row := dst[i*rowBytes:]
		for j, v := range s.X[i*s.Dim : (i+1)*s.Dim] {
			binary.LittleEndian.PutUint32(row[4*j:], math.Float32bits(v))
		}
		if s.K != nil && rowBytes > 4*s.Dim {
			binary.LittleEndian.PutUint32(row[4*s.Dim:], uint32(s.K[i]))
		}
	}
}

// Names of formats.
const (
	statesFormat = "states" // x, and with modes k
	xFormat      = "x"      // of states with modes, x alone
)

// NewStates returns n states, all 0.
func (e *Ensemble) NewStates(n int) States { return newStates(n, e.Dim, e.Modes) }

func newStates(n, dim, modes int) States {
	s := States{Dim: dim, X: make([]float32, n*dim)}
	if modes > 0 {
		s.K = make([]uint8, n)
	}
	return s
}

// Formats lists the layouts of samples.
func (e *Ensemble) Formats() []engine.Format {
	d, shape := e.Dim, []int{e.Dim}
	columns, doc := fmt.Sprintf("('x', '<f4', (%d,))", d), "the coordinates of x as float32"
	all := []engine.Format{{Name: statesFormat, Descr: "'<f4'", Shape: shape, RowBytes: e.stateBytes(), Doc: doc}}
	if e.Modes > 0 {
		if d == 1 {
			columns, shape = "('x', '<f4')", nil
		}
		columns += ", ('k', '<i4')"
		all = []engine.Format{
			{Name: statesFormat, Descr: "[" + columns + "]", RowBytes: e.stateBytes(), Doc: doc + " and the mode k = 0 … M−1 as int32"},
			{Name: xFormat, Descr: "'<f4'", Shape: shape, RowBytes: 4 * d, Doc: "the coordinates of x alone as float32"},
		}
		doc += ", the mode k as int32"
	}
	if e.Dense {
		all = append(all, engine.Format{
			Name: engine.Weighted, Descr: "[" + columns + ", ('log_weight', '<f8')]", RowBytes: e.stateBytes() + 8,
			Doc:       doc + ", and ln w = ln π − ln q as float64: means over π are Σ w f / Σ w, and Z is the mean of w",
			Unrefined: true,
		})
	}
	return all
}

// stateBytes returns the bytes of a state in the format "states".
func (e *Ensemble) stateBytes() int {
	if e.Modes > 0 {
		return 4*e.Dim + 4
	}
	return 4 * e.Dim
}

// rowBytes returns the bytes of a state in a format without weights.
func (e *Ensemble) rowBytes(format string) (int, error) {
	switch {
	case format == statesFormat:
		return e.stateBytes(), nil
	case e.Modes == 0:
		return 0, fmt.Errorf("format: %q is not states", format)
	case format == xFormat:
		return 4 * e.Dim, nil
	}
	return 0, fmt.Errorf("format: %q is not states or x", format)
}

// stateName describes states, as the end of a sentence.
func (e *Ensemble) stateName() string {
	if e.Modes > 0 {
		return fmt.Sprintf("states of %d coordinates and a mode", e.Dim)
	}
	return fmt.Sprintf("states of %d coordinates", e.Dim)
}

// toLearned reads finite states in the format "states", in the learned coordinates, and the energies that
// a chart adds.
func (e *Ensemble) toLearned(format string, states []byte) (s States, energies []float64, err error) {
	if s, err = e.parse(format, states); err == nil && e.Chart != nil {
		energies, err = e.Chart.ToLearned(s)
	}
	return s, energies, err
}

// parse reads finite states in the format "states", in the target's coordinates.
func (e *Ensemble) parse(format string, states []byte) (s States, err error) {
	d, rowBytes := e.Dim, e.stateBytes()
	switch {
	case format == xFormat && e.Modes > 0:
		return s, fmt.Errorf("format: x says nothing of the modes; take states")
	case format != statesFormat:
		return s, fmt.Errorf("format: %q is not states", format)
	case len(states)%rowBytes != 0:
		return s, fmt.Errorf("states: %d bytes are not a number of %s", len(states), e.stateName())
	}
	s = e.NewStates(len(states) / rowBytes)
	for i := range s.Len() {
		for j := range d {
			s.X[i*d+j] = math.Float32frombits(binary.LittleEndian.Uint32(states[i*rowBytes+4*j:]))
		}
	}
	if err := s.checkFinite(); err != nil {
		return s, err
	}
	for i := range s.K {
		mode := int32(binary.LittleEndian.Uint32(states[i*rowBytes+4*d:]))
		if mode < 0 || int(mode) >= e.Modes {
			return s, fmt.Errorf("states: the mode of state %d is %d; there are modes 0 to %d", i, mode, e.Modes-1)
		}
		s.K[i] = uint8(mode)
	}
	return s, nil
}

// checkFinite reports the first coordinate that is not finite.
func (s States) checkFinite() error {
	for i, v := range s.X {
		if v-v != 0 {
			return fmt.Errorf("states: coordinate %d of state %d is %v", i%s.Dim, i/s.Dim, v)
		}
	}
	return nil
}

// Convert implements engine.Scorer.
func (e *Ensemble) Convert(dst []byte, format string, states []byte) error {
	dstBytes, err := e.rowBytes(format)
	if err != nil {
		return err
	}
	srcBytes := e.stateBytes()
	if len(states)%srcBytes != 0 || len(dst) != len(states)/srcBytes*dstBytes {
		return fmt.Errorf("states: %d bytes are not %d %s", len(states), len(dst)/dstBytes, e.stateName())
	}
	for i := range len(states) / srcBytes {
		copy(dst[i*dstBytes:(i+1)*dstBytes], states[i*srcBytes:])
	}
	return nil
}
