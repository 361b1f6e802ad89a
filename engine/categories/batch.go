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
	blocks := whole.Blocks()
	b, r := &hierarchy.Batch[byte]{Batch: whole}, m.newRoom(blocks, true, workers)
	b.In(r, m.Words(), together, func(lo, hi int) []pool.Span {
		n, planes, each := m.Sites()*block, m.planes(), m.Learned()*m.coding.q
		return []pool.Span{
			pool.SpanOf(r.state[lo*n:hi*n], together*n), pool.SpanOf(r.bits[lo*planes:hi*planes], together*planes),
			pool.SpanOf(r.logq[lo:hi], together), pool.SpanOf(r.residual[lo*each:hi*each], together*each),
			pool.SpanOf(r.r[lo:hi], together),
		}
	})
	b.Gradient = hierarchy.NewGradient(&m.Plan, blocks, func(u *hierarchy.Unit, net *hierarchy.Net, blocks int) int {
		return blocks*len(u.Sites)*net.Derivatives()*m.states(u)/len(u.Nets) + otherCost
	}, r.addGradient, workers)
	return b, nil
}

// addGradient adds what blocks have in a net to its derivatives.
func (r *room) addGradient(net, lo, hi int, scale [][block]float32, tables, output []float32) (shift float64) {
	m, kernel := r.model, r.weights.Of(net)
	u, size := m.Owner(net), m.planes()
	for k := lo; k < hi; k++ {
		bits, scale := r.bits[k*size:][:size], &scale[k]
		for s := range u.Sites {
			residual := r.residual[(k*m.Learned()+u.Begin+s)*m.coding.q:][:m.states(u)]
			for c := range residual {
				if u.NetOf(c) != net {
					continue
				}
				kernel.Gradient(tables, output, scale, &residual[c], bits, u.InputsOf(c, s))
				if !m.even {
					for j, e := range &residual[c] {
						shift += float64(e * scale[j])
					}
				}
			}
		}
	}
	return shift
}
