package hierarchy

import (
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/pool"
)

// A Sampler draws from a generator with fixed parameters and computes its
// density.
type Sampler struct {
	*sites.Blocks[uint64]
	model   *Model
	weights *Kernels
	exact   exact

	size  int              // words of a block's state: one a spin, and a zero
	state []uint64         // [samplerBlocks][size]
	logq  [][block]float64 // [samplerBlocks]
	rows  []uint64         // [samplerBlocks][block][words]
}

// samplerBlocks is how many blocks are drawn at once, by all threads.
const samplerBlocks = 64

// NewSampler returns a sampler of the model with the given parameters, of which
// it keeps a copy in its own form.
func (m *Model) NewSampler(params []float32, workers *pool.Pool) *Sampler {
	checkLength("parameters", len(params), m.params)
	words := (m.Spins() + 63) / 64
	s := &Sampler{
		model: m, weights: NewKernels(m.nets, workers), exact: m.exact.copy(),
		size: m.Spins() + 1, logq: make([][block]float64, samplerBlocks), rows: make([]uint64, samplerBlocks*block*words),
	}
	s.state = make([]uint64, samplerBlocks*s.size)
	s.weights.Set(params)
	s.exact.tabulate(m.target.Beta)
	s.Blocks = sites.NewBlocks[uint64](words, samplerBlocks, together, s.draw, s.score, workers)
	return s
}

func (s *Sampler) draw(from, to int) {
	s.model.draw(s.weights, s.state[from*s.size:to*s.size], s.logq[from:to], nil, &s.Stream, s.Number(from))
	for k := from; k < to; k++ {
		state := s.state[k*s.size:][:s.size]
		s.exact.logWeights(&s.logq[k], -1, s.model.target.Beta, state)
		if batch, before := s.Keep(k, &s.logq[k]); batch != nil {
			s.model.completeBlock(&s.exact, state, &s.Stream, s.Number(k))
			configs := s.rows[k*block*s.Words():][:block*s.Words()]
			spins.Rows(configs, configs, state[:s.model.Spins()])
			copy(batch, configs[before*s.Words():])
		}
	}
}

func (s *Sampler) score(from, to int) {
	for k := from; k < to; k++ {
		spins.Columns(s.state[k*s.size:][:s.size], s.Given(k), s.model.Spins())
	}
	s.model.score(s.weights, s.state[from*s.size:to*s.size], s.logq[from:to], nil)
	for k := from; k < to; k++ {
		s.exact.logWeights(&s.logq[k], -1, s.model.target.Beta, s.state[k*s.size:][:s.size])
		s.Keep(k, &s.logq[k])
	}
}
