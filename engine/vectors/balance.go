package vectors

import (
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// balance is reversibility of log densities, whose R and coefficients are the
// engine.Balance's. Some of each block's states move.
type balance struct {
	*engine.Balance
	generator *learner
	kernel    *kernel
	s, next   States
	after     []densePass // of the states of each block that move, none where none do
	weighed   []pool.Span

	weighBlock func(block, lo, hi int, _ []float32)
	scoreBlock func(lane, lo, hi int, grad []float32)
}

func newBalance(c *Config, e *Ensemble, l *learner) (*balance, *kernel) {
	n, rows := c.Training.Batch, l.lanes.BlockRows()
	b := &balance{
		Balance: engine.NewBalance(c.Loss.Balancing, n, rows, 1), generator: l,
		s: e.NewStates(n), next: e.NewStates(n),
	}
	b.kernel = newKernel(c, e, l.lanes, b.Moving)
	b.weighed = []pool.Span{nn.RowSpan(l.lanes, b.R, 1), nn.RowSpan(l.lanes, b.Next, 1), nn.BlockSpan(l.lanes, b.kernel.counts)}
	if moving := b.Moving(0, rows); moving > 0 {
		for range l.passes {
			b.after = append(b.after, l.newPass(moving, true).(densePass))
		}
	}
	b.weighBlock = func(block, lo, hi int, _ []float32) {
		l.passes[block].(densePass).logDensity(b.R[lo:hi])
		subtract(b.R[lo:hi], b.kernel.logPi[lo:])
		if end := b.Moving(lo, hi); end > lo {
			b.after[block].density(b.Next[lo:end], b.next.Part(lo, end), l.weights)
			subtract(b.Next[lo:end], b.kernel.logNext[lo:])
		}
	}
	b.scoreBlock = func(lane, lo, hi int, grad []float32) {
		block := lo / rows
		l.passes[block].(densePass).score(grad, b.Weight[lo:hi], l.weights, l.scratch[lane])
		if end := b.Moving(lo, hi); end > lo {
			b.after[block].score(grad, b.NextWeight[lo:end], l.weights, l.scratch[lane])
		}
	}
	return b, b.kernel
}

func subtract(dst, from []float64) {
	for i := range dst {
		dst[i] -= from[i]
	}
}

// weigh sets R of each state, and of where it has moved.
func (b *balance) weigh() { b.generator.lanes.Share(b.weighBlock, b.weighed...) }

// score sets grad to Σ c ∇ln q of all states.
func (b *balance) score(grad, θ []float32) {
	b.generator.weights.params = θ
	b.generator.lanes.Backward(grad, b.scoreBlock)
	b.generator.nets.finish(grad, b.generator.weights)
}

func (b *balance) acceptance(moves float64) float64 { return b.Acceptance(moves) }

func (b *balance) surrogate() func(params []float64) float64 {
	l, n := b.generator, len(b.R)
	d, rows, was := l.nets.dim, l.lanes.BlockRows(), number.Widen(l.weights.params)
	density := l.generator.(interface {
		logDensity64(params []float64) func(x []float64, k int) float64
	})
	at := func(params []float64) (r, next []float64) {
		params = slices.Clone(params)
		if l.nets.base != nil { // of whose place nothing is learned
			copy(params[l.nets.placed:l.nets.learned()], was[l.nets.placed:])
		}
		log := density.logDensity64(params)
		of := func(s States, i int) float64 {
			k := 0
			if s.K != nil {
				k = int(s.K[i])
			}
			return log(number.Widen(s.X[i*d:(i+1)*d]), k)
		}
		r, next = make([]float64, n), make([]float64, n)
		for i := range r {
			r[i] = of(b.s, i)
			if lo := i / rows * rows; i < b.Moving(lo, min(lo+rows, n)) {
				next[i] = of(b.next, i)
			}
		}
		return r, next
	}
	before, beforeNext := at(was)
	now, nowNext := slices.Clone(b.R), slices.Clone(b.Next)
	return func(params []float64) float64 {
		r, next := at(params)
		for i := range r {
			r[i] += now[i] - before[i]
			next[i] += nowNext[i] - beforeNext[i]
		}
		return b.Of(r, next)
	}
}
