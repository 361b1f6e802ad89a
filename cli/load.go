package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/conf"
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
	name, data := s.name, []byte(nil)
	if name == "" {
		name = systems[0].Name
	}
	def, err := systems.Find(name)
	var cfg engine.Config
	if err != nil {
		if data, err = s.readFile(systems); err != nil {
			return nil, err
		}
		cfg, err = systems.Base(data, s.name)
	} else {
		cfg, err = preset(def, s.preset)
	}
	if err != nil {
		return nil, err
	}
	setTarget := func() error { return setTarget(cfg, data, s.assignments) }
	why, err := engine.Resolve(cfg, setTarget, func() error {
		if data != nil {
			if err := conf.Decode(data, s.name, cfg); err != nil {
				return err
			}
		}
		var wrong *conf.AssignmentError
		if err := conf.Set(cfg, s.assignments...); errors.As(err, &wrong) {
			return usagef("--set %q: %w", wrong.Assignment, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	assigned := make(map[string]string)
	for _, a := range s.assignments {
		key, _, _ := strings.Cut(a, "=")
		assigned[strings.TrimSpace(key)] = a
	}
	if err := cfg.Validate(); err != nil {
		return nil, usageError{locate(err, assigned, data, s.name)}
	}
	return &resolved{cfg, data == nil && len(assigned) == 0, why}, nil
}

// setTarget sets what a file and assignments say of the target alone. Errors
// come back, with their place, when all is set.
func setTarget(cfg engine.Config, data []byte, assignments []string) error {
	var file struct{ Target json.RawMessage }
	if json.Unmarshal(data, &file) == nil && file.Target != nil {
		if err := conf.Decode(fmt.Appendf(nil, `{"target": %s}`, file.Target), "", cfg); err != nil {
			return err
		}
	}
	return conf.Set(cfg, engine.TargetAssignments(assignments)...)
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

// locate says where the value that validation refuses came from. Validation
// errors begin with the key's path.
func locate(err error, assigned map[string]string, data []byte, file string) error {
	key, _, ok := strings.Cut(err.Error(), ": ")
	if !ok {
		return err
	}
	for above, _, _ := strings.Cut(key, "["); above != ""; above = above[:max(0, strings.LastIndexByte(above, '.'))] {
		if a, ok := assigned[above]; ok {
			return fmt.Errorf("--set %q: %w", a, err)
		}
	}
	if line, _, ok := conf.Position(data, key); ok && line > 0 {
		return conf.At(data, file, key, err)
	}
	return err
}
