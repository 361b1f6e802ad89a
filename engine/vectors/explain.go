package vectors

import (
	"fmt"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mixture"
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
