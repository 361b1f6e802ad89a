package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/disk"
)

// Sizes of files that no file of their kind reaches.
const (
	maxConfig  = 1 << 24
	maxSummary = 1 << 26
	maxReport  = 1 << 28
)

// A source is where a configuration comes from: a preset, or a file whose
// keys override one, and then assignments.
type source struct {
	name        string // system or file; empty for the default system
	preset      string
	assignments []string
}

// A resolved configuration is validated.
type resolved struct {
	engine.Config
	pristine bool   // a preset's as it stands
	why      string // what the recipe chose for the target
}

// load returns the configuration.
func (s source) load(systems engine.Systems) (*resolved, error) {
	from := engine.Source{System: s.name, Preset: s.preset, Set: s.assignments}
	if _, err := systems.Find(s.name); err != nil && s.name != "" {
		if from.Text, err = s.readFile(systems); err != nil {
			return nil, err
		}
		from.File = s.name
	}
	cfg, why, err := systems.Resolve(from)
	var wrong *engine.AssignmentError
	if errors.As(err, &wrong) {
		err = fmt.Errorf("--set %q: %w", wrong.Assignment, err)
	}
	if err != nil {
		return nil, usageError{err}
	}
	return &resolved{cfg, from.File == "" && len(from.Set) == 0, why}, nil
}

// readFile reads the configuration file that the name must be if it is no
// system.
func (s source) readFile(systems engine.Systems) ([]byte, error) {
	if s.preset != "" {
		return nil, usagef("--preset: goes with a system; %s names its own preset", s.name)
	}
	data, err := disk.Read(s.name, maxConfig)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(s.name, "./") {
		return nil, usagef("%q is neither a system (%s) nor a file", s.name, strings.Join(systems.Names(), ", "))
	}
	if err != nil {
		return nil, usageError{err}
	}
	return data, nil
}

func preset(def *engine.Definition, name string) (engine.Config, error) {
	if name == "" {
		name = def.Presets[0]
	}
	cfg, err := def.Preset(name)
	if err != nil {
		return nil, usageError{err}
	}
	return cfg, nil
}
