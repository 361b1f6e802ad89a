package engine

import (
	"fmt"

	"github.com/revgen/revgen/internal/state"
)

// State lists everything that a checkpoint must hold for the next step to
// come out the same.
func (t *Trainer) State() []Section {
	all := []Section{{Name: "params", Float32: t.params}}
	if t.search != nil {
		all = append(all, t.search.State()...)
	} else {
		all = append(all, t.optimizer.State()...)
	}
	return append(all, state.Of(t.system)...)
}

// Resume sets the number of steps taken, those of the present or a coming State.
func (t *Trainer) Resume(step int) { t.step, t.loss, t.norm = step, 0, 0 }

// Ease sets the learning rate to a fraction of the configured one.
func (t *Trainer) Ease(fraction float64) { t.eased = fraction }

// Eased returns that fraction.
func (t *Trainer) Eased() float64 { return t.eased }

// Inherit fills θ, which holds starting values, from the parameters of another system. A
// system that can start from one of another shape has this method too: it takes what has
// the same meaning, and reports an error if nothing has.
func (t *Trainer) Inherit(from System, theirs []float32) error {
	if h, ok := t.system.(interface {
		Inherit(params []float32, from System, theirs []float32) error
	}); ok {
		return h.Inherit(t.params, from, theirs)
	}
	mine, named := t.system.(TensorNamer)
	other, theirsNamed := from.(TensorNamer)
	same := len(t.params) == len(theirs) && named == theirsNamed
	for i := 0; same && named && i < len(t.params); i++ {
		same = mine.TensorName(i) == other.TensorName(i)
	}
	if !same {
		return fmt.Errorf("a generator of %d parameters cannot start from one of another shape, with %d", len(t.params), len(theirs))
	}
	copy(t.params, theirs)
	return nil
}
