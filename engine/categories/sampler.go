package categories

import (
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/internal/pool"
)

// A Sampler draws from a generator with fixed parameters and computes its density.
type Sampler struct{ *sites.Blocks[byte] }

// samplerBlocks is how many blocks are drawn at once, by all threads.
const samplerBlocks = 32

// NewSampler returns a sampler of the model with the given parameters. It keeps a copy of
// these in its own form.
func (m *Model) NewSampler(params []float32, workers *pool.Pool) *Sampler {
	r := m.newRoom(samplerBlocks, false, workers)
	r.weights.Tabulate()
	r.weights.Set(params)
	return &Sampler{sites.NewSampler(m.Sites(), samplerBlocks, together, r, workers)}
}
