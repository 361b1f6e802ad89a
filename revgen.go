// Package revgen trains generators of independent samples from nothing but a
// target distribution and a Metropolis–Hastings kernel, and draws from them.
package revgen

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/gmm"
	"github.com/revgen/revgen/hybrid"
	"github.com/revgen/revgen/ising"
)

// Systems returns the systems that come with RevGen, the default first.
func Systems() engine.Systems {
	return engine.Systems{ising.Definition, gmm.Definition, hybrid.Definition}
}
