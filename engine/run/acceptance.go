package run

import (
	"fmt"
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
