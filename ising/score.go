package ising

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/stat"
)

// A valued objective says what each sample of the last discrepancy contributes:
// values[i] = F_i, the derivative of the loss by the share of s_i in the law of
// the samples.
type valued interface {
	objective
	contributions(values []float32)
}

// scoreObjective replaces the way from a loss to a bernoulli head's logits by
// the score function (REINFORCE). With p(s|h) = Π_d 1/(1 + exp(−2 h_d s_d)),
//
//	∂L/∂h_{i,d} = (1/N) (F_i − b_i) ∂ ln p(s_i|h_i)/∂h_{i,d} = (1/N) (F_i − b_i) (s_{i,d} − tanh h_{i,d}),
//
// which continues nothing to real spins and flips none. The baseline b_i is the
// mean of F over the other samples of s_i's half of the batch, for witnesses of
// cross-fitted halves differ by a constant.
type scoreObjective struct {
	valued
	s      *system
	values []float32
}

func newScoreObjective(s *system, of valued) *scoreObjective {
	return &scoreObjective{of, s, make([]float32, s.config.Training.Batch)}
}

func (o *scoreObjective) discrepancy(step uint32) float64 {
	loss := o.valued.discrepancy(step)
	o.contributions(o.values)
	stat.LeaveOneOut(o.values)
	return loss
}

func (o *scoreObjective) headGradient(lo, hi int) {
	s, n := o.s, o.s.model.N
	unpackSpins(s.grad, s.spins, n, lo, hi)
	s.pullBack(lo, hi) // to the spins that the head drew
	mean := s.activations.Output()[lo*n : hi*n]
	asm.Tanh(mean, mean)
	scale := 1 / float32(s.config.Training.Batch)
	for r := lo; r < hi; r++ {
		for i, m := range mean[(r-lo)*n:][:n] {
			s.grad[r*n+i] = scale * o.values[r] * (s.grad[r*n+i] - m)
		}
	}
}

func (o *pairObjective) contributions(values []float32) { o.loss.Witness(values) }

// contributions of a function g of configurations is g.
func (o *enumeratedObjective) contributions(values []float32) {
	for r, state := range o.s.spins {
		values[r] = o.g[o.half(r)][state]
	}
}

func (o *walshObjective) contributions(values []float32) {
	r, n := len(o.masks), len(values)
	for i := range values {
		c := o.c[stat.Half(i, n)]
		var sum float32
		for a, chi := range o.chi[i*r:][:r] {
			sum += c[a] * chi
		}
		values[i] = sum
	}
}

func (o *invariantObjective) contributions(values []float32) {
	f, words, v, phi := o.features, o.s.model.Words, o.views[0], o.values[0]
	for i := range values {
		f.look(v, o.s.spins[i*words:][:words])
		f.evaluate(phi, v)
		var sum float32
		for k, c := range o.fit.Coefficients(stat.Half(i, len(values))) {
			sum += c * phi[k]
		}
		values[i] = sum
	}
}
