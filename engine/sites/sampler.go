package sites

import (
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// A Sampler gives all threads blocks of samples to draw or to score.
type Sampler[W uint64 | byte] struct {
	workspace   Workspace[W]
	words       int // of a configuration
	maxBlocks   int // of the workspace
	pieceBlocks int
	workers     *pool.Pool

	// The call under way.
	stream      rng.Counter
	batch       []W // configurations to write or to read; nil if they are not wanted
	r           []float64
	blocks      int    // to draw or score
	skip        int    // samples of the first block that were not asked for
	first       uint64 // number of the first block in the stream
	draw, score func(piece int)
}

// NewSampler returns a Sampler of configurations of the given number of words, in a workspace with
// maxBlocks blocks. A thread draws or scores pieceBlocks of them at a time.
func NewSampler[W uint64 | byte](words, maxBlocks, pieceBlocks int, w Workspace[W], workers *pool.Pool) *Sampler[W] {
	s := &Sampler[W]{workspace: w, words: words, maxBlocks: maxBlocks, pieceBlocks: pieceBlocks, workers: workers}
	bounds := func(piece int) (lo, hi int) { return piece * pieceBlocks, min((piece+1)*pieceBlocks, s.blocks) }
	s.draw = func(piece int) {
		lo, hi := bounds(piece)
		w.Draw(lo, hi, &s.stream, s.first+uint64(lo))
		for k := lo; k < hi; k++ {
			if configs, from := s.copyR(k); configs != nil {
				w.Complete(k, &s.stream, s.first+uint64(k))
				w.Write(configs, k, from)
			}
		}
	}
	s.score = func(piece int) {
		lo, hi := bounds(piece)
		for k := lo; k < hi; k++ {
			w.Read(k, s.batch[k*block*words:min((k+1)*block*words, len(s.batch))])
		}
		w.Score(lo, hi)
		for k := lo; k < hi; k++ {
			s.copyR(k)
		}
	}
	return s
}

// Words returns the number of words of a configuration.
func (s *Sampler[W]) Words() int { return s.words }

// Sample draws samples first … first+n−1 of the stream that belongs to the seed, with
// n = len(r): configurations to batch, and R = ln q(s) + βE(s) to r. A sample does not
// depend on the slice that it is drawn in. batch may be nil; the exact sites are not drawn
// then.
func (s *Sampler[W]) Sample(batch []W, r []float64, seed, first uint64) error {
	if batch != nil {
		s.checkLengths(batch, r)
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
func (s *Sampler[W]) R(r []float64, batch []W) {
	s.checkLengths(batch, r)
	s.share(s.score, batch, r, 0)
}

func (s *Sampler[W]) checkLengths(batch []W, r []float64) {
	if len(batch) != len(r)*s.words {
		panic(fmt.Sprintf("sites: configurations of length %d, not %d", len(batch), len(r)*s.words))
	}
}

// share runs body for samples first, first+1, …, as many blocks at a time as the workspace has.
func (s *Sampler[W]) share(body func(piece int), batch []W, r []float64, first uint64) {
	for len(r) > 0 {
		s.skip, s.first = int(first%block), first/block
		n := min(len(r), s.maxBlocks*block-s.skip)
		s.r = r[:n]
		if batch != nil {
			s.batch, batch = batch[:n*s.words], batch[n*s.words:]
		}
		s.blocks = (s.skip + n + block - 1) / block
		s.workers.Run((s.blocks+s.pieceBlocks-1)/s.pieceBlocks, body)
		r, first = r[n:], first+uint64(n)
	}
	s.r, s.batch = nil, nil
}

// copyR copies R of the samples of block k that were asked for. It returns where their
// configurations belong, nil if they are not wanted, and the first of them in the block.
func (s *Sampler[W]) copyR(k int) (configs []W, from int) {
	lo, hi := k*block-s.skip, min((k+1)*block-s.skip, len(s.r))
	from = max(0, -lo)
	copy(s.r[lo+from:hi], s.workspace.R(k)[from:])
	if s.batch != nil {
		configs = s.batch[(lo+from)*s.words : hi*s.words]
	}
	return configs, from
}
