package categories

import (
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/pool"
)

// pieceCost is the constant cost of a piece of a gradient, in inputs of a hidden unit.
const pieceCost = 1 << 14

// NewBatch returns buffers for so many samples and configurations to score, both multiples of 64.
func (m *Model) NewBatch(samples, scored int, seed uint64, workers *pool.Pool) (*hierarchy.Batch[byte], error) {
	batch, err := sites.NewBatch[byte](samples, scored, seed, workers)
	if err != nil {
		return nil, err
	}
	b, r := &hierarchy.Batch[byte]{Batch: batch}, m.newWorkspace(batch.Blocks(), true, workers)
	b.Init(r, m.Words(), maxPassBlocks, func(lo, hi int) []pool.Span {
		n := m.Sites() * block
		return append(r.Spans(lo, hi, maxPassBlocks), pool.SpanOf(r.state[lo*n:hi*n], maxPassBlocks*n))
	})
	b.Gradient = r.NewGradient(func(u *hierarchy.Unit, net *hierarchy.Net, blocks int) int {
		return blocks*len(u.Sites)*net.Derivatives()*m.states(u)/len(u.Nets) + pieceCost
	}, workers)
	return b, nil
}
