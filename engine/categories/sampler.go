package categories

import (
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/internal/pool"
)

// samplerBlocks is how many blocks are drawn at once, by all threads.
const samplerBlocks = 32

// NewSampler returns what draws from the generator with the given parameters, of which it keeps
// a copy in its own form, and computes its density.
func (m *Model) NewSampler(params []float32, workers *pool.Pool) *sites.Sampler[byte] {
	r := m.newRoom(samplerBlocks, false, workers)
	r.Weights.Tabulate()
	r.Weights.Set(params)
	return sites.NewSampler(m.Sites(), samplerBlocks, together, r, workers)
}
