package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/revgen/revgen/engine"
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
