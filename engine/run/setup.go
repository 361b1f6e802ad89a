package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/notes"
)

// A recipe may look at its target for minutes before a run has a configuration. The run
// directory is there before it does, with the configuration as it is given, and keeps what
// the recipe has made of it.
func recipeFile(dir string) string { return filepath.Join(dir, "recipe.json") }

const maxRecipe = 1 << 29 // bytes

// A Setup is a run directory whose run has no configuration yet.
type Setup struct {
	dir   string
	given engine.Config
	lock  *disk.Lock
	fresh bool // the directory was not there, or held no run
	run   bool // it holds a checkpoint
	taken bool // Train has it
	notes *notes.Book
	tally *engine.Tally // of the context of Noting
	spent engine.Evaluations
}

// notesDir holds how far a look at the target is, or the placing of a generator there, until
// it is done.
func notesDir(dir string) string { return filepath.Join(dir, "notes") }

// Noting returns the context in which a recipe looks at the target, so that it goes on from
// what an interrupted look has left.
func (s *Setup) Noting(ctx context.Context) context.Context {
	if s.run {
		return ctx // which has nothing to look at
	}
	s.tally = engine.TallyOf(ctx)
	s.tally.Restore(s.spent)
	s.notes = notes.Open(notesDir(s.dir))
	return notes.With(ctx, s.notes)
}

// SetUp takes possession of the directory of a run that is asked for, and leaves there the
// configuration as it is given, and that the run is being set up. Resume is that of
// Options. Warn hears of what the user should know.
func SetUp(dir, resume string, given engine.Config, warn func(string)) (*Setup, error) {
	s, err := claim(dir, resume, warn)
	if err != nil || s.run { // of which all this is known
		return s, err
	}
	s.given, s.spent = given, spentIn(dir)
	text, err := conf.Encode(given)
	if err == nil {
		err = disk.Write(configFile(dir), text)
	}
	if err == nil {
		err = s.tell("setting up", nil)
	}
	if err != nil {
		return nil, errors.Join(err, s.lock.Release())
	}
	return s, nil
}

// claim takes possession of a directory, unless what it holds is against what is asked for.
func claim(dir, resume string, warn func(string)) (*Setup, error) {
	lock, err := own(dir, warn)
	if err != nil {
		return nil, err
	}
	checkpoint, begun, err := runIn(dir)
	if err == nil {
		err = mayResume(dir, resume, begun)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return &Setup{dir: dir, lock: lock, fresh: !begun, run: checkpoint}, nil
}

// runIn reports whether a directory holds a checkpoint, and whether a run was begun there.
func runIn(dir string) (checkpoint, begun bool, err error) {
	for _, path := range []string{checkpointFile(dir), configFile(dir)} {
		switch _, err := os.Stat(path); {
		case err == nil:
			return path == checkpointFile(dir), true, nil
		case !errors.Is(err, fs.ErrNotExist):
			return false, false, err
		}
	}
	return false, false, nil
}

// mayResume holds what a directory has against what is asked for.
func mayResume(dir, resume string, begun bool) error {
	switch resume {
	case "", "auto":
	case "never":
		if begun {
			return fmt.Errorf("%s: holds a run already; choose another directory, or resume it", dir)
		}
	case "must":
		if !begun {
			return fmt.Errorf("%s: holds no run to resume", dir)
		}
	default:
		return fmt.Errorf("resume: %q is not auto, never or must", resume)
	}
	return nil
}

// ReadLook returns what the recipe of a run directory has made of its target, for
// Source.Look; nothing if it has not looked.
func ReadLook(dir string) *catalogue.Look {
	look := new(catalogue.Look)
	if text, err := disk.Read(recipeFile(dir), maxRecipe); err == nil && json.Unmarshal(text, look) != nil {
		return new(catalogue.Look) // and it looks once more
	}
	return look
}

// Keep keeps what the recipe has made of the target. What it has noted stays until the generator
// is placed there.
func (s *Setup) Keep(look *catalogue.Look) error {
	text, err := json.Marshal(look)
	if err != nil {
		return err
	}
	if before, err := disk.Read(recipeFile(s.dir), maxRecipe); err == nil && bytes.Equal(before, text) {
		return nil
	}
	return disk.Write(recipeFile(s.dir), text)
}

// End gives the directory up where the run has not begun, for a reason, and returns that. If
// it is the end of a context it is a *StopError: the same command goes on from what the
// directory holds. What another reason leaves of a new run is removed.
func (s *Setup) End(reason error) error {
	if s.taken {
		return reason
	}
	err := reason
	if !engine.Cancelled(reason) {
		s.notes.Remove()
	}
	switch {
	case engine.Cancelled(reason):
		err = &StopError{Dir: s.dir, Step: -1}
		if !s.run {
			if failed := s.tell("stopped", nil); failed != nil {
				err = errors.Join(reason, failed)
			}
		}
	case s.fresh:
		for _, path := range []string{statusFile(s.dir), configFile(s.dir)} {
			_ = os.Remove(path)
		}
	case !s.run:
		err = errors.Join(reason, s.tell("failed", reason))
	}
	if failed := s.lock.Release(); failed != nil {
		err = errors.Join(reason, failed)
	}
	if s.fresh && !engine.Cancelled(reason) {
		_ = os.Remove(s.dir) // if it is empty
	}
	return err
}

// tell writes status.json.
func (s *Setup) tell(state string, problem error) error {
	status := Status{State: state, Steps: s.given.Shared().Training.Steps, Checkpoint: -1}
	spent := s.spent
	if s.tally != nil {
		spent = s.tally.Evaluations() // those and more
	}
	if spent.Total() > 0 {
		status.Evaluations = &spent
	}
	if problem != nil {
		status.Error = problem.Error()
	}
	if state == "setting up" {
		return status.write(s.dir, disk.Publish)
	}
	return status.write(s.dir, disk.Write) // nobody will write it again
}
