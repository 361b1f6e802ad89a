package ising

import (
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
)

// Demands implements engine.Explainer: it bounds the memory of a run with a configuration
// that is valid otherwise.
func (c *Config) Demands() []engine.Demand {
	if c.Generator.Kind == "hierarchy" {
		return c.hierarchyDemands()
	}
	n := c.Target.L * c.Target.L
	const atOnce = 1 << 16 // of an evaluation
	return append(c.perceptron().Demands(n),
		engine.Demand{Key: "target.l", Bytes: atOnce*8*float64(bitspin.Words(n)) + 16*float64(n*n)})
}
