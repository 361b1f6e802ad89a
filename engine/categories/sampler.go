package categories

import (
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/internal/pool"
)

// samplerBlocks is the number of blocks that all threads draw in one call.
const samplerBlocks = 32

// NewSampler returns a Sampler of the generator with the given parameters, which computes its
// density too. It keeps a copy of the parameters.
func (m *Model) NewSampler(params []float32, workers *pool.Pool) *sites.Sampler[byte] {
	r := m.newWorkspace(samplerBlocks, false, workers)
	r.Weights.Tabulate()
	r.Weights.Set(params)
	return sites.NewSampler(m.Sites(), samplerBlocks, maxPassBlocks, r, workers)
}
