package reals

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

// pairs is the paper's objective: the MMD between the laws of (s, s′) and (s′, s), by
// samples of both, or a discriminator's mean, and the boundary penalty.
type pairs struct {
	*System
	loss     lossGradient
	boundary *boundary
	grad     []float32 // ∂L/∂s, [batch][dim]
	spans    []pool.Span

	penalties []float64 // of each block
	penalised pool.Span // of these
	penalise  func(block, lo, hi int, _ []float32)
}

// A lossGradient returns the loss of a batch of moves s → t, row-major, and sets
// grad to its gradient in s with t fixed, at least in a rank's own rows.
type lossGradient interface {
	LossGradient(s, t, grad []float32) float64
}

func newPairs(s *System) (*pairs, error) {
	n, d := s.config.Training.Batch, s.nets.dim
	loss, err := s.config.Loss.estimator(n, d, s.config.Training.Seed, s.workers)
	if err != nil {
		return nil, fmt.Errorf("loss.%w", err)
	}
	o := &pairs{
		System: s, loss: loss, boundary: newBoundary(s.config.Loss.Boundary, d), grad: make([]float32, n*d),
		spans:     []pool.Span{nn.RowSpan(s.lanes, s.states, d), nn.RowSpan(s.lanes, s.moved, d), nn.BlockSpan(s.lanes, s.counts)},
		penalties: make([]float64, len(s.blocks)),
	}
	o.penalised = nn.BlockSpan(s.lanes, o.penalties)
	o.penalise = func(b, lo, hi int, _ []float32) {
		o.penalties[b] = o.boundary.add(o.grad[lo*d:hi*d], s.states[lo*d:hi*d], s.blocks[b].moves.ratio, n)
	}
	return o, nil
}

// estimator builds the discrepancy for batches of n states.
func (l *LossConfig) estimator(n, dim int, seed uint64, workers *pool.Pool) (lossGradient, error) {
	if l.Kind == "discriminator" {
		loss, err := critic.New(n, dim, l.Discriminator, seed, workers)
		return loss, conf.Under("discriminator", err)
	}
	loss, err := mmd.NewGram(n, dim, l.Kernel, l.Statistic, workers)
	if err == nil && l.Gradient == "full" {
		return &fullGradient{loss, make([]float32, n*dim)}, nil
	}
	return loss, err
}

// fullGradient is the gradient of a loss that is symmetric in s and t when
// t − s, the sum of the moves that were accepted, is held fixed rather than t.
type fullGradient struct {
	lossGradient
	byNext []float32
}

func (f *fullGradient) LossGradient(s, t, grad []float32) float64 {
	loss := f.lossGradient.LossGradient(s, t, grad)
	f.lossGradient.LossGradient(t, s, f.byNext)
	for i, g := range f.byNext {
		grad[i] += g
	}
	return loss
}

func (o *pairs) move(b, lo, hi int) {
	d, m := o.nets.dim, o.blocks[b].moves
	copy(o.moved[lo*d:hi*d], o.states[lo*d:])
	m.start(o.moved[lo*d : hi*d])
	o.counts[b] = o.transition.walk(o.moved[lo*d:hi*d], o.config.Transition.Steps, &o.moving, uint64(lo), m)
}

func (o *pairs) left() []pool.Span { return o.spans }

func (o *pairs) measure() float64 {
	loss := o.loss.LossGradient(o.states, o.moved, o.grad)
	if o.config.Loss.Boundary.Weight > 0 {
		o.lanes.Share(o.penalise, o.penalised)
		for _, p := range o.penalties {
			loss += p
		}
	}
	return loss
}

func (o *pairs) backward(lane, block, lo, hi int, grad []float32) {
	d := o.nets.dim
	o.blocks[block].pass.backward(grad, o.grad[lo*d:hi*d], o.weights, o.scratch[lane])
}

func (o *pairs) finish([]float32) {}

func (o *pairs) carried() []engine.Section { return state.Of(o.loss) }

func (o *pairs) acceptance() float64 { return o.count.Rate() }

func (o *pairs) surrogate() func(params []float64) float64 {
	n, latent, l := o.config.Training.Batch, o.nets.latent, &o.config.Loss
	z, before, moved, grad := number.Widen(o.noise), number.Widen(o.states), number.Widen(o.moved), number.Widen(o.grad)
	return func(params []float64) float64 {
		var x []float64
		for r := range n {
			row := z[r*latent : (r+1)*latent]
			switch g := o.generator.(type) {
			case *flow:
				state, _ := g.forward64(params, row)
				x = append(x, state...)
			case *residual:
				x = append(x, g.forward64(params, row)...)
			}
		}
		if l.Kind == "discriminator" {
			return floats.Dot(grad, x) // the discriminator itself has learned since
		}
		to := moved
		if l.Gradient == "full" {
			to = slices.Clone(moved)
			for i, v := range x {
				to[i] += v - before[i]
			}
		}
		loss := mmd.Naive(&l.Kernel, l.Statistic, x, to, n, o.nets.dim, nil)
		if l.Boundary.Weight > 0 {
			loss += o.boundary.penalty64(x)
		}
		return loss
	}
}
