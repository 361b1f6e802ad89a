package run

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/revgen/revgen/engine"
)

// A run with a number that is not finite, or whose loss has grown out of all proportion, goes
// back to the last good state, and continues there at a lower learning rate. Good states do
// not depend on where checkpoints are, so that a run that is resumed goes back to the same
// state as one that was never stopped.
const (
	maxRetreats = 4    // of a run
	rateFactor  = 0.25 // by which each retreat multiplies the learning rate
)

// A refuge is the last good state.
type refuge struct {
	Step          int     `json:"step"`
	MetricsBytes  int64   `json:"metrics_bytes"`  // length of metrics.jsonl at that step
	AcceptanceSum float64 `json:"acceptance_sum"` // over the stretch that the step is in
	FirstLoss     float64 `json:"first_loss"`     // of the run
	WindowLoss    float64 `json:"late_loss"`      // least of the present window of lossWindow steps
	LeastLoss     float64 `json:"least_loss"`     // of all windows before; 0 for none yet
	Retreats      int     `json:"taken"`          // of the run so far

	sections []engine.Section
}

// keepRefuge keeps the present state.
func (r *run) keepRefuge() {
	f, state := &r.refuge, r.trainer.State()
	f.Step, f.MetricsBytes, f.AcceptanceSum = r.trainer.Steps(), r.metricsBytes, r.acceptanceSum
	if f.sections == nil {
		f.sections = refugeSections(state)
	}
	copySections(f.sections, state)
}

// refugeSections returns copies of sections under the names of a refuge's.
func refugeSections(sections []engine.Section) (copies []engine.Section) {
	for _, s := range sections {
		s.Name, s.Float32, s.Float64 = "good."+s.Name, slices.Clone(s.Float32), slices.Clone(s.Float64)
		copies = append(copies, s)
	}
	return copies
}

func copySections(dst, src []engine.Section) {
	for i := range dst {
		copy(dst[i].Float32, src[i].Float32)
		copy(dst[i].Float64, src[i].Float64)
	}
}

// retreat goes back after a step whose error is a number that is not finite. It returns the
// error if that has been done maxRetreats times, and any other error.
func (r *run) retreat(err error) error {
	bad, ok := errors.AsType[*engine.NonFiniteError](err)
	if !ok || !r.canRetreat() {
		return err
	}
	if r.refuge.Retreats == maxRetreats {
		bad.Rate = r.trainer.Eased()
		return err
	}
	return r.goBack(fmt.Sprintf("step %d: the %s is not finite", bad.Step, bad.Tensor))
}

// goBack takes the run to its refuge, and says why.
func (r *run) goBack(why string) error {
	f, t := &r.refuge, r.trainer
	f.Retreats++
	copySections(t.State(), f.sections)
	t.Resume(f.Step)
	r.acceptanceSum, r.pending, r.dirty = f.AcceptanceSum, nil, true
	r.firstStep = min(r.firstStep, f.Step)
	r.ease()
	r.report(fmt.Sprintf("%s; training goes back to step %d and continues with %g of the learning rate", why, f.Step, t.Eased()))
	return r.rewind(f.MetricsBytes)
}

// ease sets the learning rate to what the retreats so far have left of it.
func (r *run) ease() { r.trainer.Ease(math.Pow(rateFactor, float64(r.refuge.Retreats))) }

// rewind cuts metrics.jsonl to the given number of bytes.
func (r *run) rewind(size int64) error {
	if size >= r.metricsBytes { // always so without a directory, where nothing is logged
		return nil
	}
	r.metricsBytes = size
	if err := r.metrics.Truncate(size); err != nil {
		return err
	}
	_, err := r.metrics.Seek(size, io.SeekStart)
	return err
}
