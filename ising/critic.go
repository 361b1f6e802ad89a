package ising

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
)

// maxJudged is the largest side of a lattice whose configurations a
// discriminator takes for vectors of real numbers.
const maxJudged = 16

// criticObjective is a learned discriminator of pairs (s, s′) as vectors of ±1.
type criticObjective struct {
	*pairMoves
	critic *critic.Critic
	from   []float32 // s, [batch][spins]
	to     []float32 // s′
	scores []float32 // of each sample, for the score function

	unpack func(block, lo, hi int, _ []float32)
	flip   func(state []float32, _, spin int)
}

func newCriticObjective(s *system) (*criticObjective, error) {
	c, n := s.config, s.config.Training.Batch*s.model.N
	judge, err := critic.New(c.Training.Batch, s.model.N, c.Loss.Discriminator, c.Training.Seed, s.workers)
	if err != nil {
		return nil, fmt.Errorf("loss.discriminator.%w", err)
	}
	o := &criticObjective{pairMoves: newPairMoves(s), critic: judge, from: make([]float32, n), to: make([]float32, n), scores: make([]float32, c.Training.Batch)}
	o.unpack = func(_, lo, hi int, _ []float32) {
		unpackSpins(o.from, s.spins, s.model.N, lo, hi)
		unpackSpins(o.to, o.next, s.model.N, lo, hi)
	}
	o.flip = func(state []float32, _, spin int) { state[spin] = -state[spin] }
	return o, nil
}

// unpackSpins sets rows lo … hi−1 of dst, [batch][n], to packed spins as ±1.
func unpackSpins(dst []float32, spins []uint64, n, lo, hi int) {
	words := (n + 63) / 64
	for r := lo; r < hi; r++ {
		for i := range n {
			dst[r*n+i] = 2*float32(spins[r*words+i>>6]>>(i&63)&1) - 1
		}
	}
}

func (o *criticObjective) acceptance() float64    { return o.accepted.Total().Rate() }
func (o *criticObjective) transition(step uint32) { o.run(step) }

func (o *criticObjective) state() []engine.Section { return o.critic.State() }

func (o *criticObjective) discrepancy(uint32) float64 {
	o.s.lanes.Forward(o.unpack)
	loss := o.critic.Evaluate(o.from, o.to)
	switch o.s.config.Loss.Gradient {
	case "surrogate":
		o.critic.Gradient(o.s.grad)
	case "difference":
		o.critic.Changes(o.s.grad, o.s.model.N, o.flip)
	}
	if o.s.config.Loss.Gradient == "score" || o.s.config.Generator.Signs.Weights == "learned" {
		o.critic.Scores(o.scores)
	}
	if !o.critic.Learn() {
		return math.NaN()
	}
	return loss
}

func (o *criticObjective) contributions(values []float32) { copy(values, o.scores) }

func (o *criticObjective) headGradient(lo, hi int) {
	s, n, words := o.s, o.s.model.N, o.s.generator.words
	if s.config.Loss.Gradient == "difference" {
		halveDifferences(s.grad[lo*n:hi*n], s.spins[lo*words:], n, words)
	}
	scale := 1 / float32(s.config.Training.Batch)
	for i := lo * n; i < hi*n; i++ {
		s.grad[i] *= scale
	}
	s.straightThrough(lo, hi)
}
