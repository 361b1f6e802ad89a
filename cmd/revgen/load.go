package main

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
func (s source) load() (*resolved, error) {
	name, data := s.name, []byte(nil)
	if name == "" {
		name = systems[0].Name
	}
	def, err := findSystem(name)
	var cfg engine.Config
	if err != nil {
		if data, err = s.readFile(); err != nil {
			return nil, err
		}
		cfg, err = base(data, s.name)
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
func (s source) readFile() ([]byte, error) {
	if s.preset != "" {
		return nil, usagef("--preset: goes with a system; %s names its own preset", s.name)
	}
	data, err := disk.Read(s.name, maxConfig)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(s.name, "./") {
		return nil, usagef("%q is neither a system (%s) nor a file", s.name, strings.Join(systemNames(), ", "))
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

// decode reads a complete configuration of any system.
func decode(data []byte, file string) (engine.Config, error) {
	cfg, err := base(data, file)
	if err != nil {
		return nil, err
	}
	return cfg, conf.Decode(data, file, cfg)
}

// base returns the preset that a file begins with: it says which system's it is
// and, if it likes, of which preset the missing keys are.
func base(data []byte, file string) (engine.Config, error) {
	name, ok, err := conf.Text(data, file, "system")
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &conf.Error{File: file, Path: "system", Reason: "missing; it is one of " + strings.Join(systemNames(), ", ")}
	}
	def, err := findSystem(name)
	if err != nil {
		return nil, at(data, file, "system", err)
	}
	base, _, err := conf.Text(data, file, "preset")
	if err != nil {
		return nil, err
	}
	cfg, err := preset(def, base)
	if err != nil {
		return nil, at(data, file, "preset", err)
	}
	return cfg, nil
}

// readTrained reads the model of a run directory or a model file with the
// configuration that trained it.
func readTrained(path string) (*engine.Model, engine.Config, error) {
	model, err := engine.ReadModel(path)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := writtenConfig(model.Config, path)
	return model, cfg, err
}

// writtenConfig decodes and validates a configuration that the program wrote. Its errors are
// not mistakes of the user.
func writtenConfig(data []byte, path string) (engine.Config, error) {
	cfg, err := decode(data, "its configuration")
	if err == nil {
		if err = cfg.Validate(); err != nil {
			err = fmt.Errorf("its configuration: %w", err)
		}
	}
	if err != nil {
		return nil, errors.New(path + ": " + err.Error())
	}
	return cfg, nil
}

// at places an error at a key of a file.
func at(data []byte, file, key string, err error) error {
	line, column, _ := conf.Position(data, key)
	return &conf.Error{File: file, Line: line, Column: column, Path: key, Reason: strings.TrimPrefix(err.Error(), key+": "), Err: err}
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
		return at(data, file, key, err)
	}
	return err
}
