package run

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/pool"
)

// startTally gives the target the context's tally, or a new one, with the limit of the options.
// Evaluations that measure the generator between steps count as those of training.
func (r *run) startTally(ctx *context.Context) error {
	s, ok := r.trainer.System().(engine.Counted)
	if !ok {
		if r.MaxEvaluations > 0 || engine.TallyOf(*ctx).Limited() {
			return fmt.Errorf("max-evaluations: evaluations of %s are not counted; those of reals, mixed and targets in Go are", r.common.System)
		}
		return nil
	}
	if r.tally = engine.TallyOf(*ctx); r.tally == nil {
		r.tally = new(engine.Tally)
	}
	if r.MaxEvaluations > 0 {
		*ctx = r.tally.Limit(*ctx, r.MaxEvaluations)
	}
	s.Count(r.tally)
	return nil
}

// gatherEvaluations asks the other ranks how often they have evaluated the target.
func (r *run) gatherEvaluations() {
	n := r.workers.Size()
	if n == 1 || r.tally == nil {
		return
	}
	byRank := make([]engine.Evaluations, n)
	byRank[r.workers.Rank()] = r.tally.Evaluations()
	r.workers.Gather(n, pool.SpanOf(byRank, 1))
	r.otherRanks = engine.Evaluations{}
	for rank, e := range byRank {
		if rank != r.workers.Rank() {
			r.otherRanks.Add(e)
		}
	}
	r.tally.SetOtherRanks(r.otherRanks.Total())
}

// evaluations returns the sum over all ranks; the others were asked after the last step.
func (r *run) evaluations() engine.Evaluations {
	e := r.tally.Evaluations()
	e.Add(r.otherRanks)
	return e
}

// countedEvaluations returns the evaluations so far, nil where they are not counted.
func (r *run) countedEvaluations() *engine.Evaluations {
	if r.tally == nil {
		return nil
	}
	e := r.evaluations()
	return &e
}

// spentIn returns the evaluations that status.json of a run directory counts, which may be more
// than its checkpoint does.
func spentIn(dir string) (e engine.Evaluations) {
	const maxBytes = 1 << 20 // a status has a few hundred
	var s Status
	if text, err := disk.Read(statusFile(dir), maxBytes); err == nil && json.Unmarshal(text, &s) == nil && s.Evaluations != nil {
		e = *s.Evaluations
	}
	return e
}
