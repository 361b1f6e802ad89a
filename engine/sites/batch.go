package sites

import (
	"fmt"

	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// MaxBatch is the largest number of samples of a batch.
const MaxBatch = 1 << 20

// A Batch is the blocks of a workspace in a training: first samples, which are drawn step after
// step, then given configurations, which are scored. Nothing is allocated after Init.
//
// A sample has learned sites alone, the others summed out, until Complete draws these too.
type Batch[W uint64 | byte] struct {
	SampleBlocks, ScoredBlocks int
	PieceBlocks                int // of a piece of work
	Workspace                  Workspace[W]

	blockWords              int         // words of a block's configurations
	stream                  rng.Counter // random numbers of the last samples
	seed                    uint64
	workers                 *pool.Pool
	configs                 []W // what the call under way completes or scores
	draw, complete, score   func(piece int)
	drawnSpans, scoredSpans []pool.Span
}

// NewBatch returns a batch without a workspace. The numbers of samples and of configurations to
// score are multiples of 64. Draws are functions of the seed, the step and the sample's index.
func NewBatch[W uint64 | byte](samples, scored int, seed uint64, workers *pool.Pool) (b Batch[W], err error) {
	for _, n := range []int{samples, scored} {
		if n < 0 || n%block != 0 || n > MaxBatch {
			return b, fmt.Errorf("batch: %d is not a multiple of %d up to %d", n, block, MaxBatch)
		}
	}
	return Batch[W]{SampleBlocks: samples / block, ScoredBlocks: scored / block, seed: seed, workers: workers}, nil
}

// Blocks returns how many blocks the workspace needs.
func (b *Batch[W]) Blocks() int { return b.SampleBlocks + b.ScoredBlocks }

// Init gives the batch its workspace, for configurations of the given number of words and pieces
// of pieceBlocks blocks. spans returns the memory that the pieces of blocks lo … hi−1 write.
func (b *Batch[W]) Init(w Workspace[W], words, pieceBlocks int, spans func(lo, hi int) []pool.Span) {
	b.Workspace, b.blockWords, b.PieceBlocks = w, words*block, pieceBlocks
	b.drawnSpans, b.scoredSpans = spans(0, b.SampleBlocks), spans(b.SampleBlocks, b.Blocks())
	b.draw = func(piece int) {
		lo := piece * pieceBlocks
		w.Draw(lo, min(lo+pieceBlocks, b.SampleBlocks), &b.stream, uint64(lo))
	}
	b.complete = func(k int) {
		w.Complete(k, &b.stream, uint64(k))
		w.Write(b.configs[k*b.blockWords:][:b.blockWords], k, 0)
	}
	b.score = func(piece int) {
		lo := b.SampleBlocks + piece*pieceBlocks
		hi := min(lo+pieceBlocks, b.Blocks())
		for k := lo; k < hi; k++ {
			w.Read(k, b.configs[(k-b.SampleBlocks)*b.blockWords:][:b.blockWords])
		}
		w.Score(lo, hi)
	}
}

// Generate draws the learned sites of every sample and computes R.
func (b *Batch[W]) Generate(params []float32, step uint32) {
	b.Workspace.SetParams(params)
	b.stream = rng.Stream(b.seed, rng.TrainHead, step)
	b.share(b.SampleBlocks, b.draw, b.drawnSpans)
}

// Complete draws the exact sites of the first samples, as many whole blocks as dst holds, and
// copies their configurations to dst.
func (b *Batch[W]) Complete(dst []W) {
	if len(dst)%b.blockWords != 0 || len(dst) > b.SampleBlocks*b.blockWords {
		panic(fmt.Sprintf("sites: configurations of %d words, not of whole blocks of %d", len(dst), b.blockWords))
	}
	b.configs = dst
	b.workers.Run(len(dst)/b.blockWords, b.complete)
	b.configs = nil
}

// ScoreAll computes R of the given configurations, with the parameters of Generate.
func (b *Batch[W]) ScoreAll(configs []W) {
	if len(configs) != b.ScoredBlocks*b.blockWords {
		panic(fmt.Sprintf("sites: configurations of length %d, not %d", len(configs), b.ScoredBlocks*b.blockWords))
	}
	b.configs = configs
	b.share(b.ScoredBlocks, b.score, b.scoredSpans)
	b.configs = nil
}

func (b *Batch[W]) share(blocks int, body func(piece int), results []pool.Span) {
	b.workers.Share((blocks+b.PieceBlocks-1)/b.PieceBlocks, body, results...)
}

// R copies R of the samples and of the configurations that were scored.
func (b *Batch[W]) R(samples, scored []float64) {
	if len(samples) != b.SampleBlocks*block || len(scored) != b.ScoredBlocks*block {
		panic(fmt.Sprintf("sites: R of %d samples and %d configurations, not %d and %d", len(samples), len(scored), b.SampleBlocks*block, b.ScoredBlocks*block))
	}
	for k := range b.SampleBlocks {
		copy(samples[k*block:], b.Workspace.R(k)[:])
	}
	for k := range b.ScoredBlocks {
		copy(scored[k*block:], b.Workspace.R(b.SampleBlocks + k)[:])
	}
}
