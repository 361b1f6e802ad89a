package run

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/pool"
)

// If several ranks train, each goes through the same steps, with its part of the
// work and all of the result. Rank 0 alone reads, writes, measures and talks.

func (r *run) agree(err error) error { return engine.Agree(r.workers, err) }

// stepping is the context of a step, which all ranks take to its end.
func (r *run) stepping(ctx context.Context) context.Context {
	if r.workers.Size() == 1 {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// share gives all ranks what rank 0 has restored.
func (r *run) share() {
	if r.workers.Size() == 1 {
		return
	}
	at := struct {
		Step, Saved   int
		Before, Moved float64
		Refuge        refuge
		Good          bool // there is a state to go back to
	}{r.trainer.Steps(), r.saved, r.before, r.moved, r.refuge, r.refuge.sections != nil}
	text := r.workers.Text(crash.Must(json.Marshal(at))) // of finite numbers
	crash.Must(&at, json.Unmarshal(text, &at))
	r.trainer.Resume(at.Step)
	r.saved, r.before, r.moved = at.Saved, at.Before, at.Moved
	if r.saved < 0 {
		return
	}
	sections := r.trainer.State()
	at.Refuge.sections = r.refuge.sections
	if r.refuge = at.Refuge; at.Good {
		if r.refuge.sections == nil {
			r.refuge.sections = roomFor(sections)
		}
		sections = slices.Concat(sections, r.refuge.sections)
	}
	r.ease()
	for _, s := range sections {
		r.workers.Tell(asm.Bytes(s.Float32))
		r.workers.Tell(asm.Bytes(s.Float64))
	}
}

// count gives the target the context's tally, or one of the run's own, with the limit of the
// options. Evaluations during training count as such, those that measure it on the way
// included.
func (r *run) count(ctx *context.Context) error {
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

// gather asks the other ranks how often they have evaluated the target.
func (r *run) gather() {
	n := r.workers.Size()
	if n == 1 || r.tally == nil {
		return
	}
	all := make([]engine.Evaluations, n)
	all[r.workers.Rank()] = r.tally.Evaluations()
	r.workers.Gather(n, pool.SpanOf(all, 1))
	r.others = engine.Evaluations{}
	for rank, e := range all {
		if rank != r.workers.Rank() {
			r.others.Add(e)
		}
	}
	r.tally.SetOtherRanks(r.others.Total())
}

// evaluations returns those of all ranks, of the others by the last step.
func (r *run) evaluations() engine.Evaluations {
	all := r.tally.Evaluations()
	all.Add(r.others)
	return all
}

// probe compares what the targets of all ranks answer, before any of them is believed.
func (r *run) probe(ctx context.Context) error {
	p, ok := r.trainer.System().(engine.Prober)
	n := r.workers.Size()
	if !ok || n == 1 {
		return nil
	}
	defer engine.Interruptible(ctx, r.trainer.System())()
	answers, err := p.Probe()
	if err = r.agree(err); err != nil || answers == nil {
		return err
	}
	h := sha256.New()
	if err := binary.Write(h, binary.LittleEndian, answers); err != nil {
		return err
	}
	digests := make([][sha256.Size]byte, n)
	h.Sum(digests[r.workers.Rank()][:0])
	r.workers.Gather(n, pool.SpanOf(digests, 1))
	var others []string
	for rank, d := range digests {
		if d != digests[0] {
			others = append(others, strconv.Itoa(rank))
		}
	}
	if len(others) == 0 {
		return nil
	}
	which := "rank"
	if len(others) > 1 {
		which = "ranks"
	}
	return fmt.Errorf("%s: on %s %s it answers otherwise than on rank 0 to the same questions; all ranks need the same program with the same data", p.Key(), which, strings.Join(others, ", "))
}
