package categories

import (
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// A Batch draws samples of a model for training, step after step, moves some, computes the
// density of both and differentiates its logarithm. It allocates nothing after NewBatch.
//
// A sample is the learned sites, the others summed out, until it moves. The blocks of
// samples come first, then those of what some became.
type Batch struct {
	model   *Model
	weights *weights
	law     *law
	moves   *Moves
	steps   int // of a transition
	seed    uint64
	workers *pool.Pool

	room
	samples, moved int              // blocks
	r              [][block]float64 // [blocks] R = ln q − ln W
	scale          [][block]float32 // [blocks] coefficients of Backward
	counts         []engine.Count   // of the moved blocks' pieces
	random         [][]words        // of each piece
	lo             int              // the first block that is shared
	hi             int
	stream, head   rng.Counter // of the call under way, and of the draws that it completes
	pieces         []piece
	costs          []int     // of the pieces so far
	partial        []float32 // [pieces] gradients of their nets
	hist           []float32 // [pieces] derivatives of tables and output weights
	sums           pool.Span // of partial

	runDraw, runMove, runPiece func(int)
}

// A piece is the part of a gradient that some blocks have in one net. What the pieces are
// does not depend on the number of threads.
type piece struct {
	unit, net     int
	lo, hi        int // blocks
	partial, hist int // where its gradient and its derivatives are
}

const (
	pieceSize = 1 << 15 // about how many sites a piece of a gradient has
	otherCost = 1 << 14 // what a piece costs apart from them, in inputs of a hidden unit
)

// MaxBatch is the largest number of samples of a batch.
const MaxBatch = 1 << 20

// NewBatch returns buffers for numbers of samples and of those that move, multiples of 64.
func (m *Model) NewBatch(samples, moved int, seed uint64, workers *pool.Pool) (*Batch, error) {
	for _, n := range []int{samples, moved} {
		if n < 0 || n%block != 0 || n > MaxBatch {
			return nil, fmt.Errorf("batch: %d is not a multiple of %d up to %d", n, block, MaxBatch)
		}
	}
	b := &Batch{model: m, weights: newWeights(m, workers), law: m.law.copy(), seed: seed, workers: workers,
		samples: samples / block, moved: moved / block}
	blocks := b.samples + b.moved
	b.room = m.newRoom(blocks, true)
	b.r, b.scale = make([][block]float64, blocks), make([][block]float32, blocks)
	most := (max(b.samples, b.moved) + together - 1) / together
	b.counts, b.random = make([]engine.Count, most), make([][]words, most)
	for i := range b.random {
		b.random[i] = make([]words, together)
	}
	b.SetBeta(m.target.Beta)
	partial, hist, cost := 0, 0, 0
	for i := range m.units {
		u := &m.units[i]
		per := max(1, pieceSize/(block*len(u.sites)))
		for k := range u.nets {
			net := &u.nets[k]
			if net.Params() == 0 {
				continue
			}
			for lo := 0; lo < blocks; lo += per {
				hi := min(lo+per, blocks)
				b.pieces = append(b.pieces, piece{i, k, lo, hi, partial, hist})
				cost += (hi-lo)*len(u.sites)*net.Derivatives()*u.q/len(u.nets) + otherCost
				b.costs = append(b.costs, cost)
				partial += net.Params()
				hist += net.Derivatives()
			}
		}
	}
	b.partial, b.hist = make([]float32, partial), make([]float32, hist)
	ends := make([]int, len(b.pieces))
	for i, p := range b.pieces {
		ends[i] = p.partial + m.units[p.unit].nets[p.net].Params()
	}
	b.sums = pool.Uneven(b.partial, ends)
	b.runDraw, b.runMove, b.runPiece = b.drawPiece, b.movePiece, b.gradientPiece
	return b, nil
}

// SetBeta changes the inverse temperature of the target, for annealing.
func (b *Batch) SetBeta(beta float64) { b.law.setBeta(beta) }

// share runs body for pieces of blocks lo … hi−1.
func (b *Batch) share(lo, hi int, body func(int)) {
	m := b.model
	n, planes, each := m.Sites()*block, m.coding.planes()*(m.Sites()+1), m.learned*m.coding.q
	b.lo, b.hi = lo, hi
	b.workers.Share((hi-lo+together-1)/together, body,
		pool.SpanOf(b.state[lo*n:hi*n], together*n), pool.SpanOf(b.bits[lo*planes:hi*planes], together*planes),
		pool.SpanOf(b.logq[lo:hi], together), pool.SpanOf(b.residual[lo*each:hi*each], together*each),
		pool.SpanOf(b.r[lo:hi], together), pool.SpanOf(b.counts, 1))
}

// Generate draws the learned sites of every sample and their R.
func (b *Batch) Generate(params []float32, step uint32) {
	b.weights.set(params)
	b.stream = rng.Stream(b.seed, rng.TrainHead, step)
	b.share(0, b.samples, b.runDraw)
}

func (b *Batch) drawPiece(i int) {
	lo, hi := b.lo+i*together, min(b.lo+(i+1)*together, b.hi)
	random := b.random[i][:hi-lo]
	for k := range random {
		random[k].start(&b.stream, uint64(lo+k)*uint64(b.model.Sites()+wordsTogether))
	}
	b.weights.pass(b.part(b.model, lo, hi), random)
	b.weigh(lo, hi)
}

// weigh sets R of blocks of which ln q is known.
func (b *Batch) weigh(lo, hi int) {
	for k := lo; k < hi; k++ {
		b.r[k] = b.logq[k]
		b.law.addLogWeights(&b.r[k], -1, b.block(b.model, k))
	}
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
	lo, hi := b.lo+i*together, min(b.lo+(i+1)*together, b.hi)
	for k := lo; k < hi; k++ {
		state, from := b.block(b.model, k), k-b.samples
		copy(state, b.block(b.model, from))
		b.model.complete(b.law, state, &b.head, uint64(from), &b.random[i][0])
		b.moves.run(state, b.steps, &b.stream, uint64(from), &b.counts[i])
	}
	b.weights.pass(b.part(b.model, lo, hi), nil)
	b.weigh(lo, hi)
}

// complete draws the exact sites of block number k of a stream, after its learned ones.
func (m *Model) complete(l *law, state []byte, stream *rng.Counter, k uint64, w *words) {
	learned := (m.learned + wordsTogether - 1) / wordsTogether * wordsTogether
	w.start(stream, k*uint64(m.Sites()+wordsTogether)+uint64(learned))
	l.complete(state, w)
}

// copyR copies R of blocks lo … hi−1.
func (b *Batch) copyR(dst []float64, lo, hi int) {
	for k := range b.r[lo:hi] {
		copy(dst[k*block:], b.r[lo+k][:])
	}
}

// Backward sets grad = Σ_b c_b ∂ ln q_b/∂θ with the coefficients of the samples, followed by
// those of what some became, with the same parameters.
func (b *Batch) Backward(grad []float32, coefficients ...[]float64) {
	at := 0
	for _, all := range coefficients {
		for _, c := range all {
			b.scale[at/block][at%block] = float32(c)
			at++
		}
	}
	b.workers.ShareBy(b.costs, b.runPiece, b.sums)
	clear(grad)
	for _, p := range b.pieces {
		net := &b.model.units[p.unit].nets[p.net]
		dst := grad[net.First():][:net.Params()]
		for i, g := range b.partial[p.partial:][:len(dst)] {
			dst[i] += g
		}
	}
}

func (b *Batch) gradientPiece(i int) {
	p, m := &b.pieces[i], b.model
	u, kernel := &m.units[p.unit], &b.weights.nets[p.unit][p.net]
	net := &u.nets[p.net]
	hist := b.hist[p.hist:][:net.Derivatives()]
	clear(hist)
	tables, output := net.Parts(hist)
	size := m.coding.planes() * (m.Sites() + 1)
	var shift float64
	for k := p.lo; k < p.hi; k++ {
		bits, scale := b.bits[k*size:][:size], &b.scale[k]
		for s := range u.sites {
			residual := b.residual[(k*m.learned+u.first+s)*m.coding.q:][:u.q]
			for c := range residual {
				if u.net(c) != p.net {
					continue
				}
				if net.Hidden() > 0 {
					kernel.Gradient(tables, output, scale, &residual[c], bits, u.of(c, s))
				}
				if !m.even {
					for j, e := range &residual[c] {
						shift += float64(e * scale[j])
					}
				}
			}
		}
	}
	net.Fold(b.partial[p.partial:][:net.Params()], hist, shift)
}
