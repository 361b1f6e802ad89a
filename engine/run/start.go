package run

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"time"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/notes"
)

// A Start is a trained generator whose parameters a run begins with, in place of those that
// belong to its seed: that of another temperature, say.
type Start struct {
	Config engine.Config
	Params []float32
}

// Hash returns the hash of the parameters, which training.start of the configuration holds.
func (s *Start) Hash() string { return hashOf(nil, s.Params) }

// hashOf returns the hash of a text and of parameters as files hold them.
func hashOf(text []byte, params []float32) string {
	h := sha256.New()
	h.Write(text)
	for numbers := range chunks([]engine.Section{{Float32: params}}) {
		h.Write(appendNumbers(nil, numbers))
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// A successor is a configuration whose generator starts from another generator, which is
// trained first: that of a smaller target, say.
type successor interface {
	// Predecessor returns the configuration of the other generator, nil if there is none.
	Predecessor() engine.Config
}

// worthKeeping is the least time of placing a generator after which the result is kept in a
// checkpoint of step 0. Tests replace it.
var worthKeeping = time.Second

// setUp initialises the parameters of a run that has no checkpoint, on all ranks alike.
func (r *run) setUp(ctx context.Context) error {
	t := r.trainer
	if r.savedStep >= 0 {
		r.placing = false
		return nil
	}
	begun := time.Now()
	notingCtx, err := r.notingContext(ctx)
	if err == nil {
		err = t.Initialize(notingCtx)
	}
	if err := r.agree(err); err != nil {
		if !engine.Cancelled(err) {
			r.notes.Remove()
		}
		return err
	}
	if err := r.agree(r.inherit(ctx)); err != nil {
		return err
	}
	keep := r.workers.Any(r.placing && time.Since(begun) >= worthKeeping)
	if r.placing = false; keep {
		return r.agree(r.checkpoint())
	}
	return nil
}

// notingContext returns the context in which a generator is placed on its target: with the notes of
// an interrupted run, from which the placing goes on, on all ranks.
func (r *run) notingContext(ctx context.Context) (context.Context, error) {
	if r.dir != "" {
		r.notes = notes.Open(notesDir(r.dir))
	}
	if !r.placing {
		return ctx, nil
	}
	if r.workers.Size() > 1 {
		var text []byte
		var err error
		if r.notes != nil { // on rank 0
			if text, err = r.notes.Text(); err != nil {
				return nil, err
			}
		}
		if text = r.workers.Text(text); r.workers.Rank() > 0 && len(text) > 0 {
			if r.notes, err = notes.Read(text); err != nil {
				return nil, err
			}
		}
	}
	if r.notes == nil {
		return ctx, nil
	}
	ctx = notes.About(notes.With(ctx, r.notes), activePath(), string(r.config))
	if f, ok := r.trainer.System().(engine.Fallible); ok {
		ctx = notes.Unless(ctx, f.Err)
	}
	return ctx, nil
}

// inherit sets the parameters to those of Options.Start, or of the predecessor, which it trains.
func (r *run) inherit(ctx context.Context) error {
	start := r.Start
	switch {
	case start == nil && r.common.Training.Start != "":
		return fmt.Errorf("training.start: the run begins with the parameters of the model %s, which has to be given", r.common.Training.Start)
	case start != nil && r.common.Training.Start != start.Hash():
		return fmt.Errorf("training.start: %q is not the hash of the model that was given, %s", r.common.Training.Start, start.Hash())
	}
	if s, ok := r.cfg.(successor); ok && start == nil {
		predecessor := s.Predecessor()
		if predecessor == nil {
			return nil
		}
		progress := func(p Progress) {
			if p.Predecessors++; r.Progress != nil {
				r.Progress(p)
			}
		}
		dir := ""
		if r.dir != "" {
			dir = filepath.Join(r.dir, "predecessor")
		}
		result, err := Train(ctx, predecessor, r.workers, Options{Dir: dir, Progress: progress, Warning: r.Warning, Unmeasured: true})
		if err != nil {
			return err
		}
		r.secondsBefore += result.Seconds
		start = &Start{predecessor, result.Params}
	}
	if start == nil {
		return nil
	}
	from, err := start.Config.New(r.workers)
	if err != nil {
		return err
	}
	return r.trainer.Inherit(from, start.Params)
}
