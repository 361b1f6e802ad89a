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
)

type (
	pairs       = engine.Pairs[States, slopes]
	discrepancy = engine.Discrepancy[States, slopes]
)

// A lossKind makes a loss of batches of n states, validates what of the configuration is
// its own, and bounds the bytes that it allocates.
type lossKind struct {
	name     string // of the discrepancy, in a sentence
	make     func(l *LossConfig, n, dim, modes int, seed uint64, workers *pool.Pool) (discrepancy, error)
	validate func(l *LossConfig) error
	bytes    func(l *LossConfig, n, dim, modes int) float64
}

// losses are those of pairs of samples by their loss.kind: one more is a file beside mmd.go,
// and a line here.
var losses = map[string]lossKind{
	"mmd":           mmdLoss,
	"discriminator": discriminatorLoss,
}

func newPairs(c *Config, e *Ensemble, l *learner, k *kernel) (*pairs, error) {
	n := c.Training.Batch
	loss, err := losses[c.Loss.Kind].make(&c.Loss, n, e.Dim, e.Modes, c.Training.Seed, e.Workers)
	if err != nil {
		return nil, fmt.Errorf("loss.%w", err)
	}
	if c.Loss.Boundary.Weight > 0 {
		loss = newBounded(loss, newBoundary(c.Loss.Boundary, e.Dim), n, l.lanes)
	}
	p := &pairs{Generator: l, Transition: k, Discrepancy: loss, S: e.NewStates(n), Next: e.NewStates(n), DS: newSlopes(n, e.Dim, e.Modes)}
	k.moving = func(_, hi int) int { return hi }
	k.shared = append(spans(l.lanes, p.S), append(spans(l.lanes, p.Next), nn.BlockSpan(l.lanes, k.counts))...)
	return p, nil
}

// spans are where blocks leave states.
func spans(l *nn.Lanes, s States) []pool.Span {
	all := []pool.Span{nn.RowSpan(l, s.X, s.Dim)}
	if s.K != nil {
		all = append(all, nn.RowSpan(l, s.K, 1))
	}
	return all
}

// surrogateOfPairs is System.Surrogate of pairs.
func (s *System) surrogateOfPairs(p *pairs) func(params []float64) float64 {
	l, nets, n := &s.config.Loss, s.generator.nets, p.S.Len()
	g := s.generator.generator.(interface {
		forward64(params, z []float64) (x, probabilities []float64)
	})
	z, before, moved := number.Widen(s.generator.z), number.Widen(p.S.X), number.Widen(p.Next.X)
	byX, byK := number.Widen(p.DS.x), number.Widen(p.DS.k)
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
