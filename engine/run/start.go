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

// A Start is a trained generator that a run begins with in place of numbers that
// belong to the seed: at another temperature, say.
type Start struct {
	Config engine.Config
	Params []float32
}

// Hash names the parameters in a configuration, as training.start.
func (s *Start) Hash() string {
	return hashOf(nil, s.Params)
}

// hashOf is that of a text and of parameters as files hold them.
func hashOf(text []byte, params []float32) string {
	h := sha256.New()
	h.Write(text)
	for numbers := range pieces([]engine.Section{{Float32: params}}) {
		h.Write(appendNumbers(nil, numbers))
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// A successor is a configuration whose generator starts from that of another,
// which is trained first: from that of a smaller target, say.
type successor interface {
	// Predecessor returns that configuration, nil if there is none.
	Predecessor() engine.Config
}

// worthKeeping is how long the generator may have been placed on its target before it is
// kept in a checkpoint of step 0. Tests replace it.
var worthKeeping = time.Second

// setUp gives a run that no checkpoint continues what it begins with. Ranks do so alike.
func (r *run) setUp(ctx context.Context) error {
	t := r.trainer
	if r.saved >= 0 {
		r.setting = false
		return nil
	}
	begun := time.Now()
	noting, err := r.noting(ctx)
	if err == nil {
		err = t.Initialize(noting)
	}
	if err := r.agree(err); err != nil {
		if !engine.Cancelled(err) {
			r.notes.Remove()
		}
		return err
	}
	if err := r.agree(r.begin(ctx)); err != nil {
		return err
	}
	placed := r.workers.Any(r.setting && time.Since(begun) >= worthKeeping)
	if r.setting = false; placed {
		return r.agree(r.checkpoint())
	}
	return nil
}

// noting returns the context in which a generator is placed on its target, so that this goes
// on from what an interrupted run has left, on all ranks.
func (r *run) noting(ctx context.Context) (context.Context, error) {
	if r.dir != "" {
		r.notes = notes.Open(notesDir(r.dir))
	}
	if !r.setting {
		return ctx, nil
	}
	if r.workers.Size() > 1 {
		var text []byte
		var err error
		if r.notes != nil { // rank 0's
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

// begin gives a run that has taken no step the parameters that it starts with.
func (r *run) begin(ctx context.Context) error {
	start := r.Start
	switch {
	case start == nil && r.common.Training.Start != "":
		return fmt.Errorf("training.start: the run begins with the parameters of the model %s, which has to be given", r.common.Training.Start)
	case start != nil && r.common.Training.Start != start.Hash():
		return fmt.Errorf("training.start: %q is not the hash of the model that was given, %s", r.common.Training.Start, start.Hash())
	}
	if s, ok := r.cfg.(successor); ok && start == nil {
		before := s.Predecessor()
		if before == nil {
			return nil
		}
		watch := func(p Progress) {
			if p.Predecessors++; r.Progress != nil {
				r.Progress(p)
			}
		}
		dir := ""
		if r.dir != "" {
			dir = filepath.Join(r.dir, "predecessor")
		}
		result, err := Train(ctx, before, r.workers, Options{Dir: dir, Progress: watch, Warning: r.Warning, Unmeasured: true})
		if err != nil {
			return err
		}
		r.before += result.Seconds
		start = &Start{before, result.Params}
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
