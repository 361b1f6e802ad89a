package vectors

import "slices"

// A Target is a distribution π of real vectors x, or of states (x, k) of a vector and a
// mode, known up to one constant factor. It is all that training needs.
type Target interface {
	// Dim returns d, the number of coordinates of x.
	Dim() int
	// LogDensity sets dst[r] = ln π(x_r, k_r) + const for the rows of x, [len(dst)][d], row-major,
	// and −Inf where π vanishes. The constant is the same for all modes; without modes k is nil.
	// Unless the target is a Cloner, calls may be concurrent.
	LogDensity(dst, x []float32, k []uint8)
}

// A Modal target has modes.
type Modal interface {
	Target
	// Modes returns M, at most MaxModes: k = 0 … M−1. It is 0 for a target without modes.
	Modes() int
}

// A Laborious target says how many operations of a nanosecond an evaluation takes. The more there are,
// the fewer steps the look after a training takes. Other targets are assumed to take few.
type Laborious interface{ Operations() int }

// dearOperations is how many operations make an evaluation dear.
const dearOperations = 1 << 14

// Dear reports whether quick is to evaluate a target as seldom as it can.
func Dear(target any) bool {
	l, ok := target.(Laborious)
	return ok && l.Operations() >= dearOperations
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

// A Placed target says where the weight of each mode is, or without modes its own, as far as that is
// known. Chains begin normally distributed about the centre c, with standard deviations of once
// and of three times the scale σ. A teleport from mode k to mode l leads from x to
// c_l + (σ_l/σ_k)(x − c_k), and a flip in mode k reflects at c_k. Any other target has all centres
// at 0, and scales of 1 with modes and 3 without.
type Placed interface {
	Target
	// Place returns the centre, [d], and the scale > 0 of a mode; mode is 0 without modes.
	Place(mode int) (center []float64, scale float64)
}

// An Observed target adds observables of its own to those of the kit.
type Observed interface {
	Target
	// Observables names them.
	Observables() []string
	// Observe sets dst[r·stride + i] to observable i of the state (x_r, k_r). The layout of x and k,
	// and logPi, are those of LogDensity. Unless the target is a Cloner, calls may be concurrent.
	Observe(dst []float64, stride int, logPi []float64, x []float32, k []uint8)
}

// Evaluator returns ln π of a target for one thread, in float64.
func Evaluator(t Target) func(dst []float64, x []float32, k []uint8) {
	return densityOf(threadTarget(t))
}

// threadTarget returns the target that one thread may call: a clone of a Cloner.
func threadTarget(t Target) Target {
	if c, ok := t.(Cloner); ok {
		return c.Clone()
	}
	return t
}

// densityOf returns ln π of a target that one thread may call, in float64: to full precision for a
// Precise target, otherwise converted.
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

// placeOf returns the centre and the scale of a mode, as Placed describes them.
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
