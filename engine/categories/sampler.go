package categories

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/internal/pool"
)

// A Sampler draws from a generator with fixed parameters and computes its density.
type Sampler struct {
	model   *Model
	weights *weights
	law     *law
	workers *pool.Pool

	room
	random [samplerBlocks]words
	stream rng.Counter
	rows   []byte // configurations to write or to read, nil if they are not wanted
	r      []float64
	blocks int    // that are drawn or scored
	skip   int    // samples of the first block that were not asked for
	first  uint64 // number of the first block

	run, score func(int)
}

// samplerBlocks is how many blocks are drawn at once, by all threads.
const samplerBlocks = 32

// NewSampler returns a sampler of the model with the given parameters. It keeps a copy of
// these in its own form.
func (m *Model) NewSampler(params []float32, workers *pool.Pool) *Sampler {
	s := &Sampler{model: m, weights: newWeights(m, workers), law: m.law.copy(), workers: workers, room: m.newRoom(samplerBlocks, false)}
	s.weights.set(params)
	s.law.setBeta(m.target.Beta)
	s.run, s.score = s.drawPiece, s.scorePiece
	return s
}

// Sample draws samples first … first+n−1 of the stream that belongs to the seed, with
// n = len(r): configurations to batch, one byte a site, and R = ln q(s) + βE(s) to r. A
// sample does not depend on the slice that it is drawn in. batch may be nil; the exact sites
// are not drawn then.
func (s *Sampler) Sample(batch []byte, r []float64, seed, first uint64) error {
	if err := engine.SampleRange(first, sites.MaxSamples, uint64(len(r)), 0, 0); err != nil {
		return err
	}
	n := s.model.Sites()
	s.stream = rng.Stream(seed, rng.SampleHead, 0)
	for len(r) > 0 {
		s.skip, s.first = int(first%block), first/block
		take := min(len(r), samplerBlocks*block-s.skip)
		s.r = r[:take]
		if batch != nil {
			s.rows, batch = batch[:take*n], batch[take*n:]
		}
		s.share(s.skip+take, s.run)
		r, first = r[take:], first+uint64(take)
	}
	s.r, s.rows = nil, nil
	return nil
}

// share runs body for pieces of blocks that have the given number of samples.
func (s *Sampler) share(samples int, body func(int)) {
	s.blocks = (samples + block - 1) / block
	s.workers.Run((s.blocks+together-1)/together, body)
}

func (s *Sampler) drawPiece(i int) {
	m := s.model
	n, from, to := m.Sites(), i*together, min((i+1)*together, s.blocks)
	random := s.random[from:to]
	for k := range random {
		random[k].start(&s.stream, (s.first+uint64(from+k))*uint64(n+wordsTogether))
	}
	s.weights.pass(s.part(m, from, to), random)
	for k := from; k < to; k++ {
		state := s.block(m, k)
		s.law.addLogWeights(&s.logq[k], -1, state)
		lo, hi := k*block-s.skip, min((k+1)*block-s.skip, len(s.r))
		cut := max(0, -lo)
		copy(s.r[lo+cut:hi], s.logq[k][cut:])
		if s.rows != nil {
			m.complete(s.law, state, &s.stream, s.first+uint64(k), &s.random[k])
			rows(s.rows[(lo+cut)*n:hi*n], state, n, cut)
		}
	}
}

// R sets r to ln q(s) + βE(s) of the given configurations, which depends on the learned
// sites alone.
func (s *Sampler) R(r []float64, batch []byte) {
	n := s.model.Sites()
	for len(r) > 0 {
		take := min(len(r), samplerBlocks*block)
		s.r, s.rows = r[:take], batch[:take*n]
		s.share(take, s.score)
		r, batch = r[take:], batch[take*n:]
	}
	s.r, s.rows = nil, nil
}

func (s *Sampler) scorePiece(i int) {
	m := s.model
	n, from, to := m.Sites(), i*together, min((i+1)*together, s.blocks)
	for k := from; k < to; k++ {
		columns(s.block(m, k), s.rows[k*block*n:min((k+1)*block*n, len(s.rows))], n)
	}
	s.weights.pass(s.part(m, from, to), nil)
	for k := from; k < to; k++ {
		s.law.addLogWeights(&s.logq[k], -1, s.block(m, k))
		copy(s.r[k*block:min((k+1)*block, len(s.r))], s.logq[k][:])
	}
}
