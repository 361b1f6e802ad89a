package potts

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/categories"
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
	c := &Config{
		Common: engine.Common{
			Schema: engine.SchemaVersion, System: "potts", Preset: name,
			Training:   engine.Training{Seed: 1},
			Evaluation: engine.Evaluating{Samples: 200_000},
		},
		Target: TargetConfig{Beta: math.Log(1 + math.Sqrt(3)), Q: 3, Model: "potts", L: 16, J: 1},
	}
	if name == "paper" {
		c.Target.L, c.Target.Beta = 3, 0.5
	}
	law, err := c.Target.law()
	if err != nil {
		return nil, err
	}
	c.recipe(law)
	return c, nil
}

// Adapt implements engine.Adapter.
func (c *Config) Adapt(context.Context) (why string, err error) {
	law, err := c.Target.law()
	if err != nil {
		return "", nil // Validate says why
	}
	if c.recipe(law); c.Preset == "paper" {
		p := c.perceptron()
		return p.Adapt(&c.Training, &c.Transition, &p.Loss), nil
	}
	why = "each site of the graph has a network of its own"
	if c.Target.side() > 0 {
		why = "the sites of the lattice share networks that have the symmetries of the square"
	}
	code, symmetric := law.Code()
	if symmetric {
		why += map[categories.Code]string{
			categories.Same:     "; the states share them too",
			categories.Distance: "; the states of the circle share them too",
		}[code]
	}
	return fmt.Sprintf("%s; reference: %s", why, describeReference(law)), nil
}

// recipe sets all but target, seed and evaluation to the best settings known for the target.
//
// On a Potts lattice below its critical temperature, β rises during training from nine tenths of the critical
// one. On a graph it always rises, from 0, because the order is not known. One sample in four moves.
func (c *Config) recipe(law *categories.Target) {
	quick, seed, side := c.Preset == "quick", c.Training.Seed, c.Target.side()
	p := c.paper(law)
	c.Training, c.Transition = p.Training, p.Transition
	c.Training.Seed = seed
	c.Generator = GeneratorConfig{Kind: "perceptron", Neighbours: 24, Units: 16,
		Latent: p.Generator.Latent, Hidden: p.Generator.Hidden, Slope: p.Generator.Slope, Gain: p.Generator.Gain, Width: p.Generator.Width}
	c.Loss = LossConfig{Kind: "mmd", Kernel: p.Loss.Kernel, Statistic: p.Loss.Statistic, Discriminator: p.Loss.Discriminator}
	if c.Preset == "paper" {
		return
	}
	c.Generator.Kind, c.Loss.Kind = "hierarchy", "balance"
	h := hierarchy.GraphTraining(hierarchy.Farthest, law.N())
	h.Partners = 0.75
	if side > 0 {
		h.Steps, h.Batch, h.LearningRate, h.Anneal, h.Sweeps = 2600, 256, 0.014, 0, side/8
		c.Generator.Units = 4
		if critical := math.Log(1 + math.Sqrt(float64(c.Target.Q))); c.Target.Model == "potts" && c.Target.Beta*c.Target.J > 1.05*critical {
			h.Anneal, h.AnnealFrom = 0.3, 0.9*critical/(c.Target.Beta*c.Target.J)
		}
		if quick {
			c.Generator.Neighbours = 16
		}
	}
	c.Generator.Neighbours = min(c.Generator.Neighbours, categories.MaxNeighbours(law, side))
	if quick {
		h.Steps /= 3
	}
	h.Configure(&c.Training, &c.Transition, &c.Loss.Balancing)
}

// paper returns the settings of the paper's method. The kernels of perceptron.Paper are scaled by the
// ratio of distances between random configurations, as one-hot spins and as spins.
func (c *Config) paper(law *categories.Target) perceptron.Config {
	t, coupling := &c.Target, perceptron.Coupled
	if t.L > 0 && t.Model == "potts" {
		coupling *= t.Beta * math.Abs(t.J) / math.Log(1+math.Sqrt(float64(t.Q)))
	}
	p := perceptron.Paper("potts", law.N(), coupling)
	for i := range p.Loss.Kernel.Bandwidths {
		p.Loss.Kernel.Bandwidths[i] *= 2 * math.Sqrt(1-1/float64(t.Q))
	}
	if _, symmetric := law.Code(); !symmetric {
		p.Transition.Proposal = "single"
	}
	return p
}
