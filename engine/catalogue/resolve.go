package catalogue

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/notes"
)

// ConfigError is an error of a configuration: its place, if that is known, the
// key's path, what is wrong and what would be right.
type ConfigError = conf.Error

// AssignmentError is a ConfigError of a value that an assignment key.path=value set.
type AssignmentError = conf.AssignmentError

// A Source says where a configuration comes from: a preset, or a text whose keys
// override one, and then assignments.
type Source struct {
	System string   // of the preset; "" for the first one
	Preset string   // "" for the system's first one
	Text   []byte   // JSON that names its own system and preset; nil for none
	File   string   // name of the text in errors
	Target []string // assignments of the target, if a file gives it (Recognise); before Set
	Set    []string // assignments, key.path=value, in order
	// Look, if not nil, is an earlier result of the recipe. If it is of the same target, the
	// recipe does not look again; otherwise Look is set to the new result.
	Look *Look
}

// A Look is what a preset's recipe chose for a target, which it may have looked at for minutes.
type Look struct {
	Of          json.RawMessage `json:"of"`                    // configuration before the recipe
	Recipe      json.RawMessage `json:"recipe"`                // configuration after it
	Why         string          `json:"why"`                   // what it chose and why
	Evaluations int64           `json:"evaluations,omitempty"` // of the target
}

// Recognise returns the source for a file whose content is the target of a system: of the
// first definition that recognises it. ok is false if none does, as for a configuration.
func (s Systems) Recognise(data []byte, path string) (from Source, ok bool) {
	for _, d := range s {
		if d.Recognise == nil {
			continue
		}
		if set, ok := d.Recognise(data, path); ok {
			return Source{System: d.Name, Target: set}, true
		}
	}
	return Source{}, false
}

// Configure returns the valid configuration of a system's preset, "" for the first. Its recipe
// is for the target that the assignments key.path=value describe, and the assignments have
// the last word.
func (s Systems) Configure(system, preset string, set ...string) (engine.Config, error) {
	cfg, _, err := s.Resolve(context.Background(), Source{System: system, Preset: preset, Set: set})
	return cfg, err
}

// Resolve returns the valid configuration that a source describes, and what the preset's
// recipe chose for its target and why, "" if the preset stands as it is. Errors are
// *ConfigError or *AssignmentError, or ctx's if it ends while a recipe looks at its target.
func (s Systems) Resolve(ctx context.Context, from Source) (cfg engine.Config, why string, err error) {
	if cfg, err = s.base(&from); err != nil {
		return nil, "", err
	}
	if why, err = from.adapt(ctx, cfg); err != nil {
		return nil, "", err
	}
	if err := from.setValues(cfg, conf.Decode, conf.Set); err != nil {
		return nil, "", err
	}
	if err := cfg.Validate(); err != nil {
		return nil, "", from.locate(err)
	}
	return cfg, why, nil
}

// Given is Resolve without a look at the target. If the recipe would look, looks is true, and
// cfg is the configuration before the recipe has chosen: it need not be valid, and keys of
// any choice may be set.
func (s Systems) Given(from Source) (cfg engine.Config, why string, looks bool, err error) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if cfg, why, err = s.Resolve(ended, from); !engine.Cancelled(err) {
		return cfg, why, false, err
	}
	if cfg, err = s.base(&from); err == nil {
		_, _ = from.adapt(ended, cfg) // sets the target; the recipe sees the end and does not look
		err = from.setValues(cfg, conf.DecodeAll, conf.SetAll)
	}
	if err != nil {
		return nil, "", true, err
	}
	return cfg, "", true, nil
}

// base returns the preset that a source begins with. A text names its system, and may name the
// preset whose values the missing keys have.
func (s Systems) base(from *Source) (cfg engine.Config, err error) {
	system, preset := from.System, from.Preset
	if from.hasText() {
		var named bool
		if system, named, err = conf.Text(from.Text, from.File, "system"); err != nil {
			return nil, err
		}
		if !named {
			return nil, &conf.Error{File: from.File, Path: "system", Reason: "missing; it is one of " + strings.Join(s.Names(), ", ")}
		}
		if preset, _, err = conf.Text(from.Text, from.File, "preset"); err != nil {
			return nil, err
		}
	} else if system == "" && len(s) > 0 {
		system = s[0].Name
	}
	def, err := s.Find(system)
	if err != nil {
		return nil, conf.At(from.Text, from.File, "system", err)
	}
	if cfg, err = def.Preset(cmp.Or(preset, def.Presets[0])); err != nil {
		return nil, conf.At(from.Text, from.File, "preset", err)
	}
	return cfg, nil
}

