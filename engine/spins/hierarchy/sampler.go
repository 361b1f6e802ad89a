package hierarchy

import (
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/internal/pool"
)

// samplerBlocks is how many blocks all threads draw at once.
const samplerBlocks = 64

// NewSampler returns a sampler of the generator with the given parameters, of which it keeps a
// copy. It also computes R of given configurations.
func (m *Model) NewSampler(params []float32, workers *pool.Pool) *sites.Sampler[uint64] {
	checkLength("parameters", len(params), m.params)
	r := m.newWorkspace(samplerBlocks, false, workers)
	r.Weights.Tabulate()
	r.Weights.Set(params)
	return sites.NewSampler(m.Words(), samplerBlocks, maxPassBlocks, r, workers)
}
