package hierarchy

import (
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/internal/pool"
)

// A Batch draws samples of a model for training, step after step, scores given
// configurations, and differentiates ln q of both.
type Batch[W uint64 | byte] struct {
	sites.Batch[W]
	*Gradient
	beta func(step uint32) float64 // inverse temperature of a step
}

// The measured cost of a piece is (blocks·sites + foldCost)·(inputs·hidden units + otherCost),
// in products of an input with a hidden unit.
const (
	foldCost  = 3
	otherCost = 256
)

// NewBatch returns a batch of samples, and of configurations to score. Both numbers are
// multiples of 64.
func (m *Model) NewBatch(samples, scored int, seed uint64, workers *pool.Pool) (*Batch[uint64], error) {
	batch, err := sites.NewBatch[uint64](samples, scored, seed, workers)
	if err != nil {
		return nil, err
	}
	blocks := batch.Blocks()
	passBlocks := min(max(1, blocks/8), maxPassBlocks) // eight pieces at least
	b, r := &Batch[uint64]{Batch: batch}, m.newWorkspace(blocks, true, workers)
	b.Init(r, m.Words(), passBlocks, func(lo, hi int) []pool.Span { return r.Spans(lo, hi, passBlocks) })
	b.Gradient = r.NewGradient(func(u *Unit, net *Net, blocks int) int {
		return (blocks*len(u.Sites) + foldCost) * (net.padded*net.lanes + otherCost)
	}, workers)
	return b, nil
}
