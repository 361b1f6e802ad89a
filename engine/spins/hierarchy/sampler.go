package hierarchy

import (
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/internal/pool"
)

// A Sampler draws from a generator with fixed parameters and computes its
// density.
type Sampler struct{ *sites.Blocks[uint64] }

// samplerBlocks is how many blocks are drawn at once, by all threads.
const samplerBlocks = 64

// NewSampler returns a sampler of the model with the given parameters, of which
// it keeps a copy in its own form.
func (m *Model) NewSampler(params []float32, workers *pool.Pool) *Sampler {
	checkLength("parameters", len(params), m.params)
	r := m.newRoom(samplerBlocks, false, workers)
	r.weights.Tabulate()
	r.weights.Set(params)
	return &Sampler{sites.NewSampler(m.words(), samplerBlocks, together, r, workers)}
}
