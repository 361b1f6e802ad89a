package graph

import (
	"context"
	"fmt"

	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/engine/spins/perceptron"
	"github.com/revgen/revgen/internal/conf"
)

// Presets names the ready-made configurations, the default first. They have no
// target.
var Presets = []string{"quick", "paper", "best"}

// Preset returns a fresh copy of the named configuration.
func Preset(name string) (*Config, error) {
	c := paper()
	switch name {
	case "paper":
		return c, nil
	case "quick", "best":
		c.Preset = name
		c.Generator.Kind, c.Loss.Kind = "hierarchy", "balance"
		// Adapt takes other inputs. What was written before there was a choice does not
		// say which, and has these.
		c.recipe(hierarchy.Graph{Neighbours: 24, Inputs: hierarchy.Nearest, Hidden: 16}, 32)
		return c, nil
	}
	return nil, conf.OneOf("preset", name, Presets)
}

// mostProposals bounds the time that the paper's transition takes.
const mostProposals = 1 << 10

// paper is the paper's method, a perceptron trained by the MMD between the laws of
// (s, s′) and (s′, s), with the settings of its Section 5.3 that do not belong to
// the lattice.
func paper() *Config {
	p := perceptron.Paper("spins")
	return &Config{
		Common: p.Common, Target: TargetConfig{Beta: 1}, Transition: p.Transition, Loss: p.Loss,
		Generator: GeneratorConfig{Kind: "perceptron", Neighbours: 24, Inputs: hierarchy.Nearest, Units: 16, GeneratorConfig: p.Generator},
	}
}

// recipe takes what was found good for a graph with as many learned spins.
func (c *Config) recipe(g hierarchy.Graph, learned int) {
	t := hierarchy.GraphTraining(learned, c.Training.Seed)
	if c.Preset == "quick" {
		t.Steps /= 4
	}
	t.Configure(&c.Training, &c.Transition, &c.Loss.Balancing)
	c.Generator.Neighbours, c.Generator.Inputs, c.Generator.Units = g.Neighbours, g.Inputs, g.Hidden
}

// Adapt implements engine.Adapter.
func (c *Config) Adapt(context.Context) (why string, err error) {
	g, err := c.Target.graph()
	if err != nil || g.N() > mostSpins {
		return "", nil // Validate says why
	}
	if c.Preset == "paper" {
		c.Transition.Steps = min(g.N(), mostProposals)
		return fmt.Sprintf("%d proposals between s and s′, for %d spins; reference: %s", c.Transition.Steps, g.N(), road(g)), nil
	}
	h, learned := hierarchy.GraphRecipe(c.Target.law())
	c.recipe(h, learned)
	return fmt.Sprintf("%d of %d spins are learned, each by %d units from at most %d others, and the rest drawn exactly; reference: %s",
		learned, g.N(), h.Hidden, h.Neighbours, road(g)), nil
}
