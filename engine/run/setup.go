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

// recipeFile is where a run directory keeps the Look of a recipe. A recipe may look at its target
// for minutes before the run has a configuration; until then config.json is the given one.
func recipeFile(dir string) string { return filepath.Join(dir, "recipe.json") }

// maxRecipe bounds the bytes of recipe.json that are read: no recipe is as large.
const maxRecipe = 1 << 29

// A Setup is a run directory whose run has no configuration yet.
type Setup struct {
	dir           string
	given         engine.Config // before the recipe has chosen
	lock          *disk.Lock
	isNew         bool // the directory was not there, or held no run
	hasCheckpoint bool
	handedOver    bool // the directory is now a run's, which gives it up
	notes         *notes.Book
	tally         *engine.Tally      // of the context of Noting
	spent         engine.Evaluations // of an interrupted look before
}

// notesDir holds the notes of a look at the target, or of the placing of a generator, until
// that is done.
func notesDir(dir string) string { return filepath.Join(dir, "notes") }

// Noting returns the context in which a recipe looks at the target: with the notes of an
// interrupted look, from which it goes on.
func (s *Setup) Noting(ctx context.Context) context.Context {
	if s.hasCheckpoint {
		return ctx // the recipe has looked
	}
	s.tally = engine.TallyOf(ctx)
	s.tally.Restore(s.spent)
	s.notes = notes.Open(notesDir(s.dir))
	return notes.With(ctx, s.notes)
}

// SetUp locks the directory of a run, and writes there the configuration as it is given and a
// status that says that the run is being set up. resume is Options.Resume; warn is called with
// warnings.
func SetUp(dir, resume string, given engine.Config, warn func(string)) (*Setup, error) {
	s, err := claim(dir, resume, warn)
	if err != nil || s.hasCheckpoint { // a run with a checkpoint has its configuration
		return s, err
	}
	s.given, s.spent = given, spentIn(dir)
	text, err := conf.Encode(given)
	if err == nil {
		err = disk.Write(configFile(dir), text)
	}
	if err == nil {
		err = s.writeStatus("setting up", nil)
	}
	if err != nil {
		return nil, errors.Join(err, s.lock.Release())
	}
	return s, nil
}

// claim locks a directory, unless resume forbids using what it holds.
func claim(dir, resume string, warn func(string)) (*Setup, error) {
	lock, err := lockDirectory(dir, warn)
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
	return &Setup{dir: dir, lock: lock, isNew: !begun, hasCheckpoint: checkpoint}, nil
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

// mayResume returns an error if resume is "never" and a run was begun in the directory, or "must" and
// none was.
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

// ReadLook returns the Look that a run directory keeps, for Source.Look; an empty one if there
// is none.
func ReadLook(dir string) *catalogue.Look {
	look := new(catalogue.Look)
	if text, err := disk.Read(recipeFile(dir), maxRecipe); err == nil && json.Unmarshal(text, look) != nil {
		return new(catalogue.Look) // the file is damaged, and the recipe looks once more
	}
	return look
}

// Keep writes the recipe's Look to the directory. The notes stay until the generator is placed on
// its target.
func (s *Setup) Keep(look *catalogue.Look) error {
	text, err := json.Marshal(look)
	if err != nil {
		return err
	}
	if kept, err := disk.Read(recipeFile(s.dir), maxRecipe); err == nil && bytes.Equal(kept, text) {
		return nil
	}
	return disk.Write(recipeFile(s.dir), text)
}

// End gives the directory up if the run has not begun, and returns the reason. If a context has
// ended, it returns a *StopError: the same command goes on from what the directory holds. For
// any other reason it removes what a new run has left there.
func (s *Setup) End(reason error) error {
	if s.handedOver {
		return reason
	}
	err := reason
	if !engine.Cancelled(reason) {
		s.notes.Remove()
	}
	switch {
	case engine.Cancelled(reason):
		err = &StopError{Dir: s.dir, Step: -1}
		if !s.hasCheckpoint {
			if failed := s.writeStatus("stopped", nil); failed != nil {
				err = errors.Join(reason, failed)
			}
		}
	case s.isNew:
		for _, path := range []string{statusFile(s.dir), configFile(s.dir)} {
			_ = os.Remove(path)
		}
	case !s.hasCheckpoint:
		err = errors.Join(reason, s.writeStatus("failed", reason))
	}
	if failed := s.lock.Release(); failed != nil {
		err = errors.Join(reason, failed)
	}
	if s.isNew && !engine.Cancelled(reason) {
		_ = os.Remove(s.dir) // if it is empty
	}
	return err
}

// writeStatus writes status.json.
func (s *Setup) writeStatus(state string, problem error) error {
	status := Status{State: state, Steps: s.given.Shared().Training.Steps, Checkpoint: -1}
	spent := s.spent
	if s.tally != nil {
		spent = s.tally.Evaluations() // with s.spent, to which it was restored
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
	return status.write(s.dir, disk.Write) // durably: it is the last one
}
