package hybrid

import "github.com/revgen/revgen/engine"

// Definition registers the system with the command line.
var Definition = engine.Definition{
	Name:    "hybrid",
	Summary: "balanced double wells: a real coordinate and a mode index",
	Presets: Presets,
	Preset:  engine.PresetOf(Preset),
	Verify:  Verify,
}
