package potts

import "github.com/revgen/revgen/engine"

// Definition registers the system with the command line.
var Definition = engine.Definition{
	Name:      "potts",
	Summary:   "Potts and clock models on the square lattice or any graph, and tables of pairs",
	Presets:   Presets,
	Verify:    Verify,
	Preset:    engine.PresetOf(Preset),
	Recognise: recognise,
	Files:     `the couplings of sites of a few states (JSON with "q", or lines after "# q=3")`,
}
