package perceptron

import "github.com/revgen/revgen/engine"

// Explain implements engine.Explainer.
func (c *Config) Explain() string { return c.Drawing(c.Generator.Head + " layer draws spins") }

// Drawing is Explain of a generator whose last layer is described in words.
func (c *Config) Drawing(layer string) string {
	return "a perceptron whose " + layer + ", " + engine.ByPairs(losses[c.Loss.Kind].name, c.Transition.Explain())
}
