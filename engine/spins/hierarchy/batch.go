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
	b.In(r, m.Words(), n, func(lo, hi int) []pool.Span {
		return []pool.Span{pool.SpanOf(r.state[lo*r.size:hi*r.size], n*r.size), pool.SpanOf(r.residual[lo*m.learned:hi*m.learned], n*m.learned),
			pool.SpanOf(r.logq[lo:hi], n), pool.SpanOf(r.r[lo:hi], n)}
	})
	b.Gradient = NewGradient(&m.Plan, blocks, func(u *Unit, net *Net, blocks int) int {
		return (blocks*len(u.Sites) + foldCost) * (net.padded*net.lanes + otherCost)
	}, r.addGradient, workers)
	return b, nil
}

// addGradient adds what blocks have in a unit to the derivatives of its net.
func (r *room) addGradient(unit, lo, hi int, scale [][block]float32, tables, output []float32) (shift float64) {
	m := r.model
	u, net := &m.Units[unit], r.weights.Of(unit)
	for k := lo; k < hi; k++ {
		state, scale := r.block(k), &scale[k]
		residual := r.residual[k*m.learned+u.Begin:][:len(u.Sites)]
		for s := range u.Sites {
			net.Gradient(tables, output, scale, &residual[s], state, u.InputsOf(0, s))
			if m.biased {
				for j, e := range &residual[s] {
					shift += float64(e * scale[j])
				}
			}
		}
	}
	return shift
}
