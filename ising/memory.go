package ising

import (
	"math"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
)

// Demands implements engine.Demander: it bounds the memory of a run with a configuration
// that is valid otherwise.
func (c *Config) Demands() []engine.Demand {
	if c.Generator.Kind == "hierarchy" {
		return c.hierarchyDemands()
	}
	p, n := c.perceptron(), c.Target.L*c.Target.L
	rows, count := float64(c.Training.Batch+nn.BlockRows()), float64(n)
	all := p.OwnDemands(n)
	if c.Loss.Average == "exact" {
		states := math.Exp2(count)
		all = append(all, engine.Demand{Key: "target.l", Bytes: 64*states*states + 256*states})
		if c.Loss.RaoBlackwell { // a law of all configurations for each block of rows
			laws := rows * (16*math.Exp2(math.Ceil(count/2)) + 8*states/float64(nn.BlockRows()))
			all = append(all, engine.Demand{Key: "training.batch", Bytes: laws})
		}
	} else {
		all = p.Demands(n)
	}
	const atOnce = 1 << 16 // of an evaluation
	return append(all, engine.Demand{Key: "target.l", Bytes: atOnce*8*float64(bitspin.Words(n)) + 16*count*count})
}
