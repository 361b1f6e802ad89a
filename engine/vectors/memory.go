package vectors

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
)

// Demands bounds the memory of a run with a configuration that is valid otherwise,
// with what the target asks for beside it.
func (c *Config) Demands(dim int, target ...engine.Demand) []engine.Demand {
	return c.settings().demands(dim, 0, target)
}

// Demands is Config's for a target of so many modes.
func (c *ModalConfig) Demands(dim, modes int, target ...engine.Demand) []engine.Demand {
	return c.settings().demands(dim, modes, target)
}

func (c *Config) demands(dim, modes int, target []engine.Demand) []engine.Demand {
	nets := newGenerator(c.Generator, dim, modes).networks()
	n, d, m := c.Training.Batch, float64(dim), float64(modes)
	width, widest := 0, 0 // of all layers
	for _, net := range nets.nets {
		all, most := net.Widths()
		width, widest = width+all, max(widest, most)
	}
	rows, latent := float64(n+nn.WideBlockRows(n)), float64(nets.latent)
	// Noise, states and gradients; layers, versions of the state and scales; proposals;
	// probabilities of modes and the gradient with respect to them.
	batch := rows*4*(latent+5*d+float64(width)+2*latent*float64(c.Generator.Depth+2)+2*d+16+4*m) +
		float64(nn.LanesOf(n)*nn.WideBlockRows(n))*4*8*float64(widest)

	all := c.Training.Demands(nets.params)
	if nets.base != nil {
		k, triangle := float64(c.Generator.Components), float64(dim*(dim+1)/2)
		if c.Generator.Base == "product" {
			triangle = d
		}
		// Whitened states and shares of each component, states, and what one component needs, in
		// blocks of 8, of which each mode may leave one all but empty; packed parameters.
		blocked := rows * (1 + 7*min(1, max(1, m)/float64(min(n, nn.BlockRows()))))
		batch += blocked*8*(k+4)*(d+float64(nets.base.Factors())) + 8*24*k*max(1, m)*triangle
		if c.Generator.Bent {
			batch += blocked*(24*k+32)*d + rows*d*float64(32*c.Generator.Depth+16) + 8*272*k*max(1, m)*d // bent coordinates; couplings'
		}
		all = append(all, engine.Demand{Key: "generator.scout.population", Bytes: float64(c.Generator.Scout.Population) * (8*k + 20*d + 128)})
	}
	batch += losses[c.Loss.Kind].bytes(&c.Loss, n, dim, modes, batch)
	return append(append(all, engine.Demand{Key: "training.batch", Bytes: batch}), target...)
}
