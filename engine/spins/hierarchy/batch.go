package hierarchy

import (
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/internal/pool"
)

// A Batch draws samples of a model for training, step after step, computes the
// density of as many given configurations as it has room for, and differentiates
// the logarithm of both.
type Batch[W uint64 | byte] struct {
	sites.Batch[W]
	*Gradient
	beta func(step uint32) float64 // inverse temperature of a step
}

// The measured costs of a piece apart from its spins' inputs: folding its tables, in spins of
// a block, and each of these spins, in products of an input with a hidden unit.
const (
	foldCost  = 3
	otherCost = 256
)

// NewBatch returns buffers for numbers of samples and of configurations to score,
// multiples of 64.
func (m *Model) NewBatch(samples, scored int, seed uint64, workers *pool.Pool) (*Batch[uint64], error) {
	whole, err := sites.NewBatch[uint64](samples, scored, seed, workers)
	if err != nil {
		return nil, err
	}
	blocks := whole.Blocks()
	b, r, n := &Batch[uint64]{Batch: whole}, m.newRoom(blocks, true, workers), min(max(1, blocks/8), together)
	b.In(r, m.Words(), n, func(lo, hi int) []pool.Span { return r.Spans(lo, hi, n) })
	b.Gradient = r.NewGradient(func(u *Unit, net *Net, blocks int) int {
		return (blocks*len(u.Sites) + foldCost) * (net.padded*net.lanes + otherCost)
	}, workers)
	return b, nil
}
