package hierarchy

import (
	"github.com/revgen/revgen/engine/spins"
)

// Pairs are the samples s of a batch and, by a transition of the target from each,
// s′. They differentiate
//
//	½ Σ_b c_b (R(s_b) − R(s′_b))²,  R = ln q + βE,
//
// with both configurations fixed. R(s) − R(s′) is the logarithm of
// q(s)P(s,s′)/q(s′)P(s′,s) for every kernel P that is reversible with respect to
// π: how far detailed balance is violated.
type Pairs struct {
	S, Next     *Batch
	Differences []float64 // R(s) − R(s′)

	transition *spins.Transition
	from, to   []uint64 // packed
	r, c       []float64
	grad       []float32
}

// NewPairs returns buffers for the pairs of a batch.
func (m *Model) NewPairs(batch *Batch, transition *spins.Transition) (*Pairs, error) {
	next, err := m.NewBatch(batch.samples, batch.seed, batch.workers)
	if err != nil {
		return nil, err
	}
	n, words := batch.samples, (m.Spins()+63)/64
	return &Pairs{
		S: batch, Next: next, Differences: make([]float64, n), transition: transition,
		from: make([]uint64, n*words), to: make([]uint64, n*words),
		r: make([]float64, n), c: make([]float64, n), grad: make([]float32, m.params),
	}, nil
}

// Move draws s′ after Generate has drawn s, with the parameters it had, and sets the
// differences.
func (p *Pairs) Move(step uint32) {
	p.S.Complete()
	p.S.Spins(p.from)
	p.transition.Run(p.to, p.from, step)
	p.Next.SetBeta(p.S.beta)
	p.Next.weights = p.S.weights
	p.Next.score(p.to)
	p.S.R(p.Differences)
	p.Next.R(p.r)
	for i, r := range p.r {
		p.Differences[i] -= r
	}
}

// Backward sets grad = Σ_b coefficients[b] ∂(ln q(s_b) − ln q(s′_b))/∂θ.
func (p *Pairs) Backward(grad []float32, coefficients []float64) {
	p.S.Backward(grad, coefficients)
	for i, c := range coefficients {
		p.c[i] = -c
	}
	p.Next.Backward(p.grad, p.c)
	for i, g := range p.grad {
		grad[i] += g
	}
}
