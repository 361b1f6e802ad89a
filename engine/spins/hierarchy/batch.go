package hierarchy

import (
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// A Batch draws samples of a model for training, step after step, computes the
// density of as many given configurations as it has room for, and differentiates
// the logarithm of both. It allocates nothing after NewBatch.
//
// A sample is the learned spins, the others summed out, unless Complete draws
// them as well. The blocks of samples come first, then those of configurations.
type Batch struct {
	room    *room
	seed    uint64
	workers *pool.Pool

	samples   int // that are drawn
	together  int // blocks of a piece of a draw
	lo, hi    int // blocks that are shared
	stream    asm.Counter
	given     []uint64 // configurations to score
	completed []uint64 // those that Complete draws
	gradient  *Gradient

	runDraw, runScore, runComplete func(int)
}

// The measured costs of a piece apart from its spins' inputs: folding its tables, in spins of
// a block, and each of these spins, in products of an input with a hidden unit.
const (
	foldCost  = 3
	otherCost = 256
)

// MaxBatch is the largest number of samples of a batch.
const MaxBatch = 1 << 20

// NewBatch returns buffers for numbers of samples and of configurations to score,
// multiples of 64. Draws are functions of the seed, the step and the sample's index.
func (m *Model) NewBatch(samples, scored int, seed uint64, workers *pool.Pool) (*Batch, error) {
	for _, n := range []int{samples, scored} {
		if n < 0 || n%block != 0 || n > MaxBatch {
			return nil, fmt.Errorf("batch: %d is not a multiple of %d up to %d", n, block, MaxBatch)
		}
	}
	blocks := (samples + scored) / block
	b := &Batch{room: m.newRoom(blocks, true, workers), seed: seed, workers: workers, samples: samples, together: min(max(1, blocks/8), together)}
	var sites []int
	for i := range m.units {
		sites = append(sites, len(m.units[i].sites))
	}
	b.gradient = NewGradient(m.nets, sites, blocks, func(net, blocks int) int {
		return (blocks*sites[net] + foldCost) * (m.nets[net].padded*m.nets[net].lanes + otherCost)
	}, b.addGradient, workers)
	b.runDraw, b.runScore = b.drawPiece, b.scorePiece
	b.runComplete = func(k int) {
		length := block * m.words()
		b.room.Complete(k, &b.stream, uint64(k))
		b.room.Write(b.completed[k*length:][:length], k, 0)
	}
	return b, nil
}

// SetBeta changes the inverse temperature of the weight W, for annealing.
func (b *Batch) SetBeta(beta float64) {
	if beta != b.room.beta {
		b.room.beta = beta
		b.room.exact.tabulate(beta)
	}
}

// Generate draws the learned spins of every sample and their
// R = ln q − ln W.
func (b *Batch) Generate(params []float32, step uint32) {
	b.room.weights.Set(params)
	b.stream = rng.Stream(b.seed, rng.TrainHead, step)
	b.share(0, b.samples/block, b.runDraw)
}

// share runs body for pieces of blocks lo … hi−1, whose ln q, derivatives and R it
// computes.
func (b *Batch) share(lo, hi int, body func(int)) {
	r, n := b.room, b.together
	size, learned := r.size, r.model.learned
	b.lo, b.hi = lo, hi
	b.workers.Share((hi-lo+n-1)/n, body, pool.SpanOf(r.state[lo*size:hi*size], n*size),
		pool.SpanOf(r.residual[lo*learned:hi*learned], n*learned), pool.SpanOf(r.logq[lo:hi], n), pool.SpanOf(r.r[lo:hi], n))
}

func (b *Batch) drawPiece(i int) {
	lo, hi := b.blocksOf(i)
	b.room.Draw(lo, hi, &b.stream, uint64(lo))
}

// blocksOf returns the blocks lo … hi−1 of piece i of those that are shared.
func (b *Batch) blocksOf(i int) (lo, hi int) {
	return b.lo + i*b.together, min(b.lo+(i+1)*b.together, b.hi)
}

// score computes ln q, its derivatives and R of the given configurations, ⌈n/64⌉
// words each, with the parameters that Generate had.
func (b *Batch) score(spins []uint64) {
	first := b.samples / block
	checkLength("spins", len(spins), (len(b.room.logq)-first)*block*b.room.model.words())
	b.given = spins
	b.share(first, len(b.room.logq), b.runScore)
	b.given = nil
}

func (b *Batch) scorePiece(i int) {
	words := b.room.model.words()
	lo, hi := b.blocksOf(i)
	for k := lo; k < hi; k++ {
		b.room.Read(k, b.given[(k-b.lo)*block*words:][:block*words])
	}
	b.room.Score(lo, hi)
}

// R copies R = ln q(s) + βE(s) of the samples, which does not depend on the spins
// that are exact.
func (b *Batch) R(dst []float64) { b.copyR(dst, 0, b.samples/block) }

// ScoredR copies R of the configurations that were scored.
func (b *Batch) ScoredR(dst []float64) { b.copyR(dst, b.samples/block, len(b.room.r)) }

func (b *Batch) copyR(dst []float64, lo, hi int) {
	checkLength("R", len(dst), (hi-lo)*block)
	for k := range b.room.r[lo:hi] {
		copy(dst[k*block:], b.room.r[lo+k][:])
	}
}

// Complete draws the exact spins of the first samples as well and copies the
// configurations to dst, ⌈n/64⌉ words each, of whole blocks.
func (b *Batch) Complete(dst []uint64) {
	length := block * b.room.model.words() // of a block
	if len(dst)%length != 0 || len(dst) > b.samples/block*length {
		panic(fmt.Sprintf("hierarchy: configurations of %d words, not of whole blocks of %d", len(dst), length))
	}
	b.completed = dst
	b.workers.Run(len(dst)/length, b.runComplete)
	b.completed = nil
}

// Backward sets grad = Σ_b c_b ∂ ln q_b/∂θ with the coefficients of the samples that
// Generate drew, followed by those of the configurations that were scored, with the
// same parameters.
func (b *Batch) Backward(grad []float32, coefficients ...[]float64) {
	checkLength("gradient", len(grad), b.room.model.params)
	b.gradient.Sum(grad, coefficients...)
}

// addGradient adds what blocks have in a unit to the derivatives of its net.
func (b *Batch) addGradient(unit, lo, hi int, scale [][block]float32, tables, output []float32) (shift float64) {
	m := b.room.model
	u, net := &m.units[unit], b.room.weights.Of(unit)
	for k := lo; k < hi; k++ {
		state, scale := b.room.block(k), &scale[k]
		residual := b.room.residual[k*m.learned+u.first:][:len(u.sites)]
		for s := range u.sites {
			net.Gradient(tables, output, scale, &residual[s], state, u.inputs[s*u.padded:][:u.padded])
			if m.biased {
				for j, e := range &residual[s] {
					shift += float64(e * scale[j])
				}
			}
		}
	}
	return shift
}

func checkLength(what string, have, want int) {
	if have != want {
		panic(fmt.Sprintf("hierarchy: %s of length %d, not %d", what, have, want))
	}
}
