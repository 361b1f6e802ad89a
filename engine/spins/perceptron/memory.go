package perceptron

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
)

// Demands bounds the memory of a run on n spins with a configuration that is valid
// otherwise, but for what samples are measured with.
func (c *Config) Demands(n int) []engine.Demand {
	g := newGenerator(c.Generator, n)
	spins, words := float64(n), float64(g.words)
	width, widest := g.net.Widths()
	rows := float64(c.Training.Batch + nn.BlockRows())
	// Activations; ∂L/∂h, uniforms and odds of the head, s and s′; moves and values.
	perRow := 4*float64(width) + 4*5*spins + 8*4*words + 64
	if c.Loss.Gradient == "full" {
		perRow += 4 * spins
	}
	batch := rows*perRow + float64(nn.LanesOf(c.Training.Batch)*nn.BlockRows())*8*float64(widest)
	batch += losses[c.Loss.Kind].bytes(&c.Loss, c.Training.Batch, n)
	return append(c.Training.Demands(g.net.NumParams()), engine.Demand{Key: "training.batch", Bytes: batch})
}
