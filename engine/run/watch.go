package run

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Pairs with s′ = s contribute nothing to the loss: a run whose proposals are nearly
// all rejected learns nothing. Acceptance is watched in every step, because an annealed
// kernel rejects at the end what it accepted at first.
const (
	acceptanceSteps = 50 // over which acceptance is averaged
	minAcceptance   = 0.01
)

// acceptanceWarning is a part of every warning of watchAcceptance.
const acceptanceWarning = "of the proposals of "

// watchAcceptance warns once if hardly any proposal of acceptanceSteps steps was accepted.
func (r *run) watchAcceptance() {
	n, step := min(acceptanceSteps, r.common.Training.Steps), r.trainer.Steps()
	r.acceptanceSum += r.trainer.System().Acceptance()
	if step%n != 0 {
		return
	}
	mean := r.acceptanceSum / float64(n)
	r.acceptanceSum = 0
	if slices.ContainsFunc(r.warnings, func(w string) bool { return strings.Contains(w, acceptanceWarning) }) {
		return
	}
	switch {
	case mean >= minAcceptance:
	case step == n:
		r.report(fmt.Sprintf("only %.2g %% "+acceptanceWarning+"the first %d steps were accepted: the generator starts too far from the target to learn; start it nearer (generator), propose smaller or more varied moves (transition), or train at a higher temperature first", 100*mean, n))
	default:
		r.report(fmt.Sprintf("only %.2g %% "+acceptanceWarning+"steps %d to %d were accepted: a pair whose move is rejected teaches nothing; propose smaller or more varied moves (transition)", 100*mean, step-n+1, step))
	}
}

// How the loss is watched, and how often a good state is kept.
const (
	refugeEvery = 200 // steps between states that a run can go back to
	maxGrowth   = 10  // of a good state's loss over the first step's, or over the least
	lossWindow  = 50  // steps whose least loss is compared with the least before them
)

// canRetreat reports whether the run keeps states that it can go back to.
func (r *run) canRetreat() bool { return r.common.Training.Method == "gradient" }

// updateRefuge keeps the state after every refugeEvery steps, unless the loss has grown out of
// all proportion.
func (r *run) updateRefuge() {
	f, step := &r.refuge, r.trainer.Steps()
	size := math.Abs(r.trainer.Loss())
	if step == 1 {
		f.FirstLoss = size
	}
	if r.canRetreat() && step%refugeEvery == 0 && (f.FirstLoss == 0 || size <= maxGrowth*f.FirstLoss) {
		r.keepRefuge()
	}
}

// divergence returns a warning if even the least loss of the last lossWindow steps is far above
// the least before them, and "" otherwise. A step that was too long may have led the generator
// to where the target nearly vanishes. R is in nats: a loss below 1 is small, and taken for 1.
func (r *run) divergence() (warning string) {
	f, step := &r.refuge, r.trainer.Steps()
	size := math.Abs(r.trainer.Loss())
	if step%lossWindow != 1 {
		size = min(size, f.WindowLoss)
	}
	f.WindowLoss = size
	switch {
	case step%lossWindow != 0:
	case f.LeastLoss == 0 || size <= maxGrowth*max(1, f.LeastLoss):
		if f.LeastLoss == 0 || size < f.LeastLoss {
			f.LeastLoss = size
		}
	case r.canRetreat() && f.Retreats < maxRetreats:
		return fmt.Sprintf("step %d: the loss is at least %.2g for %d steps, and was %.2g before", step, size, lossWindow, f.LeastLoss)
	}
	return ""
}
