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

// A lossKind is what loss.kind names: one of the two forms of reversibility, with its loss.
type lossKind interface {
	build(c *Config, e *Ensemble, l *learner, t *transition) form
	validate(l *LossConfig, dim int) error // what of the configuration is its own
	// bytes bounds what it allocates for batches of n states, given what the generator's passes take.
	bytes(l *LossConfig, n, dim, modes int, passes float64) float64
	// explain is the end of Explainer's sentence, and how often a step evaluates ln π.
	explain(c *Config, move string) (by string, evaluations int)
}

// losses are those by their loss.kind: one more of pairs of samples is a file beside mmd.go,
// and a line here.
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
	check func(l *LossConfig) error
	room  func(l *LossConfig, n, dim, modes int) float64
	// naive is that of vectors without modes by double sums in float64, nil of a loss that is learned.
	naive func(k *mmd.Kernel, stat mmd.Statistic, s, t []float64, n, dim int, grad []float64) float64
}

func (o *pairLoss) build(c *Config, e *Ensemble, l *learner, t *transition) form {
	n := c.Training.Batch
	loss := o.make(&c.Loss, n, e.Dim, e.Modes, c.Training.Seed, e.Workers)
	if c.Loss.Boundary.Weight > 0 {
		rows := l.lanes.BlockRows()
		loss = bounded{loss, newBoundary(c.Loss.Boundary, e.Dim), rows, make([]float32, rows)}
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

// spans are where blocks leave states.
func spans(l *nn.Lanes, s States) []pool.Span {
	all := []pool.Span{nn.RowSpan(l, s.X, s.Dim)}
	if s.K != nil {
		all = append(all, nn.RowSpan(l, s.K, 1))
	}
	return all
}

func (p *pairs) surrogate(l *LossConfig, generator *learner) func(params []float64) float64 {
	nets, n := generator.nets, p.S.Len()
	g := generator.generator.(interface {
		forward64(params, z []float64) (x, probabilities []float64)
	})
	z, before, moved := number.Widen(generator.z), number.Widen(p.S.X), number.Widen(p.Next.X)
	byX, byK := number.Widen(p.DS.x), number.Widen(p.DS.k)
	return func(params []float64) float64 {
		var x, e []float64
		for r := range n {
			xs, probabilities := g.forward64(params, z[r*nets.latent:(r+1)*nets.latent])
			x, e = append(x, xs...), append(e, probabilities...)
		}
		if p.loss.naive == nil || nets.modes > 0 { // modes are drawn
			return floats.Dot(byX, x) + floats.Dot(byK, e)
		}
		to := moved
		if l.Gradient == "full" {
			to = slices.Clone(moved)
			for i, v := range x {
				to[i] += v - before[i]
			}
		}
		loss := p.loss.naive(&l.Kernel, l.Statistic, x, to, n, nets.dim, nil)
		if l.Boundary.Weight > 0 {
			loss += newBoundary(l.Boundary, nets.dim).penalty64(x)
		}
		return loss
	}
}
