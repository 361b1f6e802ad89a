package hierarchy

import (
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/pool"
)

// A Batch draws samples of a model for training, step after step, computes the
// density of as many given configurations as it has room for, and differentiates
// the logarithm of both. It allocates nothing after NewBatch.
//
// A sample is the learned spins, the others summed out, unless Complete draws
// them as well. The blocks of samples come first, then those of configurations.
type Batch struct {
	model   *Model
	weights *Kernels
	exact   exact // with its own tables, which depend on β
	beta    float64
	seed    uint64
	workers *pool.Pool

	samples   int              // that are drawn
	together  int              // blocks of a piece of a draw
	lo, hi    int              // blocks that are shared
	size      int              // words of a block's state: one a spin, and a zero
	state     []uint64         // [blocks][size]
	residual  [][block]float32 // [blocks][learned] ∂ ln q/∂ logit
	logq      [][block]float64 // [blocks]
	r         [][block]float64 // [blocks] R = ln q − ln W
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
	b := &Batch{
		model: m, weights: NewKernels(m.nets, workers), exact: m.exact.copy(), beta: m.target.Beta, seed: seed, workers: workers,
		samples: samples, together: min(max(1, blocks/8), together), size: m.Spins() + 1,
		state:    make([]uint64, blocks*(m.Spins()+1)),
		residual: make([][block]float32, blocks*m.learned),
		logq:     make([][block]float64, blocks),
		r:        make([][block]float64, blocks),
	}
	b.exact.tabulate(b.beta)
	var sites []int
	for i := range m.units {
		sites = append(sites, len(m.units[i].sites))
	}
	b.gradient = NewGradient(m.nets, sites, blocks, func(net, blocks int) int {
		return (blocks*sites[net] + foldCost) * (m.nets[net].padded*m.nets[net].lanes + otherCost)
	}, b.addGradient, workers)
	b.runDraw, b.runScore = b.drawPiece, b.scorePiece
	b.runComplete = func(k int) {
		m.completeBlock(&b.exact, b.block(k), &b.stream, uint64(k))
		length := block * ((m.Spins() + 63) / 64)
		config := b.completed[k*length:][:length]
		spins.Rows(config, config, b.block(k)[:m.Spins()])
	}
	return b, nil
}

// SetBeta changes the inverse temperature of the weight W, for annealing.
func (b *Batch) SetBeta(beta float64) {
	if beta != b.beta {
		b.beta = beta
		b.exact.tabulate(beta)
	}
}

func (b *Batch) block(k int) []uint64 { return b.state[k*b.size:][:b.size] }

// Generate draws the learned spins of every sample and their
// R = ln q − ln W.
func (b *Batch) Generate(params []float32, step uint32) {
	b.weights.Set(params)
	b.stream = rng.Stream(b.seed, rng.TrainHead, step)
	b.share(0, b.samples/block, b.runDraw)
}

// share runs body for pieces of blocks lo … hi−1, whose ln q, derivatives and R it
// computes.
func (b *Batch) share(lo, hi int, body func(int)) {
	n, learned := b.together, b.model.learned
	b.lo, b.hi = lo, hi
	b.workers.Share((hi-lo+n-1)/n, body, pool.SpanOf(b.state[lo*b.size:hi*b.size], n*b.size),
		pool.SpanOf(b.residual[lo*learned:hi*learned], n*learned), pool.SpanOf(b.logq[lo:hi], n), pool.SpanOf(b.r[lo:hi], n))
}

func (b *Batch) drawPiece(i int) {
	lo, hi := b.blocksOf(i)
	b.model.draw(b.weights, b.state[lo*b.size:hi*b.size], b.logq[lo:hi], b.residual[lo*b.model.learned:], &b.stream, uint64(lo))
	b.subtractWeights(lo, hi)
}

// blocksOf returns the blocks lo … hi−1 of piece i of those that are shared.
func (b *Batch) blocksOf(i int) (lo, hi int) {
	return b.lo + i*b.together, min(b.lo+(i+1)*b.together, b.hi)
}

// subtractWeights sets R of blocks whose ln q is known.
func (b *Batch) subtractWeights(lo, hi int) {
	for k := lo; k < hi; k++ {
		b.r[k] = b.logq[k]
		b.exact.logWeights(&b.r[k], -1, b.beta, b.block(k))
	}
}

// score computes ln q, its derivatives and R of the given configurations, ⌈n/64⌉
// words each, with the parameters that Generate had.
func (b *Batch) score(spins []uint64) {
	first := b.samples / block
	checkLength("spins", len(spins), (len(b.logq)-first)*block*((b.model.Spins()+63)/64))
	b.given = spins
	b.share(first, len(b.logq), b.runScore)
	b.given = nil
}

func (b *Batch) scorePiece(i int) {
	words := (b.model.Spins() + 63) / 64
	lo, hi := b.blocksOf(i)
	for k := lo; k < hi; k++ {
		spins.Columns(b.block(k), b.given[(k-b.lo)*block*words:][:block*words], b.model.Spins())
	}
	b.model.score(b.weights, b.state[lo*b.size:hi*b.size], b.logq[lo:hi], b.residual[lo*b.model.learned:])
	b.subtractWeights(lo, hi)
}

// R copies R = ln q(s) + βE(s) of the samples, which does not depend on the spins
// that are exact.
func (b *Batch) R(dst []float64) { b.copyR(dst, 0, b.samples/block) }

// ScoredR copies R of the configurations that were scored.
func (b *Batch) ScoredR(dst []float64) { b.copyR(dst, b.samples/block, len(b.r)) }

func (b *Batch) copyR(dst []float64, lo, hi int) {
	checkLength("R", len(dst), (hi-lo)*block)
	for k := range b.r[lo:hi] {
		copy(dst[k*block:], b.r[lo+k][:])
	}
}

// Complete draws the exact spins of the first samples as well and copies the
// configurations to dst, ⌈n/64⌉ words each, of whole blocks.
func (b *Batch) Complete(dst []uint64) {
	length := block * ((b.model.Spins() + 63) / 64) // of a block
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
	checkLength("gradient", len(grad), b.model.params)
	b.gradient.Sum(grad, coefficients...)
}

// addGradient adds what blocks have in a unit to the derivatives of its net.
func (b *Batch) addGradient(unit, lo, hi int, scale [][block]float32, tables, output []float32) (shift float64) {
	m := b.model
	u, net := &m.units[unit], b.weights.Of(unit)
	for k := lo; k < hi; k++ {
		state, scale := b.block(k), &scale[k]
		residual := b.residual[k*m.learned+u.first:][:len(u.sites)]
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

// completeBlock draws the exact spins of block number k of a stream.
func (m *Model) completeBlock(x *exact, state []uint64, stream *asm.Counter, k uint64) {
	var random Words
	random.Start(stream, k*uint64(m.Spins())+uint64(m.learned), m.Spins()-m.learned)
	x.complete(state, &random)
}

func checkLength(what string, have, want int) {
	if have != want {
		panic(fmt.Sprintf("hierarchy: %s of length %d, not %d", what, have, want))
	}
}
