package vectors

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/lists"
)

// States are a batch of real vectors, each with a mode where their law has modes.
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

// mode returns that of state i, 0 where there are none.
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

// shown returns states in the coordinates that they have outside.
func (e *Ensemble) shown(s States) States {
	if e.Chart != nil {
		s, _ = e.Chart.ToTarget(s)
	}
	return s
}

// write writes states in rows of so many bytes, with their modes where the rows have
// room for them.
func (e *Ensemble) write(dst []byte, s States, row int) { e.shown(s).write(dst, row) }

func (s States) write(dst []byte, row int) {
	for i := range s.Len() {
		at := dst[i*row:]
		for j, v := range s.X[i*s.Dim : (i+1)*s.Dim] {
			binary.LittleEndian.PutUint32(at[4*j:], math.Float32bits(v))
		}
		if s.K != nil && row > 4*s.Dim {
			binary.LittleEndian.PutUint32(at[4*s.Dim:], uint32(s.K[i]))
		}
	}
}

// Names of formats.
const (
	whole = "states"
	alone = "x" // without modes
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
	all := []engine.Format{{Name: whole, Descr: "'<f4'", Shape: shape, RowBytes: e.row(), Doc: doc}}
	if e.Modes > 0 {
		if d == 1 {
			columns, shape = "('x', '<f4')", nil
		}
		columns += ", ('k', '<i4')"
		all = []engine.Format{
			{Name: whole, Descr: "[" + columns + "]", RowBytes: e.row(), Doc: doc + " and the mode k = 0 … M−1 as int32"},
			{Name: alone, Descr: "'<f4'", Shape: shape, RowBytes: 4 * d, Doc: "the coordinates of x alone as float32"},
		}
		doc += ", the mode k as int32"
	}
	if e.Dense {
		all = append(all, engine.Format{
			Name: engine.Weighted, Descr: "[" + columns + ", ('log_weight', '<f8')]", RowBytes: e.row() + 8,
			Doc:       doc + ", and ln w = ln π − ln q as float64: means over π are Σ w f / Σ w, and Z is the mean of w",
			Unrefined: true,
		})
	}
	return all
}

// row returns the bytes of a state.
func (e *Ensemble) row() int {
	if e.Modes > 0 {
		return 4*e.Dim + 4
	}
	return 4 * e.Dim
}

// rowBytes returns those of a state in a format that holds no weights.
func (e *Ensemble) rowBytes(format string) (int, error) {
	switch {
	case format == whole:
		return e.row(), nil
	case e.Modes == 0:
		return 0, fmt.Errorf("format: %q is not states", format)
	case format == alone:
		return 4 * e.Dim, nil
	}
	return 0, fmt.Errorf("format: %q is not states or x", format)
}

// described says what a state is, as the end of a sentence.
func (e *Ensemble) described() string {
	if e.Modes > 0 {
		return fmt.Sprintf("states of %d coordinates and a mode", e.Dim)
	}
	return fmt.Sprintf("states of %d coordinates", e.Dim)
}

// learn reads finite states in a format of Formats that has their modes, and returns what a
// chart adds to their energies.
func (e *Ensemble) learn(format string, states []byte) (s States, added []float64, err error) {
	if s, err = e.parse(format, states); err == nil && e.Chart != nil {
		added, err = e.Chart.ToLearned(s)
	}
	return s, added, err
}

// parse reads states as they are outside.
func (e *Ensemble) parse(format string, states []byte) (s States, err error) {
	d, row := e.Dim, e.row()
	switch {
	case format == alone && e.Modes > 0:
		return s, fmt.Errorf("format: x says nothing of the modes; take states")
	case format != whole:
		return s, fmt.Errorf("format: %q is not states", format)
	case len(states)%row != 0:
		return s, fmt.Errorf("states: %d bytes are not a number of %s", len(states), e.described())
	}
	s = e.NewStates(len(states) / row)
	for i := range s.Len() {
		for j := range d {
			s.X[i*d+j] = math.Float32frombits(binary.LittleEndian.Uint32(states[i*row+4*j:]))
		}
	}
	if err := s.finite(); err != nil {
		return s, err
	}
	for i := range s.K {
		mode := int32(binary.LittleEndian.Uint32(states[i*row+4*d:]))
		if mode < 0 || int(mode) >= e.Modes {
			return s, fmt.Errorf("states: the mode of state %d is %d; there are modes 0 to %d", i, mode, e.Modes-1)
		}
		s.K[i] = uint8(mode)
	}
	return s, nil
}

// finite reports the first coordinate that is not.
func (s States) finite() error {
	for i, v := range s.X {
		if v-v != 0 {
			return fmt.Errorf("states: coordinate %d of state %d is %v", i%s.Dim, i/s.Dim, v)
		}
	}
	return nil
}

// Convert implements engine.Scorer.
func (e *Ensemble) Convert(dst []byte, format string, states []byte) error {
	row, err := e.rowBytes(format)
	if err != nil {
		return err
	}
	from := e.row()
	if len(states)%from != 0 || len(dst) != len(states)/from*row {
		return fmt.Errorf("states: %d bytes are not %d %s", len(states), len(dst)/row, e.described())
	}
	for i := range len(states) / from {
		copy(dst[i*row:(i+1)*row], states[i*from:])
	}
	return nil
}
