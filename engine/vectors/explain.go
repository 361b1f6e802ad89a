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
	every := "a step"
	if k := c.Loss.Reuse; k > 0 {
		every = fmt.Sprintf("a batch serves %d steps and", k+1)
	}
	early := ""
	if e := c.Loss.Enough; e > 0 {
		early = fmt.Sprintf("; training stops early once the effective sample size reaches %v of the samples", e)
	}
	return fmt.Sprintf("%s, %s; %s evaluates ln π %d times%s", generator, by, every, evaluations, early)
}

// name says in words what a generator of vectors is.
func (g *GeneratorConfig) name() string {
	switch {
	case g.Kind == "residual":
		return fmt.Sprintf("%d residual perceptrons", g.Depth)
	case g.Kind == "realnvp":
		return fmt.Sprintf("a RealNVP of %d couplings", g.Depth)
	}
	of := ""
	if g.Base == "product" {
		of = " for each coordinate"
	}
	name := strings.TrimSuffix(mixture.Name(g.Components, of, g.Bent), ",")
	if g.Depth > 0 {
		name += fmt.Sprintf(" through %d couplings", g.Depth)
	}
	return name
}

// Demands bounds the memory of a run with a configuration that is valid otherwise,
// with what the target asks for beside it.
func (c *Config) Demands(dim int, target ...engine.Demand) []engine.Demand {
	return c.settings().demands(dim, 0, target)
}

// Demands is Config's for a target of so many modes.
func (c *ModalConfig) Demands(dim, modes int, target ...engine.Demand) []engine.Demand {
	return c.settings().demands(dim, modes, target)
}

func (c *Config) demands(dim, modes int, target []engine.Demand) []engine.Demand {
	nets := newGenerator(c.Generator, dim, modes).networks()
	n, d, m := c.Training.Batch, float64(dim), float64(modes)
	width, widest := 0, 0 // of all layers
	for _, net := range nets.nets {
		all, most := net.Widths()
		width, widest = width+all, max(widest, most)
	}
	rows, latent := float64(n+nn.WideBlockRows(n)), float64(nets.latent)
	// Noise, states and gradients; layers, versions of the state and scales; proposals;
	// probabilities of modes and the gradient with respect to them.
	batch := rows*4*(latent+5*d+float64(width)+2*latent*float64(c.Generator.Depth+2)+2*d+16+4*m) +
		float64(nn.LanesOf(n)*nn.WideBlockRows(n))*4*8*float64(widest)

	all := c.Training.Demands(nets.params)
	if nets.base != nil {
		k, triangle := float64(c.Generator.Components), float64(dim*(dim+1)/2)
		if c.Generator.Base == "product" {
			triangle = d
		}
		// Whitened states and shares of each component, states, and what one component needs, in
		// blocks of 8, of which each mode may leave one all but empty; packed parameters.
		blocked := rows * (1 + 7*min(1, max(1, m)/float64(min(n, nn.BlockRows()))))
		batch += blocked*8*(k+4)*(d+float64(nets.base.Factors())) + 8*24*k*max(1, m)*triangle
		if c.Generator.Bent {
			batch += blocked*(24*k+32)*d + rows*d*float64(32*c.Generator.Depth+16) + 8*272*k*max(1, m)*d // bent coordinates; couplings'
		}
		all = append(all, engine.Demand{Key: "generator.scout.population", Bytes: float64(c.Generator.Scout.Population) * (8*k + 20*d + 128)})
	}
	batch += losses[c.Loss.Kind].bytes(&c.Loss, n, dim, modes, batch)
	return append(append(all, engine.Demand{Key: "training.batch", Bytes: batch}), target...)
}
