package categories

import (
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/pool"
)

// otherCost is what a piece of a gradient costs apart from its sites, in inputs of a hidden unit.
const otherCost = 1 << 14

// NewBatch returns buffers for numbers of samples and of configurations to score, multiples of
// 64.
func (m *Model) NewBatch(samples, scored int, seed uint64, workers *pool.Pool) (*hierarchy.Batch[byte], error) {
	whole, err := sites.NewBatch[byte](samples, scored, seed, workers)
	if err != nil {
		return nil, err
	}
	b, r := &hierarchy.Batch[byte]{Batch: whole}, m.newRoom(whole.Blocks(), true, workers)
	b.In(r, m.Words(), together, func(lo, hi int) []pool.Span {
		n := m.Sites() * block
		return append(r.Spans(lo, hi, together), pool.SpanOf(r.state[lo*n:hi*n], together*n))
	})
	b.Gradient = r.NewGradient(func(u *hierarchy.Unit, net *hierarchy.Net, blocks int) int {
		return blocks*len(u.Sites)*net.Derivatives()*m.states(u)/len(u.Nets) + otherCost
	}, workers)
	return b, nil
}
