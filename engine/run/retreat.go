package run

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/revgen/revgen/engine"
)

// A run that comes upon a number that is not finite, or whose loss has grown out of all
// proportion, goes back to the last state that was good, and on from there at a lower
// learning rate. Neither depends on where checkpoints are, so that a run that is resumed
// goes back as one that was never stopped.
const (
	mostRefuges = 4    // times that it does
	lowered     = 0.25 // what each leaves of the learning rate
)

// A refuge is the last state that was good.
type refuge struct {
	Step    int     `json:"step"`
	Metrics int64   `json:"metrics_bytes"`
	Moved   float64 `json:"acceptance_sum"`
	First   float64 `json:"first_loss"` // of the run
	Lately  float64 `json:"late_loss"`  // least of the steps since the last multiple of watched
	Least   float64 `json:"least_loss"` // of all steps before those; 0 for none yet
	Taken   int     `json:"taken"`      // times that the run has gone back

	sections []engine.Section
}

// keepRefuge keeps the present state.
func (r *run) keepRefuge() {
	f, now := &r.refuge, r.trainer.State()
	f.Step, f.Metrics, f.Moved = r.trainer.Steps(), r.written, r.moved
	if f.sections == nil {
		f.sections = roomFor(now)
	}
	copySections(f.sections, now)
}

// roomFor returns sections of the same sizes.
func roomFor(all []engine.Section) (room []engine.Section) {
	for _, s := range all {
		s.Name, s.Float32, s.Float64 = "good."+s.Name, slices.Clone(s.Float32), slices.Clone(s.Float64)
		room = append(room, s)
	}
	return room
}

func copySections(dst, src []engine.Section) {
	for i := range dst {
		copy(dst[i].Float32, src[i].Float32)
		copy(dst[i].Float64, src[i].Float64)
	}
}

// retreat goes back after a step that left a number that is not finite. It returns the
// step's error where that has been done too often.
func (r *run) retreat(err error) error {
	bad, ok := errors.AsType[*engine.NonFiniteError](err)
	if !ok || !r.canRetreat() {
		return err
	}
	if r.refuge.Taken == mostRefuges {
		bad.Rate = r.trainer.Eased()
		return err
	}
	return r.goBack(fmt.Sprintf("step %d: the %s is not finite", bad.Step, bad.Tensor))
}

// goBack takes the run to its refuge, and says why.
func (r *run) goBack(why string) error {
	f, t := &r.refuge, r.trainer
	f.Taken++
	copySections(t.State(), f.sections)
	t.Resume(f.Step)
	r.moved, r.pending, r.dirty = f.Moved, nil, true
	r.first = min(r.first, f.Step)
	r.ease()
	r.report(fmt.Sprintf("%s; training goes back to step %d and continues with %g of the learning rate", why, f.Step, t.Eased()))
	return r.rewind(f.Metrics)
}

// ease sets the learning rate to what going back has left of it.
func (r *run) ease() { r.trainer.Ease(math.Pow(lowered, float64(r.refuge.Taken))) }

// rewind takes back what has been logged since metrics.jsonl had so many bytes.
func (r *run) rewind(to int64) error {
	if to >= r.written { // as without a directory, where nothing is
		return nil
	}
	r.written = to
	if err := r.metrics.Truncate(to); err != nil {
		return err
	}
	_, err := r.metrics.Seek(to, io.SeekStart)
	return err
}
