package hybrid

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
)

// demands bounds the memory of a run with a configuration that is valid
// otherwise.
func (c *Config) demands() []engine.Demand {
	modes := len(c.Target.Mu)
	g := newGenerator(c.Generator, modes)
	width, widest := 0, 0
	for l := range g.net.Layers() + 1 {
		width, widest = width+g.net.Width(l), max(widest, g.net.Width(l))
	}
	n := c.Training.Batch
	rows, choices, m := float64(n+nn.BlockRows()), float64(g.choices), float64(modes)
	block := float64(nn.LanesOf(n) * nn.BlockRows())
	// Layers; probabilities, states and their moves; the gradient by modes.
	batch := rows*4*(float64(width)+choices+2*m+24) + block*4*3*float64(widest)
	all := append(c.Training.Demands(g.net.NumParams()),
		engine.Demand{Key: "evaluation.samples", Bytes: 48 * float64(c.Evaluation.Samples)})
	switch c.Loss.Kind {
	case "kfd":
		q := c.Loss.Witness.Features.Number + 1
		points := block * float64(g.coordinates)
		all = append(all, engine.Demand{Key: "loss.witness.features.number",
			Bytes: kfd.Bytes(n, q*modes) + rows*8*float64(q) + 4*(points+rows)*(1+2*m+float64(q))})
	case "discriminator":
		batch += c.Loss.Discriminator.Bytes(n, 1+modes) + rows*4*(3*(1+m)+choices)
	default:
		batch += mmd.MixedBytes(n, modes)
	}
	return append(all, engine.Demand{Key: "training.batch", Bytes: batch})
}
