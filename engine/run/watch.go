package run

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Pairs with s′ = s contribute nothing to the loss: a run whose proposals are nearly
// all rejected learns nothing. Acceptance is watched all along, because an annealed
// kernel accepts at first what it rejects at last.
const (
	acceptanceSteps = 50
	leastAcceptance = 0.01
)

// stuck is what warnings of rejected proposals have in common.
const stuck = "of the proposals of "

// watchAcceptance warns once, if hardly any proposal of a stretch of steps was
// accepted.
func (r *run) watchAcceptance() {
	n, step := min(acceptanceSteps, r.common.Training.Steps), r.trainer.Steps()
	r.moved += r.trainer.System().Acceptance()
	if step%n != 0 {
		return
	}
	mean := r.moved / float64(n)
	r.moved = 0
	if slices.ContainsFunc(r.warnings, func(w string) bool { return strings.Contains(w, stuck) }) {
		return
	}
	switch {
	case mean >= leastAcceptance:
	case step == n:
		r.report(fmt.Sprintf("only %.2g %% "+stuck+"the first %d steps were accepted: the generator starts too far from the target to learn; start it nearer (generator), propose smaller or more varied moves (transition), or train at a higher temperature first", 100*mean, n))
	default:
		r.report(fmt.Sprintf("only %.2g %% "+stuck+"steps %d to %d were accepted: a pair whose move is rejected teaches nothing; propose smaller or more varied moves (transition)", 100*mean, step-n+1, step))
	}
}

// What is watched of the loss, and how often the state is kept that it speaks for.
const (
	refugeEvery = 200 // steps between states that a run can go back to
	wild        = 10  // times the first step's loss, or the least, from which on a state is not good
	watched     = 50  // steps of which the least loss is compared with that of those before
)

// canRetreat reports whether the run keeps states that it can go back to.
func (r *run) canRetreat() bool { return r.common.Training.Method == "gradient" }

// haven keeps the state after certain steps, unless the loss has grown out of all proportion.
func (r *run) haven() {
	f, step := &r.refuge, r.trainer.Steps()
	size := math.Abs(r.trainer.Loss())
	if step == 1 {
		f.First = size
	}
	if r.canRetreat() && step%refugeEvery == 0 && (f.First == 0 || size <= wild*f.First) {
		r.keepRefuge()
	}
}

// astray says so if even the least loss of the last steps is far more than it was before, as
// where a step that was too long has led the generator to where the target is next to nothing.
// R is in nats: a loss below 1, which is small, is taken for 1.
func (r *run) astray() (why string) {
	f, step := &r.refuge, r.trainer.Steps()
	size := math.Abs(r.trainer.Loss())
	if step%watched != 1 {
		size = min(size, f.Lately)
	}
	f.Lately = size
	switch {
	case step%watched != 0:
	case f.Least == 0 || size <= wild*max(1, f.Least):
		if f.Least == 0 || size < f.Least {
			f.Least = size
		}
	case r.canRetreat() && f.Taken < mostRefuges:
		return fmt.Sprintf("step %d: the loss is at least %.2g for %d steps, and was %.2g before", step, size, watched, f.Least)
	}
	return ""
}
