package hierarchy

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/pool"
)

// A Sampler draws from a generator with fixed parameters and computes its
// density.
type Sampler struct {
	model   *Model
	weights *weights
	exact   exact
	workers *pool.Pool
	words   int // of a configuration

	size  int              // words of a block's state: one a spin, and a zero
	state []uint64         // [samplerBlocks][size]
	logq  [][block]float64 // [samplerBlocks]
	rows  []uint64         // [samplerBlocks][block][words]

	stream asm.Counter
	spins  []uint64
	r      []float64
	blocks int    // that are drawn or scored
	skip   int    // samples of the first block that were not asked for
	first  uint64 // number of the first block
	run    func(int)
	score  func(int)
}

// samplerBlocks is how many blocks are drawn at once, by all threads.
const samplerBlocks = 64

// NewSampler returns a sampler of the model with the given parameters, of which
// it keeps a copy in its own form.
func (m *Model) NewSampler(params []float32, workers *pool.Pool) *Sampler {
	checkLength("parameters", len(params), m.params)
	s := &Sampler{
		model: m, weights: newWeights(m, workers), exact: m.exact.copy(), workers: workers,
		words: (m.Spins() + 63) / 64, size: m.Spins() + 1, logq: make([][block]float64, samplerBlocks),
	}
	s.state, s.rows = make([]uint64, samplerBlocks*s.size), make([]uint64, samplerBlocks*block*s.words)
	s.weights.set(params)
	s.exact.tabulate(m.target.Beta)
	s.run, s.score = s.drawPiece, s.scorePiece
	return s
}

// Words returns the number of words of a configuration.
func (s *Sampler) Words() int { return s.words }

// Sample draws samples first … first+n−1 of the stream that belongs to the
// seed, with n = len(r): configurations of ⌈spins/64⌉ words to spins, and
// R = ln q(s) + βE(s) to r. A sample does not depend on the slice that it is
// drawn in. spins may be nil; the exact spins are not drawn then.
func (s *Sampler) Sample(spins []uint64, r []float64, seed uint64, first uint64) error {
	n := len(r)
	if spins != nil {
		checkLength("spins", len(spins), n*s.words)
	}
	if err := engine.SampleRange(first, sites.MaxSamples, uint64(n), 0, 0); err != nil {
		return err
	}
	s.stream = rng.Stream(seed, rng.SampleHead, 0)
	for n > 0 {
		s.skip = int(first % block)
		s.first = first / block
		take := min(n, samplerBlocks*block-s.skip)
		s.r = r[:take]
		if spins != nil {
			s.spins = spins[:take*s.words]
		}
		s.share(s.skip+take, s.run)
		r, n, first = r[take:], n-take, first+uint64(take)
		if spins != nil {
			spins = spins[take*s.words:]
		}
	}
	s.r, s.spins = nil, nil
	return nil
}

// share runs body for pieces of blocks that have the given number of samples.
func (s *Sampler) share(samples int, body func(int)) {
	s.blocks = (samples + block - 1) / block
	s.workers.Run((s.blocks+together-1)/together, body)
}

// blocksOf returns the blocks lo … hi−1 of piece i, their states and where their ln q
// belongs.
func (s *Sampler) blocksOf(i int) (lo, hi int, states []uint64, logq [][block]float64) {
	lo, hi = i*together, min((i+1)*together, s.blocks)
	return lo, hi, s.state[lo*s.size : hi*s.size], s.logq[lo:hi]
}

func (s *Sampler) drawPiece(i int) {
	first, end, states, logq := s.blocksOf(i)
	s.weights.draw(states, logq, nil, &s.stream, s.first+uint64(first))
	for k := first; k < end; k++ {
		state := s.state[k*s.size:][:s.size]
		s.exact.logWeights(&s.logq[k], -1, s.model.target.Beta, state)
		lo, hi := k*block-s.skip, min((k+1)*block-s.skip, len(s.r))
		cut := max(0, -lo)
		copy(s.r[lo+cut:hi], s.logq[k][cut:])
		if s.spins == nil {
			continue
		}
		s.model.completeBlock(&s.exact, state, &s.stream, s.first+uint64(k))
		configs := s.rows[k*block*s.words:][:block*s.words]
		rows(configs, state, s.model.Spins())
		copy(s.spins[(lo+cut)*s.words:hi*s.words], configs[cut*s.words:])
	}
}

// R sets r to ln q(s) + βE(s) of the given configurations, which depends on the
// learned spins alone.
func (s *Sampler) R(r []float64, spins []uint64) {
	checkLength("spins", len(spins), len(r)*s.words)
	for len(r) > 0 {
		take := min(len(r), samplerBlocks*block)
		s.r, s.spins = r[:take], spins[:take*s.words]
		s.share(take, s.score)
		r, spins = r[take:], spins[take*s.words:]
	}
	s.r, s.spins = nil, nil
}

func (s *Sampler) scorePiece(i int) {
	first, end, states, logq := s.blocksOf(i)
	for k := first; k < end; k++ {
		lo, hi := k*block, min((k+1)*block, len(s.r))
		spins.Columns(s.state[k*s.size:][:s.size], s.spins[lo*s.words:hi*s.words], s.model.Spins())
	}
	s.weights.score(states, logq, nil)
	for k := first; k < end; k++ {
		s.exact.logWeights(&s.logq[k], -1, s.model.target.Beta, s.state[k*s.size:][:s.size])
		copy(s.r[k*block:min((k+1)*block, len(s.r))], s.logq[k][:])
	}
}

// LogDensity sets logq to ln q(s) of the given configurations.
func (s *Sampler) LogDensity(logq []float64, configs []uint64) {
	s.R(logq, configs)
	energies := make([]float64, len(logq))
	s.model.Energies(energies, configs)
	for i, e := range energies {
		logq[i] -= s.model.target.Beta * e
	}
}

// Energies sets e to E(s) of the given configurations.
func (m *Model) Energies(e []float64, configs []uint64) {
	words := (m.Spins() + 63) / 64
	checkLength("spins", len(configs), len(e)*words)
	state := make([]uint64, m.Spins()+1)
	var energy [block]float64
	for lo := 0; lo < len(e); lo += block {
		part := e[lo:min(lo+block, len(e))]
		spins.Columns(state, configs[lo*words:][:len(part)*words], m.Spins())
		m.exact.energies(&energy, state)
		copy(part, energy[:])
	}
}
