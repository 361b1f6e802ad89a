package hierarchy

import (
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/pool"
)

// Draw draws the learned sites of the batch, at the step's temperature, and all sites of its
// first samples, which it copies to s.
func (b *Batch[W]) Draw(s []W, θ []float32, step uint32) {
	b.Workspace.SetBeta(b.beta(step))
	b.Generate(θ, step)
	b.Complete(s)
}

// Weigh sets R of the batch, and R of next, where the first samples have moved.
func (b *Batch[W]) Weigh(r, rNext []float64, _, next []W) {
	if len(next) > 0 {
		b.ScoreAll(next)
	}
	b.R(r, rNext[:b.ScoredBlocks*block])
}

// Score sets grad to Σ c ∇ln q over the states that Weigh has weighed.
func (b *Batch[W]) Score(grad, _ []float32, c, cNext []float64) {
	b.Backward(grad, c, cNext[:b.ScoredBlocks*block])
}

// Steps are the training steps of a generator with a density, for systems to embed. The loss is
// engine.Balance of
//
//	R = ln q(s) + βE(s),
//
// a constant where q = π. S holds the samples that move, and Next their s′ by the target's
// transition.
type Steps[W uint64 | byte] struct {
	engine.Densities[[]W]
	sites.Density[W]
	batch *Batch[W]
}

// An Architecture is a model that Steps train.
type Architecture[W uint64 | byte] interface {
	sites.Net[W]
	NewBatch(samples, scored int, seed uint64, workers *pool.Pool) (*Batch[W], error)
}

// NewSteps returns the steps of a training of a model. The inverse temperature rises to beta as the
// configuration of the moves says. kernels returns the kernels of the model's law. They
// may use the batch's workspace, whose inverse temperature is fraction·β when a kernel runs.
func NewSteps[W uint64 | byte](m Architecture[W], beta float64, t *engine.Training, loss engine.Balancing, c *spins.TransitionConfig,
	kernels func(in sites.Workspace[W]) spins.Kernels[W], workers *pool.Pool) (s Steps[W], err error) {
	balance := engine.NewBalance(loss, t.Batch, t.Batch, block)
	moved, words := balance.NumMoving(), m.Words()
	batch, err := m.NewBatch(t.Batch, moved, t.Seed, workers)
	if err != nil {
		return s, fmt.Errorf("training.%w", err)
	}
	transition, err := spins.NewTransition(c, t, moved, kernels(batch.Workspace), words, workers)
	if err != nil {
		return s, err
	}
	batch.beta = func(step uint32) float64 { return beta * c.Fraction(c.Level(step, t.Steps)) }
	return Steps[W]{
		engine.Densities[[]W]{Balance: balance, Generator: batch, Transition: transition, S: make([]W, moved*words), Next: make([]W, moved*words)},
		sites.Density[W]{Net: m, Seed: t.Seed, Workers: workers}, batch,
	}, nil
}

// FixedLoss returns the balance loss as a function of θ, with the batch and its s′ held fixed. logq
// computes ln q of the learned sites of a configuration.
func (s *Steps[W]) FixedLoss(logq func(params []float64, config []W) float64) func(params []float64) float64 {
	b, words := s.batch, s.Net.Words()
	configs := make([]W, b.SampleBlocks*block*words)
	b.Complete(configs)
	configs = append(configs, s.Next...)
	var minusLogW []float64 // R − ln q of the learned sites, which does not depend on θ
	for k := range b.Blocks() {
		for i, x := range b.Workspace.R(k) {
			minusLogW = append(minusLogW, x-b.Workspace.LogQ(k)[i])
		}
	}
	return func(params []float64) float64 {
		r := make([]float64, len(minusLogW))
		for i, w := range minusLogW {
			r[i] = w + logq(params, configs[i*words:][:words])
		}
		return s.LossOf(r[:b.SampleBlocks*block], r[b.SampleBlocks*block:])
	}
}
