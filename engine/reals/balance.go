package reals

import (
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// balance is the objective of generators that know their density.
type balance struct {
	*System
	loss  *engine.Balance
	next  []densePass // of the states of each block that move, none where none do
	spans []pool.Span
}

func newBalance(s *System) *balance {
	rows := s.lanes.BlockRows()
	o := &balance{System: s, loss: engine.NewBalance(s.config.Loss.Balancing, s.config.Training.Batch, rows, 1)}
	if moving := o.loss.Moving(0, rows); moving > 0 {
		for range s.blocks {
			o.next = append(o.next, s.generator.newPass(moving, true).(densePass))
		}
	}
	o.spans = []pool.Span{nn.RowSpan(s.lanes, o.loss.R, 1), nn.RowSpan(s.lanes, o.loss.Next, 1), nn.BlockSpan(s.lanes, s.counts)}
	return o
}

func (o *balance) pass(block int) densePass { return o.blocks[block].pass.(densePass) }

func (o *balance) move(b, lo, hi int) {
	d, m, end := o.nets.dim, o.blocks[b].moves, o.loss.Moving(lo, hi)
	logPi := m.start(o.states[lo*d : hi*d])
	o.pass(b).logDensity(o.loss.R[lo:hi])
	for i, v := range logPi {
		o.loss.R[lo+i] -= float64(v)
	}
	if end == lo {
		return
	}
	moved := o.moved[lo*d : end*d]
	copy(moved, o.states[lo*d:])
	o.counts[b] = o.transition.walk(moved, o.config.Transition.Steps, &o.moving, uint64(lo), m)
	o.next[b].density(o.loss.Next[lo:end], moved, o.weights)
	for i, v := range logPi[:end-lo] {
		o.loss.Next[lo+i] -= float64(v)
	}
}

func (o *balance) left() []pool.Span { return o.spans }

func (o *balance) measure() float64 { return o.loss.Measure() }

func (o *balance) backward(lane, block, lo, hi int, grad []float32) {
	o.pass(block).score(grad, o.loss.Weight[lo:hi], o.weights, o.scratch[lane])
	if end := o.loss.Moving(lo, hi); end > lo {
		o.next[block].score(grad, o.loss.NextWeight[lo:end], o.weights, o.scratch[lane])
	}
}

func (o *balance) finish(grad []float32) { o.nets.finish(grad, 0, o.weights) }

func (o *balance) carried() []engine.Section { return nil }

func (o *balance) acceptance() float64 { return o.loss.Acceptance(o.count.Rate()) }

func (o *balance) surrogate() func(params []float64) float64 {
	d, n, rows := o.nets.dim, len(o.loss.R), o.lanes.BlockRows()
	x, y, was := number.Widen(o.states), number.Widen(o.moved), number.Widen(o.weights.params)
	logQ := func(params []float64) func(x []float64) float64 {
		if g, ok := o.generator.(*mixtureFlow); ok {
			params = slices.Clone(params)
			copy(params[o.nets.placed:o.nets.learned()], was[o.nets.placed:])
			return g.logDensity64(params)
		}
		return o.generator.(*flow).logDensity64(params)
	}
	at := func(params []float64) (r, next []float64) {
		log := logQ(params)
		r, next = make([]float64, n), make([]float64, n)
		for lo := 0; lo < n; lo += rows {
			hi := min(lo+rows, n)
			for i := lo; i < hi; i++ {
				r[i] = log(x[i*d : (i+1)*d])
			}
			for i := lo; i < o.loss.Moving(lo, hi); i++ {
				next[i] = log(y[i*d : (i+1)*d])
			}
		}
		return r, next
	}
	before, beforeNext := at(was)
	return func(params []float64) float64 {
		r, next := at(params)
		for i := range r {
			r[i] += o.loss.R[i] - before[i]
			next[i] += o.loss.Next[i] - beforeNext[i]
		}
		return o.loss.Of(r, next)
	}
}
