package hierarchy

import (
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
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
	blocks  []samplerBlock
	words   int // of a configuration

	stream asm.Counter
	spins  []uint64
	r      []float64
	skip   int    // samples of the first block that were not asked for
	first  uint64 // number of the first block
	run    func(int)
	score  func(int)
}

type samplerBlock struct {
	state    []uint64
	residual [][block]float32
	logq     [block]float64
	rows     []uint64
}

// MaxSamples is the number of samples of a seed's stream.
const MaxSamples = 1 << 40

// samplerBlocks is how many blocks are drawn together.
const samplerBlocks = 64

// NewSampler returns a sampler of the model with the given parameters, of which
// it keeps a copy in its own form.
func (m *Model) NewSampler(params []float32, workers *pool.Pool) *Sampler {
	checkLength("parameters", len(params), m.params)
	s := &Sampler{
		model: m, weights: newWeights(m, workers), exact: m.exact.copy(), workers: workers,
		blocks: make([]samplerBlock, samplerBlocks), words: (m.Spins() + 63) / 64,
	}
	s.weights.set(params)
	s.exact.tabulate(m.target.Beta)
	for i := range s.blocks {
		b := &s.blocks[i]
		b.state, b.residual = make([]uint64, m.Spins()+1), make([][block]float32, m.learned)
		b.rows = make([]uint64, block*s.words)
	}
	s.run, s.score = s.drawBlock, s.scoreBlock
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
	if first > MaxSamples || uint64(n) > MaxSamples-first {
		return fmt.Errorf("samples %d and the %d after it are not all among the %d of a seed", first, n-1, uint64(MaxSamples))
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
		s.workers.Run((s.skip+take+block-1)/block, s.run)
		r, n, first = r[take:], n-take, first+uint64(take)
		if spins != nil {
			spins = spins[take*s.words:]
		}
	}
	s.r, s.spins = nil, nil
	return nil
}

func (s *Sampler) drawBlock(i int) {
	b, k := &s.blocks[i], s.first+uint64(i)
	s.weights.draw(b.state, &b.logq, b.residual, &s.stream, k)
	s.exact.logWeights(&b.logq, -1, s.model.target.Beta, b.state)
	lo, hi := i*block-s.skip, min((i+1)*block-s.skip, len(s.r))
	cut := max(0, -lo)
	copy(s.r[lo+cut:hi], b.logq[cut:])
	if s.spins == nil {
		return
	}
	s.model.completeBlock(&s.exact, b.state, &s.stream, k)
	rows(b.rows, b.state, s.model.Spins())
	copy(s.spins[(lo+cut)*s.words:hi*s.words], b.rows[cut*s.words:])
}

// R sets r to ln q(s) + βE(s) of the given configurations, which depends on the
// learned spins alone.
func (s *Sampler) R(r []float64, spins []uint64) {
	checkLength("spins", len(spins), len(r)*s.words)
	for len(r) > 0 {
		take := min(len(r), samplerBlocks*block)
		s.r, s.spins = r[:take], spins[:take*s.words]
		s.workers.Run((take+block-1)/block, s.score)
		r, spins = r[take:], spins[take*s.words:]
	}
	s.r, s.spins = nil, nil
}

func (s *Sampler) scoreBlock(i int) {
	b := &s.blocks[i]
	lo, hi := i*block, min((i+1)*block, len(s.r))
	spins.Columns(b.state, s.spins[lo*s.words:hi*s.words], s.model.Spins())
	s.weights.score(b.state, &b.logq, b.residual)
	s.exact.logWeights(&b.logq, -1, s.model.target.Beta, b.state)
	copy(s.r[lo:hi], b.logq[:])
}

// LogDensity sets logq to ln q(s) of the given configurations.
func (s *Sampler) LogDensity(logq []float64, configs []uint64) {
	s.R(logq, configs)
	var energy [block]float64
	state := s.blocks[0].state
	for lo := 0; lo < len(logq); lo += block {
		part := logq[lo:min(lo+block, len(logq))]
		spins.Columns(state, configs[lo*s.words:][:len(part)*s.words], s.model.Spins())
		clear(energy[:])
		s.exact.energies(&energy, s.model.target.Beta, state)
		for b := range part {
			part[b] -= energy[b]
		}
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
		clear(energy[:])
		m.exact.energies(&energy, 1, state)
		copy(part, energy[:])
	}
}
