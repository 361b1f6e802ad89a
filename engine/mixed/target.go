package mixed

import "slices"

// A Target is a distribution π of states (x, k) of a real vector x and a mode
// k, known up to one constant factor. It is all that training needs.
type Target interface {
	// Dim returns d, the number of coordinates of x.
	Dim() int
	// Modes returns M, at most MaxModes; k = 0 … M−1.
	Modes() int
	// LogDensity sets dst[r] = ln π(x_r, k_r) + const, the constant that of all
	// modes, for the rows of x, [len(dst)][d], row-major; −Inf where π vanishes.
	// Unless the target is a Cloner, calls may be concurrent.
	LogDensity(dst, x []float32, k []uint8)
}

// MaxModes is the largest number of modes.
const MaxModes = 256

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

// A Placed target says where its modes are. A teleport from mode k to mode l then
// leads from x to c_l + (σ_l/σ_k)(x − c_k), and a flip in mode k reflects at c_k. Of
// any other target all centres are 0 and all scales are 1.
type Placed interface {
	Target
	// Place returns the centre c_k, [d], and the scale σ_k > 0 of a mode.
	Place(k int) (center []float64, scale float64)
}

// An Observed target adds functions of its own to what is measured of a state.
type Observed interface {
	Target
	// Observables names them.
	Observables() []string
	// Observe sets dst[r·stride + i] to function i of the state (x_r, k_r), x
	// row-major [len(k)][d]. Unless the target is a Cloner, calls may be concurrent.
	Observe(dst []float64, stride int, x []float32, k []uint8)
}

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

// place returns the centre and the scale of a mode.
func place(t Target, k int) (center []float64, scale float64) {
	if p, ok := t.(Placed); ok {
		return p.Place(k)
	}
	return make([]float64, t.Dim()), 1
}
