package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/gmm"
	"github.com/revgen/revgen/hybrid"
	"github.com/revgen/revgen/ising"
)

// systems is every system the program knows, the default first. A new one
// needs its line here and nothing else.
var systems = []engine.Definition{
	ising.Definition,
	gmm.Definition,
	hybrid.Definition,
}

func systemNames() []string {
	var names []string
	for _, s := range systems {
		names = append(names, s.Name)
	}
	return names
}

// listSystems describes the systems, one a line.
func listSystems() string {
	var b strings.Builder
	for _, s := range systems {
		fmt.Fprintf(&b, "  %-8s %s: %s\n", s.Name, s.Summary, strings.Join(s.Presets, ", "))
	}
	return b.String()
}

// findSystem returns the system of a name, or an error that lists them.
func findSystem(name string) (*engine.Definition, error) {
	i := slices.IndexFunc(systems, func(s engine.Definition) bool { return s.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown system %q; the systems are %s", name, strings.Join(systemNames(), ", "))
	}
	return &systems[i], nil
}
