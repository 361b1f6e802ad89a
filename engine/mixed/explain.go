package mixed

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
	n, m := c.Training.Batch, c.Transition.Steps
	move := engine.Moves(m, "Metropolis step") + " within and across modes"
	if c.Generator.Kind != "mixture" {
		move += " in " + strings.ReplaceAll(c.Transition.Order, "paper-order", "the paper's") + " order"
		return "a perceptron with a point and a logit for each mode, " + engine.ByPairs(c.Loss.name(), move)
	}
	evaluations := n + engine.NewBalance(c.Loss.Balancing, n, n, 1).Moved()*m
	return fmt.Sprintf("%s, %s; a step evaluates ln π %d times",
		strings.TrimSuffix(mixture.Name(c.Generator.Components, " for each mode", c.Generator.Bent), ","), c.Loss.Explain(move), evaluations)
}

// name is how the loss of pairs of samples is called.
func (l *LossConfig) name() string {
	if l.Kind == "discriminator" {
		return "a learned discriminator"
	}
	return "MMD²"
}
