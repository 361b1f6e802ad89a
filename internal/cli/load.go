package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/internal/disk"
)

// Sizes of files that no file of their kind reaches.
const (
	maxConfig  = 1 << 24
	maxTarget  = 1 << 29
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
	from  catalogue.Source
	why   string // what the recipe chose for the target
	looks bool   // the recipe has not looked at the target yet, so that this is what is given
}

// load returns the configuration. ctx ends a recipe's look at the target.
func (s source) load(ctx context.Context, systems catalogue.Systems) (*resolved, error) {
	from, err := s.from(systems)
	if err != nil {
		return nil, err
	}
	return look(ctx, systems, from)
}

// look returns the configuration of a source.
func look(ctx context.Context, systems catalogue.Systems, from catalogue.Source) (*resolved, error) {
	cfg, why, err := systems.Resolve(ctx, from)
	if err != nil {
		return nil, refused(err)
	}
	return &resolved{Config: cfg, from: from, why: why}, nil
}

// given returns the configuration without a look at the target.
func (s source) given(systems catalogue.Systems) (*resolved, error) {
	from, err := s.from(systems)
	if err != nil {
		return nil, err
	}
	cfg, why, looks, err := systems.Given(from)
	if err != nil {
		return nil, refused(err)
	}
	return &resolved{cfg, from, why, looks}, nil
}

// refused says what is wrong with a configuration.
func refused(err error) error {
	if wrong, ok := errors.AsType[*catalogue.AssignmentError](err); ok {
		err = fmt.Errorf("--set %q: %w", wrong.Assignment, err)
	}
	if engine.Cancelled(err) {
		return err
	}
	return usageError{err}
}

// pristine reports whether the configuration is a preset's as it stands.
func (r *resolved) pristine() bool {
	return r.from.File == "" && len(r.from.Set)+len(r.from.Target) == 0
}

// from returns what the configuration is made of. A name that is no system's is that of a file:
// of a configuration, or of a target.
func (s source) from(systems catalogue.Systems) (catalogue.Source, error) {
	from := catalogue.Source{System: s.name}
	if _, err := systems.Find(s.name); err != nil && s.name != "" {
		data, err := disk.Read(s.name, maxTarget)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(s.name, "./"):
			return from, usagef("%q is neither a system (%s) nor a file", s.name, strings.Join(systems.Names(), ", "))
		case err != nil:
			return from, usageError{err}
		}
		recognised := false
		if from, recognised = systems.Recognise(data, s.name); !recognised {
			if from, err = s.configuration(systems, data); err != nil {
				return from, err
			}
		}
	}
	from.Preset, from.Set = s.preset, s.assignments
	return from, nil
}

// configuration is the source of a configuration file's content.
func (s source) configuration(systems catalogue.Systems, data []byte) (catalogue.Source, error) {
	switch start := bytes.TrimLeft(data, " \t\r\n\ufeff"); {
	case len(start) > 0 && start[0] != '{' && start[0] != '[':
		return catalogue.Source{}, s.unknown(systems, start)
	case s.preset != "" && json.Valid(data): // what is wrong with other files comes first
		return catalogue.Source{}, usagef("--preset needs a system; %s names its own preset", s.name)
	case len(data) > maxConfig:
		return catalogue.Source{}, usagef("%s: longer than %d bytes, too long for a configuration", s.name, maxConfig)
	}
	return catalogue.Source{Text: data, File: s.name}, nil
}

// unknown is the error of a file that is neither a configuration nor a target of its own.
func (s source) unknown(systems catalogue.Systems, start []byte) error {
	const most = 40 // bytes that are quoted
	line, _, _ := bytes.Cut(start[:min(len(start), most)], []byte("\n"))
	known := []string{"a configuration, which is a JSON object in braces"}
	for _, d := range systems {
		if d.Recognise != nil {
			known = append(known, d.Files)
		}
	}
	return usagef("%s: unknown kind of file (it begins with %q); known are %s; to use a program that computes a density, name it in a configuration as target.command",
		s.name, strings.ToValidUTF8(string(bytes.TrimRight(line, "\r")), "…"), strings.Join(known, ", or "))
}

// readJSON reads a file of a directory, nil if there is none.
func readJSON[T any](dir, name string, most int64) (*T, error) {
	path := filepath.Join(dir, name)
	data, err := disk.Read(path, most)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v := new(T)
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// describeTarget says what the target is that was read from a file.
func (p *program) describeTarget(cfg *resolved) {
	d, ok := cfg.Config.(engine.Explainer)
	if _, loads := cfg.Config.(engine.Loader); ok && loads {
		p.say("target: %s", d.Describe())
	}
}
