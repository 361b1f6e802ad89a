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

// Upper bounds of the sizes of files, in bytes.
const (
	maxConfig  = 1 << 24
	maxTarget  = 1 << 29
	maxSummary = 1 << 26
	maxReport  = 1 << 28
)

// A source is what a configuration is made of: a preset, or a file whose keys override one, and
// then assignments.
type source struct {
	name        string // system or file; empty for the default system
	preset      string
	assignments []string
}

// A resolvedConfig is a valid configuration, and where it came from.
type resolvedConfig struct {
	engine.Config
	from      catalogue.Source
	reason    string // why the recipe chose as it did for the target
	needsLook bool   // the recipe has not looked at the target yet, so that its choices are missing
}

// load returns the configuration, for which the recipe may look at the target until ctx ends.
func (s source) load(ctx context.Context, systems catalogue.Systems) (*resolvedConfig, error) {
	from, err := s.catalogueSource(systems)
	if err != nil {
		return nil, err
	}
	return look(ctx, systems, from)
}

// look returns the configuration of a source.
func look(ctx context.Context, systems catalogue.Systems, from catalogue.Source) (*resolvedConfig, error) {
	cfg, why, err := systems.Resolve(ctx, from)
	if err != nil {
		return nil, configError(err)
	}
	return &resolvedConfig{Config: cfg, from: from, reason: why}, nil
}

// loadWithoutLook returns the configuration before any look at the target.
func (s source) loadWithoutLook(systems catalogue.Systems) (*resolvedConfig, error) {
	from, err := s.catalogueSource(systems)
	if err != nil {
		return nil, err
	}
	cfg, why, needsLook, err := systems.Given(from)
	if err != nil {
		return nil, configError(err)
	}
	return &resolvedConfig{cfg, from, why, needsLook}, nil
}

// configError makes a usage error of what is wrong with a configuration.
func configError(err error) error {
	if bad, ok := errors.AsType[*catalogue.AssignmentError](err); ok {
		err = fmt.Errorf("--set %q: %w", bad.Assignment, err)
	}
	if engine.Cancelled(err) {
		return err
	}
	return usageError{err}
}

// isPreset reports whether the configuration is a preset's, unchanged.
func (r *resolvedConfig) isPreset() bool {
	return r.from.File == "" && len(r.from.Set)+len(r.from.Target) == 0
}

// catalogueSource returns the source for package catalogue. A name that is no system's names a file,
// which holds a configuration or a target.
func (s source) catalogueSource(systems catalogue.Systems) (catalogue.Source, error) {
	from := catalogue.Source{System: s.name}
	if _, err := systems.Find(s.name); err != nil && s.name != "" {
		data, err := disk.Read(s.name, maxTarget)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(s.name, "./"):
			return from, usagef("%q is neither a system (%s) nor a file", s.name, strings.Join(systems.Names(), ", "))
		case err != nil:
			return from, usageError{err}
		}
		isTarget := false
		if from, isTarget = systems.Recognise(data, s.name); !isTarget {
			if from, err = s.configSource(systems, data); err != nil {
				return from, err
			}
		}
	}
	from.Preset, from.Set = s.preset, s.assignments
	return from, nil
}

// configSource returns the source of a configuration file with the given content.
func (s source) configSource(systems catalogue.Systems, data []byte) (catalogue.Source, error) {
	switch start := bytes.TrimLeft(data, " \t\r\n\ufeff"); {
	case len(start) > 0 && start[0] != '{' && start[0] != '[':
		return catalogue.Source{}, s.unknownFileError(systems, start)
	case s.preset != "" && json.Valid(data): // errors in the file come first
		return catalogue.Source{}, usagef("--preset needs a system; %s names its own preset", s.name)
	case len(data) > maxConfig:
		return catalogue.Source{}, usagef("%s: longer than %d bytes, too long for a configuration", s.name, maxConfig)
	}
	return catalogue.Source{Text: data, File: s.name}, nil
}

// unknownFileError is the error of a file that holds neither a configuration nor a target.
func (s source) unknownFileError(systems catalogue.Systems, start []byte) error {
	const maxQuoted = 40 // bytes
	line, _, _ := bytes.Cut(start[:min(len(start), maxQuoted)], []byte("\n"))
	kinds := []string{"a configuration, which is a JSON object in braces"}
	for _, d := range systems {
		if d.Recognise != nil {
			kinds = append(kinds, d.Files)
		}
	}
	return usagef("%s: unknown kind of file (it begins with %q); known are %s; to use a program that computes a density, name it in a configuration as target.command",
		s.name, strings.ToValidUTF8(string(bytes.TrimRight(line, "\r")), "…"), strings.Join(kinds, ", or "))
}

// readJSON reads a file of a directory. It returns nil if there is none.
func readJSON[T any](dir, name string, maxBytes int64) (*T, error) {
	path := filepath.Join(dir, name)
	data, err := disk.Read(path, maxBytes)
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

// describeTarget says what a target is that was read from a file.
func (p *program) describeTarget(cfg *resolvedConfig) {
	d, ok := cfg.Config.(engine.Explainer)
	if _, loads := cfg.Config.(engine.Loader); ok && loads {
		p.say("target: %s", d.Describe())
	}
}
