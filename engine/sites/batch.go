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
// A sample is the learned sites, the others summed out, until Complete draws these too.
type Batch[W uint64 | byte] struct {
	Samples, Scored int // blocks
	Together        int // blocks of a piece of work
	Room            Room[W]

	size                  int         // words of a block's configurations
	stream                rng.Counter // of the last samples
	seed                  uint64
	workers               *pool.Pool
	configs               []W // of the call under way, that are completed or scored
	draw, complete, score func(piece int)
	drawn, scored         []pool.Span
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

// In gives the batch its room, which takes so many blocks together, of configurations of so many
// words. spans are where pieces of blocks lo … hi−1 leave what is computed of them.
func (b *Batch[W]) In(room Room[W], words, together int, spans func(lo, hi int) []pool.Span) {
	b.Room, b.size, b.Together = room, words*block, together
	b.drawn, b.scored = spans(0, b.Samples), spans(b.Samples, b.Blocks())
	b.draw = func(piece int) {
		lo := piece * together
		room.Draw(lo, min(lo+together, b.Samples), &b.stream, uint64(lo))
	}
	b.complete = func(k int) {
		room.Complete(k, &b.stream, uint64(k))
		room.Write(b.configs[k*b.size:][:b.size], k, 0)
	}
	b.score = func(piece int) {
		lo := b.Samples + piece*together
		hi := min(lo+together, b.Blocks())
		for k := lo; k < hi; k++ {
			room.Read(k, b.configs[(k-b.Samples)*b.size:][:b.size])
		}
		room.Score(lo, hi)
	}
}

// Generate draws the learned sites of every sample, and finds their R.
func (b *Batch[W]) Generate(params []float32, step uint32) {
	b.Room.Set(params)
	b.stream = rng.Stream(b.seed, rng.TrainHead, step)
	b.share(b.Samples, b.draw, b.drawn)
}

// Complete draws the exact sites of the first samples as well, and copies the configurations of
// whole blocks to dst.
func (b *Batch[W]) Complete(dst []W) {
	if len(dst)%b.size != 0 || len(dst) > b.Samples*b.size {
		panic(fmt.Sprintf("sites: configurations of %d words, not of whole blocks of %d", len(dst), b.size))
	}
	b.configs = dst
	b.workers.Run(len(dst)/b.size, b.complete)
	b.configs = nil
}

// ScoreAll finds R of the given configurations, with the parameters of Generate.
func (b *Batch[W]) ScoreAll(configs []W) {
	if len(configs) != b.Scored*b.size {
		panic(fmt.Sprintf("sites: configurations of length %d, not %d", len(configs), b.Scored*b.size))
	}
	b.configs = configs
	b.share(b.Scored, b.score, b.scored)
	b.configs = nil
}

func (b *Batch[W]) share(blocks int, body func(piece int), results []pool.Span) {
	b.workers.Share((blocks+b.Together-1)/b.Together, body, results...)
}

// R copies R of the samples, and of the configurations that were scored.
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
