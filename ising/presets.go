package ising

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/engine/spins/perceptron"
	"github.com/revgen/revgen/internal/conf"
)

// Presets names the ready-made configurations, the default first.
var Presets = []string{"quick", "paper", "best"}

// Preset returns a fresh copy of the named configuration.
func Preset(name string) (*Config, error) {
	if err := conf.OneOf("preset", name, Presets); err != nil {
		return nil, err
	}
	c := paper()
	if c.Preset = name; name != "paper" {
		c.recipe(name == "quick")
	}
	return c, nil
}

// paper holds the settings of the paper's Section 5.3.
func paper() *Config {
	t := TargetConfig{L: 3, Beta: 0.2, J: 1}
	p := t.paper()
	return &Config{
		Common: p.Common, Target: t, Transition: p.Transition, Loss: p.Loss,
		Generator: GeneratorConfig{Kind: "perceptron", Neighbours: 24, Units: 6, Symmetries: "all", From: "scratch", GeneratorConfig: p.Generator},
	}
}

// paper returns the settings of the paper's Section 5.3 for the target.
func (t *TargetConfig) paper() perceptron.Config {
	return perceptron.Paper("ising", t.L*t.L, 4*math.Tanh(t.Beta*math.Abs(t.J)))
}

// Adapt gives presets the recipe for their target.
func (c *Config) Adapt(context.Context) (why string, err error) {
	l := c.Target.L
	switch {
	case c.Preset == "paper" && l > 1 && l <= maxSide:
		p := c.Target.paper()
		return p.Adapt(&c.Training, &c.Transition, &c.Loss), nil
	case c.Preset == "paper", l%4 != 0 && l > maxIrregularSide:
		return "", nil // Validate says why
	}
	c.recipe(c.Preset == "quick")
	return fmt.Sprintf("a hierarchy with a density for the 2^%d configurations of the %d×%[2]d lattice", l*l, l), nil
}

// recipe sets all but target, seed and evaluation to the recipe of a hierarchy for the
// target, the most accurate one known or a quick one.
func (c *Config) recipe(quick bool) {
	c.Generator.Kind, c.Loss.Kind = "hierarchy", "balance"
	g := &c.Generator
	g.Neighbours, g.Units, g.Symmetries = 28, 4, "rotations"
	switch {
	case quick && c.Target.L < 48: // sampling from tables, which hold all states of twelve neighbours, is twice as fast
		g.Neighbours, g.Units, g.Symmetries = 12, 2, "all"
	case quick:
		g.Neighbours = 24
	}
	t, half := hierarchy.Recipe(hierarchy.Square{
		Side: c.Target.L, J: c.Target.J, Field: c.Target.H, Beta: c.Target.Beta,
		Neighbours: g.Neighbours, Hidden: g.Units,
	})
	if c.Target.L%4 != 0 {
		// A lattice that is a graph takes longer to learn, because its sites share no weights.
		t.Steps, t.Batch, t.LearningRate, t.Anneal = min(20_000, 3000+20*c.Target.L*c.Target.L), 512, 0.01, 0.5
		// Presets begin with such a side. A configuration that was written before the key existed
		// takes the key's value from there, and was trained with all symmetries.
		g.Symmetries = "all"
	}
	c.Generator.From = "scratch"
	if half {
		c.Generator.From = "half"
	}
	switch {
	case quick && half:
		t.Steps, t.Batch, t.LearningRate = 200, 256, 0.014
		if c.Target.L%16 != 0 { // half the side lacks some of the weights
			t.Steps = 1000
		}
	case quick:
		t.Steps /= 3
	}
	t.Configure(&c.Training, &c.Transition, &c.Loss.Balancing)
}

// Predecessor returns the recipe for half the side, if the generator starts from there.
func (c *Config) Predecessor() engine.Config {
	if c.Generator.Kind != "hierarchy" || c.Generator.From != "half" {
		return nil
	}
	p := *c
	p.Target.L /= 2
	p.recipe(c.Preset == "quick")
	start := p.Generator.From // by the recipe for half the side
	p.Generator, p.Loss = c.Generator, c.Loss
	p.Generator.From = start
	return &p
}
