package vectors

import "slices"

// A Target is a distribution π of real vectors x, or of states (x, k) of a vector and a
// mode, known up to one constant factor. It is all that training needs.
type Target interface {
	// Dim returns d, the number of coordinates of x.
	Dim() int
	// LogDensity sets dst[r] = ln π(x_r, k_r) + const, the constant that of all modes, for
	// the rows of x, [len(dst)][d], row-major; −Inf where π vanishes. Where there are no
	// modes k is nil. Unless the target is a Cloner, calls may be concurrent.
	LogDensity(dst, x []float32, k []uint8)
}

// A Modal target has modes.
type Modal interface {
	Target
	// Modes returns M, at most MaxModes; k = 0 … M−1. Without modes it is 0.
	Modes() int
}

// A Laborious target says how many numbers an evaluation computes, a nanosecond's work each. The look
// that follows a training takes the fewer steps the more they are; without it they are taken for few.
type Laborious interface{ Operations() int }

// dearFrom is from how many numbers on an evaluation is dear.
const dearFrom = 1 << 14

// Dear reports whether quick is to evaluate a target as seldom as it can.
func Dear(target any) bool {
	l, ok := target.(Laborious)
	return ok && l.Operations() >= dearFrom
}

// MaxModes is the largest number of modes.
const MaxModes = 256

// modesOf returns M, 0 without modes.
func modesOf(t Target) int {
	if m, ok := t.(Modal); ok {
		return m.Modes()
	}
	return 0
}

// A Cloner is a Target whose LogDensity uses buffers. Each thread takes a clone
// of its own.
type Cloner interface {
	Target
	Clone() Target
}

// A Precise target gives ln π in float64, where the ratio of two densities would
// lose its digits in float32.
type Precise interface {
	Target
	// LogDensity64 is LogDensity in float64.
	LogDensity64(dst []float64, x []float32, k []uint8)
}

// A Placed target says where the weight of its modes is, or its own, as far as that is
// known: chains begin about the centre, within once and within thrice the scale. A teleport
// from mode k to mode l leads from x to c_l + (σ_l/σ_k)(x − c_k), and a flip in mode k
// reflects at c_k. Any other target has all centres at 0, and scales of 1 with modes
// and 3 without.
type Placed interface {
	Target
	// Place returns the centre, [d], and the scale > 0 of a mode, 0 if there are none.
	Place(mode int) (center []float64, scale float64)
}

// An Observed target adds functions of its own to what is measured of a state.
type Observed interface {
	Target
	// Observables names them.
	Observables() []string
	// Observe sets dst[r·stride + i] to function i of the state (x_r, k_r), whose layout is
	// LogDensity's, which has said that ln π is logPi[r]. Unless the target is a Cloner, calls
	// may be concurrent.
	Observe(dst []float64, stride int, logPi []float64, x []float32, k []uint8)
}

// Evaluator returns ln π of a target for one thread, in float64 as a Precise target has it.
func Evaluator(t Target) func(dst []float64, x []float32, k []uint8) { return densityOf(own(t)) }

// own returns what one thread may call.
func own(t Target) Target {
	if c, ok := t.(Cloner); ok {
		return c.Clone()
	}
	return t
}

// densityOf returns what one thread evaluates: ln π in float64, as a Precise target has
// it.
func densityOf(t Target) func(dst []float64, x []float32, k []uint8) {
	if p, ok := t.(Precise); ok {
		return p.LogDensity64
	}
	narrow := make([]float32, strip)
	return func(dst []float64, x []float32, k []uint8) {
		narrow = slices.Grow(narrow[:0], len(dst))[:len(dst)]
		t.LogDensity(narrow, x, k)
		for r, v := range narrow {
			dst[r] = float64(v)
		}
	}
}

// placeOf returns the centre and the scale of a mode.
func placeOf(t Target, mode int) (center []float64, scale float64) {
	if p, ok := t.(Placed); ok {
		return p.Place(mode)
	}
	scale = 1
	if modesOf(t) == 0 {
		scale = 3
	}
	return make([]float64, t.Dim()), scale
}