// Base returns the preset that the text of a configuration names. Errors say where in the file
// the mistake is.
func (s Systems) Base(data []byte, file string) (engine.Config, error) {
	return s.base(&Source{Text: data, File: file})
}

func (from *Source) hasText() bool { return from.Text != nil || from.File != "" }

// adapt sets what the preset's recipe chooses for the source's target.
func (from *Source) adapt(ctx context.Context, cfg engine.Config) (why string, err error) {
	a, ok := cfg.(engine.Adapter)
	if !ok || from.setTarget(cfg) != nil || load(cfg) != nil {
		return "", nil // setValues returns the error, with its place
	}
	if from.Look == nil {
		return a.Adapt(ctx)
	}
	before, err := conf.EncodeAll(cfg)
	if err != nil {
		return "", err
	}
	tally := engine.TallyOf(ctx)
	if bytes.Equal(before, from.Look.Of) {
		tally.Restore(engine.Evaluations{Look: from.Look.Evaluations})
		return from.Look.Why, conf.DecodeAll(from.Look.Recipe, "", cfg)
	}
	path, _, _ := asm.Active()
	if why, err = a.Adapt(notes.About(ctx, path.String(), string(before))); err != nil {
		return "", err
	}
	look := Look{Of: before, Why: why, Evaluations: tally.Evaluations().Look}
	if look.Recipe, err = conf.EncodeAll(cfg); err == nil {
		*from.Look = look
	}
	return why, err
}

// setValues sets the values that the source gives, and reads the files that these name.
func (from *Source) setValues(cfg engine.Config, decode func(data []byte, file string, dst any) error, set func(dst any, assignments ...string) error) error {
	if from.hasText() {
		if err := decode(from.Text, from.File, cfg); err != nil {
			return err
		}
	}
	if err := set(cfg, from.Target...); err != nil {
		return err
	}
	if err := set(cfg, from.Set...); err != nil {
		return err
	}
	if err := load(cfg); err != nil {
		return from.locate(err)
	}
	return nil
}

// load reads the files that a configuration names.
func load(cfg engine.Config) error {
	if l, ok := cfg.(engine.Loader); ok {
		return l.Load()
	}
	return nil
}

// setTarget sets the values on which a recipe depends: the target, the kind of generator and
// the seed.
func (from *Source) setTarget(cfg engine.Config) error {
	var text struct {
		Target    json.RawMessage
		Generator struct{ Kind json.RawMessage }
		Training  struct{ Seed json.RawMessage }
	}
	if json.Unmarshal(from.Text, &text) == nil {
		for i, value := range []json.RawMessage{text.Target, text.Generator.Kind, text.Training.Seed} {
			if value == nil {
				continue
			}
			format := []string{`{"target": %s}`, `{"generator": {"kind": %s}}`, `{"training": {"seed": %s}}`}[i]
			if err := conf.Decode(fmt.Appendf(nil, format, value), "", cfg); err != nil {
				return err
			}
		}
	}
	set := slices.Clone(from.Target)
	for _, a := range from.Set {
		path, _, _ := strings.Cut(a, "=")
		switch path = strings.TrimSpace(path); {
		case strings.HasPrefix(path+".", "target."), strings.HasPrefix("generator.kind.", path+"."), strings.HasPrefix("training.seed.", path+"."):
			set = append(set, a)
		}
	}
	return conf.Set(cfg, set...)
}

// locate adds to an error of validation, which begins with the key's path, the place of the refused
// value: an assignment, or a line of the file.
func (from *Source) locate(err error) error {
	key, _, ok := strings.Cut(err.Error(), ": ")
	if !ok {
		return &ConfigError{Reason: err.Error(), Err: err}
	}
	assigned := make(map[string]string)
	for _, a := range from.Set {
		path, _, _ := strings.Cut(a, "=")
		assigned[strings.TrimSpace(path)] = a
	}
	reason := strings.TrimPrefix(err.Error(), key+": ")
	for path, _, _ := strings.Cut(key, "["); path != ""; path = path[:max(0, strings.LastIndexByte(path, '.'))] {
		if a, ok := assigned[path]; ok {
			return &AssignmentError{Assignment: a, Err: &ConfigError{Path: key, Reason: reason, Err: err}}
		}
	}
	if line, _, ok := conf.Position(from.Text, key); ok && line > 0 {
		return conf.At(from.Text, from.File, key, err)
	}
	return &ConfigError{Path: key, Reason: reason, Err: err}
}

// EncodeConfig returns a configuration as config.json holds it, from which Resolve
// gives the same one.
func EncodeConfig(cfg engine.Config) ([]byte, error) { return conf.Encode(cfg) }
