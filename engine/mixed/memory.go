package mixed

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/conf"
)

// Demands bounds the memory of a run with a configuration that is valid otherwise,
// with what the target asks for beside it.
func (c *Config) Demands(dim, modes int, target ...engine.Demand) []engine.Demand {
	c = conf.Chosen(c)
	g := newGenerator(c.Generator, dim, modes)
	if g.base != nil {
		each, d, rows := float64(c.Generator.Components), float64(dim), float64(c.Training.Batch+nn.BlockRows())
		params, bent := g.base.NumParams(), 0.0
		if c.Generator.Bent {
			bent = rows * 16 * each * d
		}
		all := append(c.Training.Demands(params),
			engine.Demand{Key: "training.batch", Bytes: bent + rows*(8*each*(d+1)+8*d+128) + 16*24*float64(params)},
			engine.Demand{Key: "generator.scout.population", Bytes: float64(c.Generator.Scout.Population) * (8*each + 12*d + 128)})
		return append(all, target...)
	}
	width, widest := g.net.Widths()
	n := c.Training.Batch
	rows, choices, d, m := float64(n+nn.BlockRows()), float64(g.choices), float64(dim), float64(modes)
	block := float64(nn.LanesOf(n) * nn.BlockRows())
	// Layers; probabilities, states and their moves; the gradient by modes.
	batch := rows*4*(float64(width)+choices+2*m+18+10*d) + block*4*3*float64(widest) + mmd.MixedBytes(n, dim, modes)
	all := c.Training.Demands(g.net.NumParams())
	return append(append(all, engine.Demand{Key: "training.batch", Bytes: batch}), target...)
}
