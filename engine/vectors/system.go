package vectors

import (
	"context"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

// A System is the engine.System of real vectors, with or without modes: a generator that learns a target
// by one of the two forms of reversibility.
type System struct {
	*Ensemble
	form
	config     *Config
	generator  *learner
	transition *transition
}

// A form of reversibility: engine.Pairs or engine.Densities.
type form interface {
	Loss(θ []float32, step uint32) (float64, error)
	Backward(θ, grad []float32)
	Acceptance() float64
	// surrogate is System.Surrogate.
	surrogate(l *LossConfig, generator *learner) func(params []float64) float64
}

// New builds the system that trains a generator of the target. The configuration must be valid.
func New(c Configuration, target Target, workers *pool.Pool) *System {
	return build(c.settings(), target, workers)
}

func build(c *Config, target Target, workers *pool.Pool) *System {
	e := newEnsemble(c, target, workers)
	s := &System{Ensemble: e, config: c, generator: newLearner(c, e.generator, workers)}
	s.transition = newTransition(c, e, s.generator.lanes)
	s.form = losses[c.Loss.Kind].build(c, e, s.generator, s.transition)
	return s
}

// Moves returns s of the last Loss, and s′. The loss must be one of pairs of samples.
func (s *System) Moves() (drawn, next States) { return s.form.(*pairs).Moves() }

// NumParams implements engine.System.
func (s *System) NumParams() int { return s.generator.nets.params }

// TensorName implements engine.TensorNamer.
func (s *System) TensorName(i int) string { return s.generator.nets.tensorName(i) }

// State implements engine.Stateful.
func (s *System) State() []engine.Section { return state.Of(s.form) }

// Converged implements engine.Converging.
func (s *System) Converged() bool {
	f, ok := s.form.(engine.Converging)
	return ok && f.Converged()
}

// Surrogate implements engine.Differentiable. For the MMD it is the loss with s′ fixed, or moved by as
// much as s. With modes or a discriminator it is the loss's first-order change. For densities it is
// the loss with s, s′ and a mixture's place fixed.
func (s *System) Surrogate() func(params []float64) float64 {
	return s.surrogate(&s.config.Loss, s.generator)
}

// Initialize draws the perceptrons' parameters, and places a mixture where
// populations of Metropolis chains find the target's weight.
func (s *System) Initialize(params []float32) {
	_ = s.InitializeContext(context.Background(), params) // the context does not end
}

// InitializeContext implements engine.Initializer.
func (s *System) InitializeContext(ctx context.Context, params []float32) error {
	s.generator.nets.initialize(params, s.config.Training.Seed, s.config.Generator.Gain)
	if g, ok := s.generator.generator.(*mixtureFlow); ok {
		return g.initialize(ctx, params, s.config, s.target, s.Workers)
	}
	return nil
}

var (
	_ engine.Differentiable = (*System)(nil)
	_ engine.Stateful       = (*System)(nil)
	_ engine.Converging     = (*System)(nil)
	_ engine.TensorNamer    = (*System)(nil)
)
