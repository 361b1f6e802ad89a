package reals

import (
	"fmt"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/internal/conf"
)

// Explain implements engine.Explainer.
func (c *Config) Explain() string {
	c = conf.Chosen(c)
	g, n, m := &c.Generator, c.Training.Batch, c.Transition.Steps
	move := fmt.Sprintf("%s of σ %v", engine.Moves(m, "Metropolis step"), strings.Trim(fmt.Sprint(c.Transition.Sigma), "[]"))
	by, evaluations := engine.ByPairs("MMD²", move), n*(1+m)
	if c.Loss.Kind == "balance" {
		by, evaluations = c.Loss.Explain(move), n+engine.NewBalance(c.Loss.Balancing, n, n, 1).Moved()*m
	}
	return fmt.Sprintf("%s, %s; a step evaluates ln π %d times", g.name(), by, evaluations)
}

// name says in words what a generator is.
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
