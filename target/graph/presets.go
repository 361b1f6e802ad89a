package graph

import (
	"fmt"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/engine/spins/hierarchy"
)

// Presets names the ready-made configurations, the default first. They have no
// target.
var Presets = []string{"quick", "best"}

// Preset returns a fresh copy of the named configuration.
func Preset(name string) (*Config, error) {
	if name != "quick" && name != "best" {
		return nil, fmt.Errorf("preset: %q is not one of %s", name, strings.Join(Presets, ", "))
	}
	c := &Config{
		Common: engine.Common{
			Schema: engine.SchemaVersion, System: "spins", Preset: name,
			Training:   engine.Training{Seed: 1, Methods: search.ByGradient()},
			Evaluation: engine.Evaluating{Samples: 200_000},
		},
		Target: TargetConfig{Beta: 1},
	}
	c.recipe(hierarchy.Graph{Neighbours: 24, Hidden: 16}, 32)
	return c, nil
}

// recipe takes what was found good for a graph with as many learned spins.
func (c *Config) recipe(g hierarchy.Graph, learned int) {
	t := hierarchy.GraphTraining(learned, c.Training.Seed)
	if c.Preset == "quick" {
		t.Steps /= 4
	}
	t.Configure(&c.Training)
	c.Transition = TransitionConfig{Anneal: t.Anneal, AnnealFrom: t.AnnealFrom}
	c.Generator = GeneratorConfig{Neighbours: g.Neighbours, Units: g.Hidden}
}

// Adapt implements engine.Adapter.
func (c *Config) Adapt() (why string) {
	g, err := c.Target.graph()
	if err != nil || g.N() > mostSpins {
		return "" // Validate says why
	}
	h, learned := hierarchy.GraphRecipe(c.Target.law())
	c.recipe(h, learned)
	return fmt.Sprintf("%d of %d spins are learned, each by %d units from at most %d others, and the rest drawn exactly",
		learned, g.N(), h.Hidden, h.Neighbours)
}
