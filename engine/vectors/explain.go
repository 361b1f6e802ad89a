package vectors

import (
	"fmt"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/nn"
)

// Explain implements engine.Explainer.
func (c *Config) Explain() string {
	c = c.settings()
	steps := engine.Moves(c.Transition.Steps, "Metropolis step")
	return c.explain(c.Generator.name(), fmt.Sprintf("%s of σ %v", steps, strings.Trim(fmt.Sprint(c.Transition.Sigma), "[]")))
}

// Explain implements engine.Explainer.
func (c *ModalConfig) Explain() string {
	s := c.settings()
	steps := engine.Moves(s.Transition.Steps, "Metropolis step") + " within and across modes"
	if s.Generator.Kind != "mixture" {
		steps += " in " + strings.ReplaceAll(s.Transition.Order, "paper-order", "the paper's") + " order"
		by, _ := losses[s.Loss.Kind].explain(s, steps)
		return "a perceptron with a point and a logit for each mode, " + by
	}
	return s.explain(strings.TrimSuffix(mixture.Name(s.Generator.Components, " for each mode", s.Generator.Bent), ","), steps)
}

func (c *Config) explain(generator, move string) string {
	by, evaluations := losses[c.Loss.Kind].explain(c, move)
	subject := "a step"
	if k := c.Loss.Reuse; k > 0 {
		subject = fmt.Sprintf("a batch serves %d steps and", k+1)
	}
	end := ""
	if e := c.Loss.Enough; e > 0 {
		end = fmt.Sprintf("; training stops early once the effective sample size reaches %v of the samples", e)
	}
	return fmt.Sprintf("%s, %s; %s evaluates ln π %d times%s", generator, by, subject, evaluations, end)
}

// name describes a generator without modes in words.
func (g *GeneratorConfig) name() string {
	switch {
	case g.Kind == "residual":
		return fmt.Sprintf("%d residual perceptrons", g.Depth)
	case g.Kind == "realnvp":
		return fmt.Sprintf("a RealNVP of %d couplings", g.Depth)
	}
	scope := ""
	if g.Base == "product" {
		scope = " for each coordinate"
	}
	name := strings.TrimSuffix(mixture.Name(g.Components, scope, g.Bent), ",")
	if g.Depth > 0 {
		name += fmt.Sprintf(" through %d couplings", g.Depth)
	}
	return name
}

// Demands bounds the memory of a run with a valid configuration, and appends the target's demands.
func (c *Config) Demands(dim int, target ...engine.Demand) []engine.Demand {
	return c.settings().demands(dim, 0, target)
}

// Demands is Config.Demands for a target with modes.
func (c *ModalConfig) Demands(dim, modes int, target ...engine.Demand) []engine.Demand {
	return c.settings().demands(dim, modes, target)
}

func (c *Config) demands(dim, modes int, target []engine.Demand) []engine.Demand {
	nets := newGenerator(c.Generator, dim, modes).networks()
	n, d, m := c.Training.Batch, float64(dim), float64(modes)
	width, widest := 0, 0 // of all layers together, and of the widest
	for _, net := range nets.nets {
		netWidth, netWidest := net.Widths()
		width, widest = width+netWidth, max(widest, netWidest)
	}
	rows, latent := float64(n+nn.WideBlockRows(n)), float64(nets.latent)
	// In this order: noise, states and gradients; layers; v_l and scales of couplings; proposals;
	// probabilities of modes and the gradient with respect to them. Then the scratch of lanes.
	batch := rows*4*(latent+5*d+float64(width)+2*latent*float64(c.Generator.Depth+2)+2*d+16+4*m) +
		float64(nn.LanesOf(n)*nn.WideBlockRows(n))*4*8*float64(widest)

	demands := c.Training.Demands(nets.params)
	if nets.base != nil {
		k, triangle := float64(c.Generator.Components), float64(dim*(dim+1)/2)
		if c.Generator.Base == "product" {
			triangle = d
		}
		// Whitened states and shares of each component, states, and the work of one component. Rows
		// stand in blocks of 8, and each mode may leave one block all but empty. Then the packed
		// parameters.
		blocked := rows * (1 + 7*min(1, max(1, m)/float64(min(n, nn.BlockRows()))))
		batch += blocked*8*(k+4)*(d+float64(nets.base.Factors())) + 8*24*k*max(1, m)*triangle
		if c.Generator.Bent {
			// Bent coordinates of Gaussians and of couplings, and parameters of bends.
			batch += blocked*(24*k+32)*d + rows*d*float64(32*c.Generator.Depth+16) + 8*272*k*max(1, m)*d
		}
		demands = append(demands, engine.Demand{Key: "generator.scout.population", Bytes: float64(c.Generator.Scout.Population) * (8*k + 20*d + 128)})
	}
	batch += losses[c.Loss.Kind].bytes(&c.Loss, n, dim, modes, batch)
	return append(append(demands, engine.Demand{Key: "training.batch", Bytes: batch}), target...)
}
