package engine

import (
	"fmt"

	"github.com/revgen/revgen/internal/state"
)

// State lists everything that a checkpoint must hold for the next step to
// come out the same.
func (t *Trainer) State() []Section {
	sections := []Section{{Name: "params", Float32: t.params}}
	if t.search != nil {
		sections = append(sections, t.search.State()...)
	} else {
		sections = append(sections, t.optimizer.State()...)
	}
	return append(sections, state.Of(t.system)...)
}

// Resume sets the number of steps taken. The caller restores State, before or after.
func (t *Trainer) Resume(step int) { t.step, t.loss, t.norm = step, 0, 0 }

// Ease sets the learning rate to a fraction of the configured one.
func (t *Trainer) Ease(fraction float64) { t.eased = fraction }

// Eased returns the fraction that Ease has set, 1 at first.
func (t *Trainer) Eased() float64 { return t.eased }

// Inherit fills θ, which holds starting values, from the parameters of another system, which
// have the same tensors. A system that can start from other tensors has an Inherit of its own:
// it takes the parameters that mean the same, and reports an error if none do.
func (t *Trainer) Inherit(from System, fromParams []float32) error {
	if h, ok := t.system.(interface {
		Inherit(params []float32, from System, fromParams []float32) error
	}); ok {
		return h.Inherit(t.params, from, fromParams)
	}
	namer, named := t.system.(TensorNamer)
	fromNamer, fromNamed := from.(TensorNamer)
	sameShape := len(t.params) == len(fromParams) && named == fromNamed
	for i := 0; sameShape && named && i < len(t.params); i++ {
		sameShape = namer.TensorName(i) == fromNamer.TensorName(i)
	}
	if !sameShape {
		return fmt.Errorf("a generator of %d parameters cannot start from one of another shape, with %d", len(t.params), len(fromParams))
	}
	copy(t.params, fromParams)
	return nil
}
