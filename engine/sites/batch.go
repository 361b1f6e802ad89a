package sites

import (
	"fmt"

	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// MaxBatch is the largest number of samples of a batch.
const MaxBatch = 1 << 20

// A Batch is the blocks of a room in a training: samples, which are drawn step after step, and
// after them as many configurations as there is room for, which are scored. Nothing is allocated
// after In.
//
// A sample is the learned sites, the others summed out, until the room completes it.
type Batch[W uint64 | byte] struct {
	Samples, Scored int         // blocks
	Together        int         // blocks of a piece of work
	Stream          rng.Counter // of the last samples

	seed          uint64
	workers       *pool.Pool
	room          Room[W]
	draw, score   func(piece int)
	drawn, scored []pool.Span
}

// NewBatch returns a batch of numbers of samples and of configurations, multiples of 64, without
// a room. Draws are functions of the seed, the step and the sample's index.
func NewBatch[W uint64 | byte](samples, scored int, seed uint64, workers *pool.Pool) (b Batch[W], err error) {
	for _, n := range []int{samples, scored} {
		if n < 0 || n%block != 0 || n > MaxBatch {
			return b, fmt.Errorf("batch: %d is not a multiple of %d up to %d", n, block, MaxBatch)
		}
	}
	return Batch[W]{Samples: samples / block, Scored: scored / block, seed: seed, workers: workers}, nil
}

// Blocks returns how many a room needs.
func (b *Batch[W]) Blocks() int { return b.Samples + b.Scored }

// In gives the batch its room, which takes so many blocks together. read sets block k to the
// i-th block of configurations, and spans are where pieces of blocks lo … hi−1 leave what is
// computed of them.
func (b *Batch[W]) In(room Room[W], together int, read func(k, i int), spans func(lo, hi int) []pool.Span) {
	b.room, b.Together = room, together
	b.drawn, b.scored = spans(0, b.Samples), spans(b.Samples, b.Blocks())
	b.draw = func(piece int) {
		lo := piece * together
		room.Draw(lo, min(lo+together, b.Samples), &b.Stream, uint64(lo))
	}
	b.score = func(piece int) {
		lo := b.Samples + piece*together
		hi := min(lo+together, b.Blocks())
		for k := lo; k < hi; k++ {
			read(k, k-b.Samples)
		}
		room.Score(lo, hi)
	}
}

// Generate draws the learned sites of every sample, and finds their R.
func (b *Batch[W]) Generate(params []float32, step uint32) {
	b.room.Set(params)
	b.Stream = rng.Stream(b.seed, rng.TrainHead, step)
	b.share(b.Samples, b.draw, b.drawn)
}

// ScoreAll reads the configurations, and finds their R, with the parameters of Generate.
func (b *Batch[W]) ScoreAll() { b.share(b.Scored, b.score, b.scored) }

func (b *Batch[W]) share(blocks int, body func(piece int), results []pool.Span) {
	b.workers.Share((blocks+b.Together-1)/b.Together, body, results...)
}

// R copies R of the samples, and of the configurations that were scored.
func (b *Batch[W]) R(samples, scored []float64) {
	if len(samples) != b.Samples*block || len(scored) != b.Scored*block {
		panic(fmt.Sprintf("sites: R of %d samples and %d configurations, not %d and %d", len(samples), len(scored), b.Samples*block, b.Scored*block))
	}
	for k := range b.Samples {
		copy(samples[k*block:], b.room.R(k)[:])
	}
	for k := range b.Scored {
		copy(scored[k*block:], b.room.R(b.Samples + k)[:])
	}
}
