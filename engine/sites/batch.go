package sites

import (
	"fmt"

	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// MaxBatch is the largest number of samples of a batch.
const MaxBatch = 1 << 20

// A Batch is the blocks of a room in a training: first samples, which are drawn step after step,
// then given configurations, which are scored. Nothing is allocated after In.
//
// A sample has learned sites alone, the others summed out, until Complete draws these too.
type Batch[W uint64 | byte] struct {
	Samples, Scored int // blocks
	Together        int // blocks of a piece of work
	Room            Room[W]

	blockWords              int         // words of a block's configurations
	stream                  rng.Counter // random numbers of the last samples
	seed                    uint64
	workers                 *pool.Pool
	configs                 []W // what the call under way completes or scores
	draw, complete, score   func(piece int)
	drawnSpans, scoredSpans []pool.Span
}

// NewBatch returns a batch without a room. The numbers of samples and of configurations to score
// are multiples of 64. Draws are functions of the seed, the step and the sample's index.
func NewBatch[W uint64 | byte](samples, scored int, seed uint64, workers *pool.Pool) (b Batch[W], err error) {
	for _, n := range []int{samples, scored} {
		if n < 0 || n%block != 0 || n > MaxBatch {
			return b, fmt.Errorf("batch: %d is not a multiple of %d up to %d", n, block, MaxBatch)
		}
	}
	return Batch[W]{Samples: samples / block, Scored: scored / block, seed: seed, workers: workers}, nil
}

// Blocks returns how many blocks the room needs.
func (b *Batch[W]) Blocks() int { return b.Samples + b.Scored }

// In gives the batch its room, for configurations of the given number of words and pieces of
// together blocks. spans returns the memory that the pieces of blocks lo … hi−1 write.
func (b *Batch[W]) In(room Room[W], words, together int, spans func(lo, hi int) []pool.Span) {
	b.Room, b.blockWords, b.Together = room, words*block, together
	b.drawnSpans, b.scoredSpans = spans(0, b.Samples), spans(b.Samples, b.Blocks())
	b.draw = func(piece int) {
		lo := piece * together
		room.Draw(lo, min(lo+together, b.Samples), &b.stream, uint64(lo))
	}
	b.complete = func(k int) {
		room.Complete(k, &b.stream, uint64(k))
		room.Write(b.configs[k*b.blockWords:][:b.blockWords], k, 0)
	}
	b.score = func(piece int) {
		lo := b.Samples + piece*together
		hi := min(lo+together, b.Blocks())
		for k := lo; k < hi; k++ {
			room.Read(k, b.configs[(k-b.Samples)*b.blockWords:][:b.blockWords])
		}
		room.Score(lo, hi)
	}
}

// Generate draws the learned sites of every sample and computes R.
func (b *Batch[W]) Generate(params []float32, step uint32) {
	b.Room.Set(params)
	b.stream = rng.Stream(b.seed, rng.TrainHead, step)
	b.share(b.Samples, b.draw, b.drawnSpans)
}

// Complete draws the exact sites of the first samples, as many whole blocks as dst holds, and
// copies their configurations to dst.
func (b *Batch[W]) Complete(dst []W) {
	if len(dst)%b.blockWords != 0 || len(dst) > b.Samples*b.blockWords {
		panic(fmt.Sprintf("sites: configurations of %d words, not of whole blocks of %d", len(dst), b.blockWords))
	}
	b.configs = dst
	b.workers.Run(len(dst)/b.blockWords, b.complete)
	b.configs = nil
}

// ScoreAll computes R of the given configurations, with the parameters of Generate.
func (b *Batch[W]) ScoreAll(configs []W) {
	if len(configs) != b.Scored*b.blockWords {
		panic(fmt.Sprintf("sites: configurations of length %d, not %d", len(configs), b.Scored*b.blockWords))
	}
	b.configs = configs
	b.share(b.Scored, b.score, b.scoredSpans)
	b.configs = nil
}

func (b *Batch[W]) share(blocks int, body func(piece int), results []pool.Span) {
	b.workers.Share((blocks+b.Together-1)/b.Together, body, results...)
}

// R copies R of the samples and of the configurations that were scored.
func (b *Batch[W]) R(samples, scored []float64) {
	if len(samples) != b.Samples*block || len(scored) != b.Scored*block {
		panic(fmt.Sprintf("sites: R of %d samples and %d configurations, not %d and %d", len(samples), len(scored), b.Samples*block, b.Scored*block))
	}
	for k := range b.Samples {
		copy(samples[k*block:], b.Room.R(k)[:])
	}
	for k := range b.Scored {
		copy(scored[k*block:], b.Room.R(b.Samples + k)[:])
	}
}
