package perceptron

import (
	"fmt"

	"github.com/revgen/revgen/engine"
)

// Explain implements engine.Explainer.
func (c *Config) Explain() string {
	loss := "MMD²"
	if c.Loss.Kind == "discriminator" {
		loss = "a learned discriminator"
	}
	return fmt.Sprintf("a perceptron whose %s layer draws spins, %s", c.Generator.Head,
		engine.ByPairs(loss, c.Transition.Explain()))
}
