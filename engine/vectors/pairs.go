package vectors

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

// pairs is reversibility of pairs of samples.
type pairs struct {
	config    *Config
	generator *learner
	kernel    *kernel
	loss      lossGradient
	s, next   States
	ds        slopes // ∂L/∂s
}

// A lossGradient returns the loss of a batch of moves s → s′ and sets ds to its gradient
// with s′ fixed, at least in a rank's own rows. What it carries between steps is its State.
type lossGradient interface {
	LossGradient(ds slopes, s, next States) float64
}

// A lossKind makes a loss of batches of n states, validates what of the configuration is
// its own, and bounds the bytes that it allocates.
type lossKind struct {
	make     func(l *LossConfig, n, dim, modes int, seed uint64, workers *pool.Pool) (lossGradient, error)
	validate func(l *LossConfig) error
	bytes    func(l *LossConfig, n, dim, modes int) float64
}

// losses are those of pairs of samples by their loss.kind: one more is a file beside mmd.go,
// and a line here.
var losses = map[string]lossKind{
	"mmd":           mmdLoss,
	"discriminator": discriminatorLoss,
}

func newPairs(c *Config, e *Ensemble, l *learner) (*pairs, *kernel, error) {
	n := c.Training.Batch
	loss, err := losses[c.Loss.Kind].make(&c.Loss, n, e.Dim, e.Modes, c.Training.Seed, e.Workers)
	if err != nil {
		return nil, nil, fmt.Errorf("loss.%w", err)
	}
	if c.Loss.Boundary.Weight > 0 {
		loss = newBounded(loss, newBoundary(c.Loss.Boundary, e.Dim), n, l.lanes)
	}
	p := &pairs{
		config: c, generator: l, loss: loss, kernel: newKernel(c, e, l.lanes, func(_, hi int) int { return hi }),
		s: e.NewStates(n), next: e.NewStates(n), ds: newSlopes(n, e.Dim, e.Modes),
	}
	p.kernel.shared = append(spans(l.lanes, p.s), append(spans(l.lanes, p.next), nn.BlockSpan(l.lanes, p.kernel.counts))...)
	return p, p.kernel, nil
}

// spans are where blocks leave states.
func spans(l *nn.Lanes, s States) []pool.Span {
	all := []pool.Span{nn.RowSpan(l, s.X, s.Dim)}
	if s.K != nil {
		all = append(all, nn.RowSpan(l, s.K, 1))
	}
	return all
}

// State lists what the loss carries from step to step.
func (p *pairs) State() []engine.Section { return state.Of(p.loss) }

func (p *pairs) acceptance(moves float64) float64 { return moves }

func (p *pairs) surrogate() func(params []float64) float64 {
	l, nets, n := &p.config.Loss, p.generator.nets, p.s.Len()
	g := p.generator.generator.(interface {
		forward64(params, z []float64) (x, probabilities []float64)
	})
	z, before, moved := number.Widen(p.generator.z), number.Widen(p.s.X), number.Widen(p.next.X)
	byX, byK := number.Widen(p.ds.x), number.Widen(p.ds.k)
	return func(params []float64) float64 {
		var x, e []float64
		for r := range n {
			xs, probabilities := g.forward64(params, z[r*nets.latent:(r+1)*nets.latent])
			x, e = append(x, xs...), append(e, probabilities...)
		}
		if l.Kind != "mmd" || nets.modes > 0 { // modes are drawn
			return floats.Dot(byX, x) + floats.Dot(byK, e)
		}
		to := moved
		if l.Gradient == "full" {
			to = slices.Clone(moved)
			for i, v := range x {
				to[i] += v - before[i]
			}
		}
		loss := mmd.Naive(&l.Kernel, l.Statistic, x, to, n, nets.dim, nil)
		if l.Boundary.Weight > 0 {
			loss += newBoundary(l.Boundary, nets.dim).penalty64(x)
		}
		return loss
	}
}
