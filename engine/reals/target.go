package reals

// A Target is a distribution π of real vectors, known up to a constant factor.
// It is all that training needs.
type Target interface {
	// Dim returns d, the number of coordinates of a state.
	Dim() int
	// LogDensity sets dst[r] = ln π(x_r) + const for the rows of x,
	// [len(dst)][d], row-major; −Inf where π vanishes. Unless the target is a
	// Cloner, calls may be concurrent.
	LogDensity(dst, x []float32)
}

// A Placed target says where its weight is, as far as that is known: chains begin
// about the centre, within once and within thrice the scale. Of any other target the
// centre is 0 and the scale is 3.
type Placed interface {
	Target
	Place() (center []float64, scale float64)
}

// place returns the centre and the scale of a target.
func place(t Target) (center []float64, scale float64) {
	if p, ok := t.(Placed); ok {
		return p.Place()
	}
	return make([]float64, t.Dim()), 3
}

// An Observed target adds functions of its own to what is measured of a state: the
// weights of its modes, say.
type Observed interface {
	Target
	// Observables names them.
	Observables() []string
	// Observe sets dst[r·stride + i] to function i of row r of x, row-major
	// [rows][d]. Unless the target is a Cloner, calls may be concurrent.
	Observe(dst []float64, stride int, x []float32)
}

// A Cloner is a Target whose LogDensity uses buffers. Each thread takes a clone
// of its own.
type Cloner interface {
	Target
	Clone() Target
}

// own returns what one thread may call.
func own(t Target) Target {
	if c, ok := t.(Cloner); ok {
		return c.Clone()
	}
	return t
}
