package categories

import (
	"math"

	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/pool"
)

// A Sampler draws from a generator with fixed parameters and computes its density.
type Sampler struct {
	*sites.Blocks[byte]
	model   *Model
	weights *hierarchy.Kernels
	law     *law

	room
	random [samplerBlocks]hierarchy.Words
}

// samplerBlocks is how many blocks are drawn at once, by all threads.
const samplerBlocks = 32

// NewSampler returns a sampler of the model with the given parameters. It keeps a copy of
// these in its own form.
func (m *Model) NewSampler(params []float32, workers *pool.Pool) *Sampler {
	s := &Sampler{model: m, weights: hierarchy.NewKernels(m.nets, workers), law: m.law.copy(), room: m.newRoom(samplerBlocks, false)}
	s.weights.Set(params)
	s.law.setBeta(m.target.Beta)
	s.Blocks = sites.NewBlocks[byte](m.Sites(), samplerBlocks, together, s.draw, s.score, workers)
	return s
}

func (s *Sampler) draw(from, to int) {
	m := s.model
	n, random := m.Sites(), s.random[from:to]
	for k := range random {
		random[k].Start(&s.Stream, s.Number(from+k)*uint64(n+spare), math.MaxInt)
	}
	m.pass(s.weights, s.part(m, from, to), random)
	for k := from; k < to; k++ {
		state := s.block(m, k)
		s.law.addLogWeights(&s.logq[k], -1, state)
		if batch, before := s.Keep(k, &s.logq[k]); batch != nil {
			m.complete(s.law, state, &s.Stream, s.Number(k), &s.random[k])
			rows(batch, state, n, before)
		}
	}
}

func (s *Sampler) score(from, to int) {
	m := s.model
	for k := from; k < to; k++ {
		columns(s.block(m, k), s.Given(k), m.Sites())
	}
	m.pass(s.weights, s.part(m, from, to), nil)
	for k := from; k < to; k++ {
		s.law.addLogWeights(&s.logq[k], -1, s.block(m, k))
		s.Keep(k, &s.logq[k])
	}
}
