package ising

import (
	"context"
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/engine/spins/perceptron"
	"github.com/revgen/revgen/internal/conf"
)

// Presets names the ready-made configurations, the default first.
var Presets = []string{"quick", "paper", "best"}

// Preset returns a fresh copy of the named configuration.
func Preset(name string) (*Config, error) {
	of := map[string]func() *Config{"quick": quick, "paper": paper, "best": best}[name]
	if of == nil {
		return nil, conf.OneOf("preset", name, Presets)
	}
	return of(), nil
}

// paper holds the settings of the paper's Section 5.3, with multi-spin proposals.
func paper() *Config {
	p := perceptron.Paper("ising")
	p.Transition.Proposal = "multi-spin"
	return &Config{
		Common: p.Common, Target: TargetConfig{L: 3, Beta: 0.2, J: 1}, Transition: p.Transition, Loss: p.Loss,
		Generator: GeneratorConfig{Kind: "perceptron", Neighbours: 24, Units: 6, From: "scratch", GeneratorConfig: p.Generator},
	}
}

// quick reaches the sampling floor at β = 0.2 within a minute on two cores: the
// least-squares witness with the 3×3 lattice's exact transition matrix, and a
// bernoulli head whose probabilities stand for the samples drawn from them. It
// is annealed, without which a generator below the critical temperature may lose
// a sector of the magnetisation in its first steps. Larger lattices need
// loss.average sampled and loss.rao_blackwell false.
func quick() *Config {
	c := paper()
	c.Preset = "quick"
	c.Training.Steps = 800
	c.Training.Optimizer.Epsilon, c.Training.Optimizer.WeightDecay = 1e-16, 0
	c.Training.Schedule = optim.Schedule{Kind: "cosine"}
	c.Training.EMA = 0.998
	c.Training.CheckpointEvery, c.Training.LogEvery = 200, 10
	c.Transition.Steps, c.Transition.Anneal = 2, 0.3
	c.Generator.Head, c.Generator.Gain = "bernoulli", 10
	c.Loss.Kind, c.Loss.Average, c.Loss.Gradient = "kfd", "exact", "difference"
	c.Loss.RaoBlackwell = true
	c.Loss.Witness.Every = 2
	return c
}

// best is the most accurate recipe known, with or without a symmetry: quick for
// longer.
func best() *Config {
	c := quick()
	c.Preset = "best"
	c.Training.Steps = 6000
	c.Training.Schedule.Warmup = 200
	c.Training.CheckpointEvery = 1000
	c.Loss.Witness.Every = 4
	return c
}

// Adapt gives a preset that can say more than one recipe the one for its target. The
// paper's own lattices, ferromagnets of three rows without a field, keep its generator.
// It returns what was chosen and why, "" if the preset stands as it is.
func (c *Config) Adapt(context.Context) (why string, err error) {
	t := &c.Target
	if c.Preset == "paper" || t.L == 3 && t.J > 0 && t.H == 0 || t.L%4 != 0 && t.L > largestIrregular {
		return "", nil
	}
	best := c.Preset == "best"
	c.adaptHierarchy(best)
	n := c.Target.L * c.Target.L
	if t.L <= 3 {
		return fmt.Sprintf("a hierarchy with a density, because this %d×%d lattice is none of the paper's", t.L, t.L), nil
	}
	return fmt.Sprintf("a hierarchy with a density, because the %d×%d lattice has 2^%d configurations", t.L, t.L, n), nil
}

// adaptHierarchy sets all but target, seed and evaluation to the recipe of a
// hierarchy for the target.
func (c *Config) adaptHierarchy(best bool) {
	c.Generator.Kind, c.Loss.Kind = "hierarchy", "divergence"
	c.Generator.Neighbours, c.Generator.Units = 24, 6
	if !best {
		c.Generator.Neighbours, c.Generator.Units = 12, 2
	}
	stages := hierarchy.Recipe(hierarchy.Square{
		Side: c.Target.L, J: c.Target.J, Field: c.Target.H, Beta: c.Target.Beta,
		Neighbours: c.Generator.Neighbours, Hidden: c.Generator.Units,
	}, c.Training.Seed)
	t := stages[len(stages)-1].Training
	if c.Target.L%4 != 0 {
		// A lattice that is a graph has more to learn: its sites share nothing.
		t.Steps, t.LearningRate, t.Anneal = min(20_000, 3000+20*c.Target.L*c.Target.L), 0.01, 0.5
	}
	if !best {
		t.Steps /= 3
	}
	c.Generator.From = "scratch"
	if len(stages) > 1 {
		c.Generator.From = "half"
	}
	t.Configure(&c.Training, &c.Transition)
}

// Predecessor returns the recipe for half the side, if the generator starts from
// there.
func (c *Config) Predecessor() engine.Config {
	if c.Generator.Kind != "hierarchy" || c.Generator.From != "half" {
		return nil
	}
	p := *c
	p.Target.L /= 2
	p.adaptHierarchy(true)
	p.Generator.Neighbours, p.Generator.Units = c.Generator.Neighbours, c.Generator.Units
	return &p
}
