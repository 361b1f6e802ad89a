package perceptron

import (
	"fmt"

	"github.com/revgen/revgen/engine"
)

// Explain implements engine.Explainer.
func (c *Config) Explain() string {
	return fmt.Sprintf("a perceptron whose %s layer draws spins, %s", c.Generator.Head,
		engine.ByPairs(losses[c.Loss.Kind].name, c.Transition.Explain()))
}
