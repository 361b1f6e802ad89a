package mixed

import (
	"context"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// A System is engine.System for states of a real vector and a mode: one batch and
// the buffers of one training step.
type System struct {
	*vectors.Ensemble
	config     *Config
	target     Target
	transition *transition
	generator  generator
	learner    learner
	lanes      *nn.Lanes
	workers    *pool.Pool

	s, next  vectors.States // the batch, and s′
	uniforms [][]float32    // of blocks
	moves    []*moveScratch // likewise
	counts   []moveCounts   // likewise
	count    moveCounts     // of all

	from   noise
	beta   float64 // inverse temperature of the step
	moving asm.Counter
}

// A learner takes the steps of a generator, by the loss that it is trained by: pairs,
// the paper's, or the balance of a density.
type learner interface {
	// generate draws the batch s.
	generate(params []float32)
	// transition moves it to s′, as far as the loss needs that, and gives ranks each
	// other's rows.
	transition()
	// measure returns the loss and keeps what its gradient needs.
	measure() float64
	// backward sets grad to the loss's gradient with respect to params.
	backward(params, grad []float32)
	// carried lists what the loss carries from step to step.
	carried() []engine.Section
	// acceptance returns that of all proposals, given that of the moves.
	acceptance(moves float64) float64
	// surrogate is Surrogate.
	surrogate() func(params []float64) float64
}

// New builds the system that trains a generator of the target.
func New(c *Config, target Target, workers *pool.Pool) (*System, error) {
	c = conf.Chosen(c)
	s := &System{
		config: c, target: target, workers: workers,
		transition: newTransition(target, c.Transition),
		generator:  newGenerator(c.Generator, target.Dim(), target.Modes()),
	}
	s.Ensemble = s.ensemble()
	s.lanes = nn.NewLanes(c.Training.Batch, s.generator.NumParams(), workers)
	s.counts = make([]moveCounts, s.lanes.Blocks())
	for range s.lanes.Blocks() {
		s.uniforms = append(s.uniforms, make([]float32, 4*nn.BlockRows()))
		s.moves = append(s.moves, s.transition.newScratch())
	}
	var err error
	s.learner, err = s.generator.learner(s)
	return s, err
}

// NumParams implements engine.System.
func (s *System) NumParams() int { return s.generator.NumParams() }

// TensorName implements engine.TensorNamer.
func (s *System) TensorName(i int) string { return s.generator.TensorName(i) }

// Initialize draws a perceptron's parameters, or places a mixture where
// populations of Metropolis chains find the modes' weight.
func (s *System) Initialize(params []float32) {
	_ = s.InitializeContext(context.Background(), params) // which does not end
}

// InitializeContext implements engine.Initializer.
func (s *System) InitializeContext(ctx context.Context, params []float32) error {
	return s.generator.initialize(ctx, s, params)
}

// State implements engine.Stateful.
func (s *System) State() []engine.Section { return s.learner.carried() }

// Acceptance returns the fraction of the proposals that the last Transition accepted,
// those of independent samples included.
func (s *System) Acceptance() float64 { return s.learner.acceptance(s.count.total().Rate()) }

// Generate draws s_i = G_θ(z_i) for the whole batch.
func (s *System) Generate(params []float32, step uint32) {
	seed := s.config.Training.Seed
	s.from = noise{rng.Stream(seed, rng.TrainLatent, step), rng.Stream(seed, rng.TrainHead, step)}
	s.beta = s.config.Transition.At(int(step), s.config.Training.Steps)
	s.learner.generate(params)
}

// Transition draws s′_i ~ p^m(s_i, ·).
func (s *System) Transition(step uint32) {
	s.moving = rng.Stream(s.config.Training.Seed, rng.TrainTransition, step)
	for _, m := range s.moves {
		m.beta = s.beta
	}
	s.learner.transition()
	s.count = moveCounts{}
	for i := range s.counts {
		s.count.add(&s.counts[i])
	}
}

// move takes samples lo … hi−1, of the block whose moves have begun, to s′.
func (s *System) move(block, lo, hi int) {
	from, to := s.s.Part(lo, hi), s.next.Part(lo, hi)
	copy(to.X, from.X)
	copy(to.K, from.K)
	s.counts[block] = moveCounts{}
	s.transition.advance(to.X, to.K, s.config.Transition.Steps, &s.moving, uint64(lo), s.moves[block], &s.counts[block])
}

// Discrepancy returns the loss and keeps what its gradient needs.
func (s *System) Discrepancy(uint32) float64 { return s.learner.measure() }

// Backward implements engine.System.
func (s *System) Backward(params, grad []float32) { s.learner.backward(params, grad) }

var (
	_ engine.Differentiable = (*System)(nil)
	_ engine.Stateful       = (*System)(nil)
	_ engine.TensorNamer    = (*System)(nil)
)
