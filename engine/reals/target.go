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
