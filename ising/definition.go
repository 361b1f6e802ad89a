package ising

import "github.com/revgen/revgen/engine"

// Definition registers the system with the command line.
var Definition = engine.Definition{
	Name:    "ising",
	Summary: "two-dimensional Ising model on a periodic square lattice",
	Presets: Presets,
	Verify:  Verify,
	Preset:  engine.PresetOf(Preset),
}
