package mixed

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/conf"
)

// Demands bounds the memory of a run with a configuration that is valid otherwise,
// with what the target asks for beside it.
func (c *Config) Demands(dim, modes int, target ...engine.Demand) []engine.Demand {
	c = conf.Chosen(c)
	g := newGenerator(c.Generator, dim, modes)
	return append(append(c.Training.Demands(g.NumParams()), g.demands(c)...), target...)
}

func (g *perceptron) demands(c *Config) []engine.Demand {
	width, widest := g.Widths()
	n := c.Training.Batch
	rows, d, m := float64(n+nn.BlockRows()), float64(g.dim), float64(g.modes)
	block := float64(nn.LanesOf(n) * nn.BlockRows())
	// Layers; probabilities, states and their moves; the gradient by modes.
	batch := rows*4*(float64(width)+3*m+18+10*d) + block*4*3*float64(widest) + c.Loss.bytes(n, g.dim, g.modes)
	return []engine.Demand{{Key: "training.batch", Bytes: batch}}
}

func (g *density) demands(c *Config) []engine.Demand {
	each, d, rows := float64(c.Generator.Components), float64(g.Dim()), float64(c.Training.Batch+nn.BlockRows())
	work := 8 * each * (d + 1) // of a row of s, and as much of s′
	if c.Generator.Bent {
		work += 16 * each * d
	}
	if c.Loss.Partners < 1 {
		work *= 2
	}
	return []engine.Demand{
		{Key: "training.batch", Bytes: rows*(work+128+8*d) + 16*24*float64(g.NumParams())},
		{Key: "generator.scout.population", Bytes: float64(c.Generator.Scout.Population) * (8*each + 12*d + 128)},
	}
}
