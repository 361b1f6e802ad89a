package categories

import (
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/pool"
)

// A Batch draws samples of a model for training, step after step, moves some, computes the
// density of both and differentiates its logarithm. It allocates nothing after NewBatch.
//
// A sample is the learned sites, the others summed out, until it moves. The blocks of
// samples come first, then those of what some became.
type Batch struct {
	room    *room
	moves   *Moves
	steps   int // of a transition
	seed    uint64
	workers *pool.Pool

	samples, moved int            // blocks
	counts         []engine.Count // of the moved blocks' pieces
	lo, hi         int            // blocks that are shared
	stream, head   rng.Counter    // of the call under way, and of the draws that it completes
	gradient       *hierarchy.Gradient
	units          []*unit // of the model's nets

	runDraw, runMove func(int)
}

// otherCost is what a piece of a gradient costs apart from its sites, in inputs of a hidden unit.
const otherCost = 1 << 14

// NewBatch returns buffers for numbers of samples and of those that move, multiples of 64.
func (m *Model) NewBatch(samples, moved int, seed uint64, workers *pool.Pool) (*Batch, error) {
	for _, n := range []int{samples, moved} {
		if n < 0 || n%block != 0 || n > hierarchy.MaxBatch {
			return nil, fmt.Errorf("batch: %d is not a multiple of %d up to %d", n, block, hierarchy.MaxBatch)
		}
	}
	blocks := (samples + moved) / block
	b := &Batch{room: m.newRoom(blocks, true, workers), seed: seed, workers: workers, samples: samples / block, moved: moved / block}
	b.counts = make([]engine.Count, (max(b.samples, b.moved)+together-1)/together)
	var sites []int
	for i := range m.units {
		u := &m.units[i]
		for range u.nets {
			sites, b.units = append(sites, len(u.sites)), append(b.units, u)
		}
	}
	b.gradient = hierarchy.NewGradient(m.nets, sites, blocks, func(net, blocks int) int {
		u := b.units[net]
		return blocks*len(u.sites)*m.nets[net].Derivatives()*u.q/len(u.nets) + otherCost
	}, b.addGradient, workers)
	b.runDraw, b.runMove = b.drawPiece, b.movePiece
	return b, nil
}

// SetBeta changes the inverse temperature of the target, for annealing.
func (b *Batch) SetBeta(beta float64) { b.room.law.setBeta(beta) }

// share runs body for pieces of blocks lo … hi−1.
func (b *Batch) share(lo, hi int, body func(int)) {
	r, m := b.room, b.room.model
	n, planes, each := m.Sites()*block, m.planes(), m.learned*m.coding.q
	b.lo, b.hi = lo, hi
	b.workers.Share((hi-lo+together-1)/together, body,
		pool.SpanOf(r.state[lo*n:hi*n], together*n), pool.SpanOf(r.bits[lo*planes:hi*planes], together*planes),
		pool.SpanOf(r.logq[lo:hi], together), pool.SpanOf(r.residual[lo*each:hi*each], together*each),
		pool.SpanOf(r.r[lo:hi], together), pool.SpanOf(b.counts, 1))
}

// Generate draws the learned sites of every sample and their R.
func (b *Batch) Generate(params []float32, step uint32) {
	b.room.weights.Set(params)
	b.stream = rng.Stream(b.seed, rng.TrainHead, step)
	b.share(0, b.samples, b.runDraw)
}

func (b *Batch) drawPiece(i int) {
	lo, hi := b.blocksOf(i)
	b.room.Draw(lo, hi, &b.stream, uint64(lo))
}

// blocksOf returns the blocks lo … hi−1 of piece i of those that are shared.
func (b *Batch) blocksOf(i int) (lo, hi int) {
	return b.lo + i*together, min(b.lo+(i+1)*together, b.hi)
}

// Move completes the first samples and takes steps with them, and computes R of what they
// become, with the parameters as they are.
func (b *Batch) Move(step uint32, moves *Moves, steps int) (acceptance float64) {
	b.moves, b.steps = moves, steps
	b.stream, b.head = rng.Stream(b.seed, rng.TrainTransition, step), rng.Stream(b.seed, rng.TrainHead, step)
	clear(b.counts)
	b.share(b.samples, b.samples+b.moved, b.runMove)
	var all engine.Count
	for _, n := range b.counts {
		all.Add(n)
	}
	return all.Rate()
}

func (b *Batch) movePiece(i int) {
	lo, hi := b.blocksOf(i)
	for k := lo; k < hi; k++ {
		state, from := b.room.block(k), k-b.samples
		copy(state, b.room.block(from))
		b.room.Complete(k, &b.head, uint64(from))
		b.moves.run(state, b.steps, &b.stream, uint64(from), &b.counts[i])
	}
	b.room.Score(lo, hi)
}

// copyR copies R of blocks lo … hi−1.
func (b *Batch) copyR(dst []float64, lo, hi int) {
	for k := range hi - lo {
		copy(dst[k*block:], b.room.r[lo+k][:])
	}
}

// Backward sets grad = Σ_b c_b ∂ ln q_b/∂θ with the coefficients of the samples, followed by
// those of what some became, with the same parameters.
func (b *Batch) Backward(grad []float32, coefficients ...[]float64) {
	b.gradient.Sum(grad, coefficients...)
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
