// Package state has the sections of checkpoints. What is carried from one training step to the
// next lists its own sections, so checkpoints need not know their owners.
package state

// A Section is a named array of a model or checkpoint file. Exactly one of the
// slices is set. Reading a file fills the slice in place.
type Section struct {
	Name    string
	Float32 []float32
	Float64 []float64
}

// Of returns the sections of x, which has a method State if it carries any.
func Of(x any) []Section {
	if s, ok := x.(interface{ State() []Section }); ok {
		return s.State()
	}
	return nil
}
