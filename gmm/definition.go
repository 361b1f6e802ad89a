package gmm

import "github.com/revgen/revgen/engine"

// Definition registers the system with the command line.
var Definition = engine.Definition{
	Name:    "gmm",
	Summary: "Gaussian mixture in any dimension",
	Presets: Presets,
	Verify:  Verify,
	Preset:  engine.PresetOf(Preset),
}
