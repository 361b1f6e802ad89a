package run

import (
	"context"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/pool"
)

// Where several ranks train, each goes through the same steps, with its part of
// the work and all of the result. Rank 0 alone reads, writes, measures and talks.

// silent takes from the options what is rank 0's.
func (o Options) silent(rank int) Options {
	if rank > 0 {
		o.Dir, o.Resume, o.Progress, o.Warning = "", "", nil, nil
	}
	return o
}

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
	r.workers.Tell(asm.Bytes(at))
	r.trainer.Resume(int(at[0]))
	r.before, r.moved = at[2], at[3]
	if r.saved = int(at[1]); r.saved < 0 {
		return
	}
	for _, s := range r.trainer.State() {
		r.workers.Tell(asm.Bytes(s.Float32))
		r.workers.Tell(asm.Bytes(s.Float64))
	}
}

// evaluate measures the generator, on rank 0.
func (r *run) evaluate(ctx context.Context, e engine.Evaluator) (evaluation *measure.Evaluation, err error) {
	r.workers.Alone(func() {
		evaluation, err = e.Evaluate(ctx, r.trainer.Params(), r.common.Evaluation.Samples)
	})
	return evaluation, err
}
