package hierarchy

import (
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
)

// moves are single-spin updates of the heat bath, the Metropolis–Hastings
// kernel that proposes either spin with its probability given the others and
// accepts always.
type moves struct {
	spins  []leaf // every spin, in order
	logits []leafTable
}

// newMoves returns the updates of all spins, the learned ones last: only those
// change R.
func newMoves(t *Target, learned []int32) (*moves, error) {
	m := &moves{}
	near := t.neighbours()
	last := make([]bool, t.Spins)
	for _, i := range learned {
		last[i] = true
	}
	tables := map[string]int{}
	for pass := range 2 {
		for i, list := range near {
			if last[i] != (pass == 1) {
				continue
			}
			if len(list) > leafInputs {
				return nil, fmt.Errorf("moves: spin %d has %d neighbours, more than %d", i, len(list), leafInputs)
			}
			var l leaf
			l, m.logits = newLeaf(t, i, list, tables, m.logits)
			m.spins = append(m.spins, l)
		}
	}
	return m, nil
}

func (m *moves) tabulate(beta float64) {
	for k := range m.logits {
		m.logits[k].tabulate(beta)
	}
}

// sweep updates every spin of a block once.
func (m *moves) sweep(state []uint64, w *words) {
	for k := range m.spins {
		l := &m.spins[k]
		state[l.site] = draw(state, l.around, m.logits[l.table].up, w.of())
	}
}

// Pairs draws samples s and, by sweeps of the heat bath from each, s′, and
// differentiates
//
//	½ Σ_b c_b (R(s_b) − R(s′_b))²,  R = ln q + βE,
//
// with both configurations fixed. R(s) − R(s′) is the logarithm of
// q(s)P(s,s′)/q(s′)P(s′,s) for every kernel P that is reversible with respect to
// π: how far detailed balance is violated.
type Pairs struct {
	S, Next *Batch
	moves   *moves
	sweeps  int
	run     func(int)
	stream  asm.Counter
	r       []float64
	c       []float64
	grad    []float32
}

// NewPairs returns buffers for pairs that the given number of sweeps lie
// between.
func (m *Model) NewPairs(batch *Batch, sweeps int) (*Pairs, error) {
	next, err := m.NewBatch(batch.samples, batch.seed, batch.workers)
	if err != nil {
		return nil, err
	}
	if sweeps < 1 {
		return nil, fmt.Errorf("moves: %d sweeps are not positive", sweeps)
	}
	var learned []int32
	for i := range m.units {
		learned = append(learned, m.units[i].sites...)
	}
	p := &Pairs{S: batch, Next: next, sweeps: sweeps, r: make([]float64, batch.samples), c: make([]float64, batch.samples), grad: make([]float32, m.params)}
	if p.moves, err = newMoves(&m.target, learned); err != nil {
		return nil, err
	}
	p.run = func(k int) {
		state := next.block(k)
		copy(state, batch.block(k))
		n := sweeps * m.Spins()
		var w words
		w.start(&p.stream, uint64(k)*uint64(n), n)
		for range sweeps {
			p.moves.sweep(state, &w)
		}
		next.scoreBlock(k)
	}
	return p, nil
}

// Move draws s′ after Generate has drawn s with parameters params, and sets
// differences[b] to R(s_b) − R(s′_b).
func (p *Pairs) Move(differences []float64, step uint32) {
	p.Next.SetBeta(p.S.beta)
	p.moves.tabulate(p.S.beta)
	p.S.Complete()
	p.Next.weights = p.S.weights
	p.stream = rng.Stream(p.S.seed, rng.TrainTransition, step)
	p.S.workers.Run(len(p.S.logq), p.run)
	p.S.R(differences)
	p.Next.R(p.r)
	for i, r := range p.r {
		differences[i] -= r
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
