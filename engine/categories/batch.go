package categories

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/pool"
)

// A Batch draws samples of a model for training, step after step, moves some, computes the
// density of both and differentiates its logarithm. What is scored is what the first samples
// became.
type Batch struct {
	sites.Batch[byte]
	*hierarchy.Gradient
	room  *room
	units []*unit // of the model's nets

	moves  *Moves         // of a transition
	steps  int            // of it
	moving rng.Counter    // its draws
	counts []engine.Count // of its proposals, by block
}

// otherCost is what a piece of a gradient costs apart from its sites, in inputs of a hidden unit.
const otherCost = 1 << 14

// NewBatch returns buffers for numbers of samples and of those that move, multiples of 64.
func (m *Model) NewBatch(samples, moved int, seed uint64, workers *pool.Pool) (*Batch, error) {
	whole, err := sites.NewBatch[byte](samples, moved, seed, workers)
	if err != nil {
		return nil, err
	}
	blocks := whole.Blocks()
	b := &Batch{Batch: whole, room: m.newRoom(blocks, true, workers), counts: make([]engine.Count, blocks)}
	b.In(b.room, together, b.move, func(lo, hi int) []pool.Span {
		r, n, planes, each := b.room, m.Sites()*block, m.planes(), m.learned*m.coding.q
		return []pool.Span{
			pool.SpanOf(r.state[lo*n:hi*n], together*n), pool.SpanOf(r.bits[lo*planes:hi*planes], together*planes),
			pool.SpanOf(r.logq[lo:hi], together), pool.SpanOf(r.residual[lo*each:hi*each], together*each),
			pool.SpanOf(r.r[lo:hi], together), pool.SpanOf(b.counts[lo:hi], together),
		}
	})
	var sizes []int
	for i := range m.units {
		u := &m.units[i]
		for range u.nets {
			sizes, b.units = append(sizes, len(u.sites)), append(b.units, u)
		}
	}
	b.Gradient = hierarchy.NewGradient(m.nets, sizes, blocks, func(net, blocks int) int {
		u := b.units[net]
		return blocks*len(u.sites)*m.nets[net].Derivatives()*u.q/len(u.nets) + otherCost
	}, b.addGradient, workers)
	return b, nil
}

// move sets block k to what block i becomes.
func (b *Batch) move(k, i int) {
	state := b.room.block(k)
	copy(state, b.room.block(i))
	b.room.Complete(k, &b.Stream, uint64(i))
	b.moves.run(state, 0, b.steps, &b.moving, uint64(i), &b.counts[k])
}

// addGradient adds what blocks have in a net to its derivatives.
func (b *Batch) addGradient(net, lo, hi int, scale [][block]float32, tables, output []float32) (shift float64) {
	m, u, kernel := b.room.model, b.units[net], b.room.weights.Of(net)
	size := m.planes()
	for k := lo; k < hi; k++ {
		bits, scale := b.room.bits[k*size:][:size], &scale[k]
		for s := range u.sites {
			residual := b.room.residual[(k*m.learned+u.first+s)*m.coding.q:][:u.q]
			for c := range residual {
				if u.net(c) != net {
					continue
				}
				kernel.Gradient(tables, output, scale, &residual[c], bits, u.of(c, s))
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
