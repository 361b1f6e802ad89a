package catalogue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/lists"
)

// Systems are what a program can train, the default first.
type Systems []engine.Definition

// Names returns the names of the systems.
func (s Systems) Names() []string {
	return lists.Map(s, func(d engine.Definition) string { return d.Name })
}

// String describes the systems, one a line.
func (s Systems) String() string {
	var b strings.Builder
	for _, d := range s {
		fmt.Fprintf(&b, "  %-8s %s: %s\n", d.Name, d.Summary, strings.Join(d.Presets, ", "))
	}
	return b.String()
}

// Find returns the system of a name, or an error that lists them.
func (s Systems) Find(name string) (*engine.Definition, error) {
	i := slices.IndexFunc(s, func(d engine.Definition) bool { return d.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown system %q; the systems are %s", name, strings.Join(s.Names(), ", "))
	}
	return &s[i], nil
}

// Base returns the preset that the text of a configuration begins with: it says
// which system's it is and, if it likes, of which preset the missing keys are.
// Errors name the file and the place in it.
func (s Systems) Base(data []byte, file string) (engine.Config, error) {
	name, ok, err := conf.Text(data, file, "system")
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, &conf.Error{File: file, Path: "system", Reason: "missing; it is one of " + strings.Join(s.Names(), ", ")}
	}
	def, err := s.Find(name)
	if err != nil {
		return nil, conf.At(data, file, "system", err)
	}
	preset, _, err := conf.Text(data, file, "preset")
	if err != nil {
		return nil, err
	}
	return presetOf(def, preset, data, file)
}

// presetOf returns a system's preset of a name, "" for the first, which a text may give.
func presetOf(def *engine.Definition, name string, data []byte, file string) (engine.Config, error) {
	cfg, err := def.Preset(cmp.Or(name, def.Presets[0]))
	if err != nil {
		return nil, conf.At(data, file, "preset", err)
	}
	return cfg, nil
}
