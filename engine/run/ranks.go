package run

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/pool"
)

// If several ranks train, each goes through the same steps, with its part of the
// work and all of the result. Rank 0 alone reads, writes, measures and talks.

func (r *run) agree(err error) error { return agree(r.workers, err) }

// agree returns err, and where another rank has an error, that the run ends here
// too: either all ranks go on or none does.
func agree(workers *pool.Pool, err error) error {
	if workers.Size() == 1 {
		return err
	}
	const stopped, failed = 1, 2
	state := byte(0)
	switch {
	case err == nil:
	case engine.Cancelled(err):
		state = stopped
	default:
		state = failed
	}
	switch worst := workers.Worst(state); {
	case worst == failed && state != failed:
		return engine.ErrElsewhere
	case worst == stopped && state == 0:
		return context.Canceled
	}
	return err
}

// stepping is the context of a step, which all ranks take to its end.
func (r *run) stepping(ctx context.Context) context.Context {
	if r.workers.Size() == 1 {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// share gives all ranks what rank 0 has restored.
func (r *run) share() {
	at := []float64{float64(r.trainer.Steps()), float64(r.saved), r.before, r.moved}
	f := &r.refuge
	good := []float64{0, float64(f.Step), float64(f.Metrics), f.Moved, f.First, float64(f.Taken), f.Lately, f.Least}
	if f.sections != nil {
		good[0] = 1
	}
	r.workers.Tell(asm.Bytes(at))
	r.workers.Tell(asm.Bytes(good))
	r.trainer.Resume(int(at[0]))
	r.before, r.moved = at[2], at[3]
	if r.saved = int(at[1]); r.saved < 0 {
		return
	}
	sections := r.trainer.State()
	f.Step, f.Metrics, f.Moved, f.First, f.Taken, f.Lately, f.Least = int(good[1]), int64(good[2]), good[3], good[4], int(good[5]), good[6], good[7]
	r.ease()
	if good[0] > 0 {
		if f.sections == nil {
			f.sections = roomFor(sections)
		}
		sections = slices.Concat(sections, f.sections)
	}
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
		*ctx = r.tally.Within(*ctx, r.MaxEvaluations)
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
	r.tally.Beside(r.others.Total())
}

// evaluations returns those of all ranks, of the others by the last step.
func (r *run) evaluations() engine.Evaluations {
	all := r.tally.Evaluations()
	all.Add(r.others)
	return all
}

// evaluate measures the generator, on rank 0.
func (r *run) evaluate(ctx context.Context, e engine.Evaluator) (evaluation *measure.Evaluation, err error) {
	r.workers.Alone(func() {
		evaluation, err = e.Evaluate(ctx, r.trainer.Params(), r.common.Evaluation.Samples)
	})
	return evaluation, err
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
	switch len(others) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s: on rank %s it answers otherwise than on rank 0 to the same questions; all ranks need the same program with the same data", p.Named(), others[0])
	}
	return fmt.Errorf("%s: on ranks %s it answers otherwise than on rank 0 to the same questions; all ranks need the same program with the same data", p.Named(), strings.Join(others, ", "))
}
