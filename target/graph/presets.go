package graph

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/engine/spins/perceptron"
	"github.com/revgen/revgen/internal/conf"
)

// Presets names the ready-made configurations, the default first. They have no target.
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
		// Adapt chooses inputs and order for the target. Configurations that were written before
		// these keys existed take the values here.
		c.recipe(hierarchy.Graph{Neighbours: 24, Inputs: hierarchy.Nearest, Order: hierarchy.Farthest, Hidden: 16}, 32)
		return c, nil
	}
	return nil, conf.OneOf("preset", name, Presets)
}

// paper returns the paper's method, a perceptron trained by the MMD between the laws of
// (s, s′) and (s′, s), with those settings of its Section 5.3 that do not depend on the lattice.
func paper() *Config {
	p := perceptron.Paper("spins", 9, perceptron.Coupled)
	return &Config{
		Common: p.Common, Target: TargetConfig{Beta: 1}, Transition: p.Transition, Loss: p.Loss,
		Generator: GeneratorConfig{Kind: "perceptron", Neighbours: 24, Inputs: hierarchy.Nearest, Order: hierarchy.Farthest, Units: 16, GeneratorConfig: p.Generator},
	}
}

// coupling returns the mean over spins i of Σ_j tanh |βJ_ij|.
func (t *TargetConfig) coupling() float64 {
	var sum float64
	for _, e := range t.Edges {
		sum += math.Tanh(t.Beta * math.Abs(e.Coupling))
	}
	return 2 * sum / float64(t.Spins)
}

// recipe sets the best settings known for a graph with so many learned spins.
func (c *Config) recipe(g hierarchy.Graph, learned int) {
	t := hierarchy.GraphTraining(g.Order, learned)
	if c.Preset == "quick" {
		t.Steps, t.LearningRate = t.Steps/6, 0.02
		// Steps for few spins are fast anyway, and some graphs need all inputs.
		if learned > 64 && g.Neighbours < hierarchy.MaxInputs {
			t.Batch, t.Anneal, g.Neighbours = 128, 0.2, 16
		}
	}
	t.Configure(&c.Training, &c.Transition, &c.Loss.Balancing)
	c.Generator.Neighbours, c.Generator.Inputs, c.Generator.Order, c.Generator.Units = g.Neighbours, g.Inputs, g.Order, g.Hidden
}

// Adapt implements engine.Adapter.
func (c *Config) Adapt(context.Context) (why string, err error) {
	g, err := c.Target.graph()
	if err != nil || g.N() > maxSpins {
		return "", nil // Validate says why
	}
	if c.Preset == "paper" {
		p := perceptron.Paper("spins", g.N(), c.Target.coupling())
		return fmt.Sprintf("%s; reference: %s", p.Adapt(&c.Training, &c.Transition, &c.Loss), describeReference(g)), nil
	}
	h, learned := hierarchy.GraphRecipe(c.Target.law())
	c.recipe(h, learned)
	return fmt.Sprintf("%d of %d spins are learned, each by a network of %d units that reads at most %d others; the rest are drawn exactly; reference: %s",
		learned, g.N(), h.Hidden, c.Generator.Neighbours, describeReference(g)), nil
}
