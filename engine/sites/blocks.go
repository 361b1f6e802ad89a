package sites

import (
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// block is the number of samples that are drawn together.
const block = asm.BitSamples

// Blocks gives all threads blocks of samples to draw or to score.
type Blocks[W uint64 | byte] struct {
	room        Room[W]
	words, most int // of a configuration, and blocks at once
	together    int // blocks of a piece
	workers     *pool.Pool

	stream      rng.Counter
	batch       []W // configurations to write or to read, nil if they are not wanted
	r           []float64
	blocks      int    // that are drawn or scored
	skip        int    // samples of the first block that were not asked for
	first       uint64 // number of the first block
	draw, score func(piece int)
}

// A Room is where blocks of samples are, and what draws, weighs and lays them out.
type Room[W uint64 | byte] interface {
	// Set takes the parameters of the generator, SetBeta an inverse temperature of the target.
	Set(params []float32)
	SetBeta(beta float64)
	// Draw draws the learned sites of blocks lo … hi−1, which are number first of a stream and
	// those after it; Score takes those that are there. Both find R and its part ln q of the learned sites.
	Draw(lo, hi int, stream *rng.Counter, first uint64)
	Score(lo, hi int)
	R(k int) *[block]float64
	LogQ(k int) *[block]float64
	// Complete draws the exact sites, too, of block k, which is that of the number in the stream.
	Complete(k int, stream *rng.Counter, number uint64)
	// Read sets the samples of block k to configurations; Write sets configurations to its
	// samples from a number on.
	Read(k int, configs []W)
	Write(configs []W, k, from int)
}

// NewSampler returns Blocks of configurations of so many words, in a room with most blocks, of
// which it takes so many together.
func NewSampler[W uint64 | byte](words, most, together int, room Room[W], workers *pool.Pool) *Blocks[W] {
	s := &Blocks[W]{room: room, words: words, most: most, together: together, workers: workers}
	bounds := func(piece int) (lo, hi int) { return piece * together, min((piece+1)*together, s.blocks) }
	s.draw = func(piece int) {
		lo, hi := bounds(piece)
		room.Draw(lo, hi, &s.stream, s.first+uint64(lo))
		for k := lo; k < hi; k++ {
			if batch, before := s.keep(k); batch != nil {
				room.Complete(k, &s.stream, s.first+uint64(k))
				room.Write(batch, k, before)
			}
		}
	}
	s.score = func(piece int) {
		lo, hi := bounds(piece)
		for k := lo; k < hi; k++ {
			room.Read(k, s.batch[k*block*words:min((k+1)*block*words, len(s.batch))])
		}
		room.Score(lo, hi)
		for k := lo; k < hi; k++ {
			s.keep(k)
		}
	}
	return s
}

// Words returns the number of words of a configuration.
func (s *Blocks[W]) Words() int { return s.words }

// Sample draws samples first … first+n−1 of the stream that belongs to the seed, with
// n = len(r): configurations to batch, and R = ln q(s) + βE(s) to r. A sample does not
// depend on the slice that it is drawn in. batch may be nil; the exact sites are not drawn
// then.
func (s *Blocks[W]) Sample(batch []W, r []float64, seed, first uint64) error {
	if batch != nil {
		s.check(batch, r)
	}
	if err := engine.SampleRange(first, MaxSamples, uint64(len(r)), 0, 0); err != nil {
		return err
	}
	s.stream = rng.Stream(seed, rng.SampleHead, 0)
	s.share(s.draw, batch, r, first)
	return nil
}

// R sets r to ln q(s) + βE(s) of the given configurations, which depends on the learned
// sites alone.
func (s *Blocks[W]) R(r []float64, batch []W) {
	s.check(batch, r)
	s.share(s.score, batch, r, 0)
}

func (s *Blocks[W]) check(batch []W, r []float64) {
	if len(batch) != len(r)*s.words {
		panic(fmt.Sprintf("sites: configurations of length %d, not %d", len(batch), len(r)*s.words))
	}
}

// share gives the threads as many blocks at a time as the room has, of samples first, first+1, ….
func (s *Blocks[W]) share(body func(piece int), batch []W, r []float64, first uint64) {
	for len(r) > 0 {
		s.skip, s.first = int(first%block), first/block
		take := min(len(r), s.most*block-s.skip)
		s.r = r[:take]
		if batch != nil {
			s.batch, batch = batch[:take*s.words], batch[take*s.words:]
		}
		s.blocks = (s.skip + take + block - 1) / block
		s.workers.Run((s.blocks+s.together-1)/s.together, body)
		r, first = r[take:], first+uint64(take)
	}
	s.r, s.batch = nil, nil
}

// keep keeps R of the samples of block k that were asked for. It returns where their
// configurations belong, nil if they are not wanted, and how many samples come before them.
func (s *Blocks[W]) keep(k int) (batch []W, before int) {
	lo, hi := k*block-s.skip, min((k+1)*block-s.skip, len(s.r))
	before = max(0, -lo)
	copy(s.r[lo+before:hi], s.room.R(k)[before:])
	if s.batch != nil {
		batch = s.batch[(lo+before)*s.words : hi*s.words]
	}
	return batch, before
}
