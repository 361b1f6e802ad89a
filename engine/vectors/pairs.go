package vectors

import (
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// A lossKind is a value of loss.kind: one of the two forms of reversibility, with its loss.
type lossKind interface {
	build(c *Config, e *Ensemble, l *learner, t *transition) form
	validate(l *LossConfig, dim int) error // checks the settings of this kind alone
	// bytes bounds the memory of the loss for batches of n states, given that of the generator's passes.
	bytes(l *LossConfig, n, dim, modes int, passes float64) float64
	// explain returns the end of Explainer's sentence, and how often a step evaluates ln π.
	explain(c *Config, move string) (by string, evaluations int)
}

// losses maps loss.kind to losses. Another loss of pairs of samples is a file beside mmd.go, and a line
// here.
var losses = map[string]lossKind{
	"mmd":           &mmdLoss,
	"discriminator": &discriminatorLoss,
	"balance":       balanceLoss{},
}

type discrepancy = engine.Discrepancy[States, stateGradient]

// pairs is the form of pairs of samples.
type pairs struct {
	engine.Pairs[States, stateGradient]
	loss *pairLoss
}

// A pairLoss is a lossKind of pairs of samples.
type pairLoss struct {
	name  string // of the discrepancy, in a sentence
	make  func(l *LossConfig, n, dim, modes int, seed uint64, workers *pool.Pool) discrepancy
	check func(l *LossConfig) error                      // validates its own settings
	room  func(l *LossConfig, n, dim, modes int) float64 // bytes for batches of n states
	// naive is the loss of vectors without modes by double sums in float64, nil for a learned loss.
	naive func(k *mmd.Kernel, stat mmd.Statistic, s, t []float64, n, dim int, grad []float64) float64
}

func (o *pairLoss) build(c *Config, e *Ensemble, l *learner, t *transition) form {
	n := c.Training.Batch
	loss := o.make(&c.Loss, n, e.Dim, e.Modes, c.Training.Seed, e.Workers)
	if c.Loss.Boundary.Weight > 0 {
		rows := l.lanes.BlockRows()
		loss = bounded{discrepancy: loss, boundary: newBoundary(c.Loss.Boundary, e.Dim), rows: rows, sigmoids: make([]float32, rows)}
	}
	p := &pairs{loss: o}
	p.Generator, p.Transition, p.Discrepancy = l, t, loss
	p.S, p.Next, p.DS = e.NewStates(n), e.NewStates(n), newStateGradient(n, e.Dim, e.Modes)
	t.movingEnd = func(_, hi int) int { return hi }
	t.shared = append(spans(l.lanes, p.S), append(spans(l.lanes, p.Next), nn.BlockSpan(l.lanes, t.counts))...)
	return p
}

func (o *pairLoss) validate(l *LossConfig, dim int) error {
	return conf.First(o.check(l), conf.Under("boundary", l.Boundary.validate(dim)))
}

func (o *pairLoss) bytes(l *LossConfig, n, dim, modes int, _ float64) float64 {
	return o.room(l, n, dim, modes)
}

func (o *pairLoss) explain(c *Config, move string) (string, int) {
	return engine.ByPairs(o.name, move), c.Training.Batch * (1 + c.Transition.Steps)
}

// spans returns the spans in which the blocks of a batch leave its states.
func spans(l *nn.Lanes, s States) []pool.Span {
	spans := []pool.Span{nn.RowSpan(l, s.X, s.Dim)}
	if s.K != nil {
		spans = append(spans, nn.RowSpan(l, s.K, 1))
	}
	return spans
}

func (p *pairs) surrogate(l *LossConfig, generator *learner) func(params []float64) float64 {
	nets, n := generator.nets, p.S.Len()
	g := generator.generator.(interface {
		forward64(params, z []float64) (x, probabilities []float64)
	})
	z, initial, next := number.Widen(generator.z), number.Widen(p.S.X), number.Widen(p.Next.X)
	dx, dk := number.Widen(p.DS.x), number.Widen(p.DS.k)
	return func(params []float64) float64 {
		var x, probabilities []float64
		for r := range n {
			row, rowProbabilities := g.forward64(params, z[r*nets.latent:(r+1)*nets.latent])
			x, probabilities = append(x, row...), append(probabilities, rowProbabilities...)
		}
		if p.loss.naive == nil || nets.modes > 0 { // modes are drawn
			return floats.Dot(dx, x) + floats.Dot(dk, probabilities)
		}
		moved := next
		if l.Gradient == "full" {
			moved = slices.Clone(next)
			for i, v := range x {
				moved[i] += v - initial[i]
			}
		}
		loss := p.loss.naive(&l.Kernel, l.Statistic, x, moved, n, nets.dim, nil)
		if l.Boundary.Weight > 0 {
			loss += newBoundary(l.Boundary, nets.dim).penalty64(x)
		}
		return loss
	}
}
