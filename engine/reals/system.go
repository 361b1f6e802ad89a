package reals

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

// A System is engine.System for real vectors: one batch and the buffers of one
// training step.
type System struct {
	*vectors.Ensemble
	config     *Config
	target     Target
	transition *transition
	generator  generator
	nets       *networks
	objective  objective
	lanes      *nn.Lanes
	workers    *pool.Pool

	weights       *weights
	noise, states []float32 // z, [batch][latent]; s, [batch][dim]
	moved         []float32 // s′, [batch][dim]
	blocks        []block
	counts        []engine.Count // of each block
	count         engine.Count   // of all
	scratch       []*scratch     // of each lane

	latent, moving asm.Counter // streams of the step under way
	beta           float64     // its inverse temperature

	pack                     func(net int)
	generateBlock, moveBlock func(block, lo, hi int, _ []float32)
	backwardBlock            func(lane, lo, hi int, grad []float32)
}

// A block is what one block of rows needs on its own.
type block struct {
	pass  pass
	moves *moveScratch
}

// An objective is one of the two forms of detailed balance: pairs of samples, of any
// generator, or log densities, of generators that know theirs.
type objective interface {
	// move sets s′ of rows lo … hi−1 of s, a block that was just drawn, and what the loss
	// needs of both.
	move(block, lo, hi int)
	// left lists what a block leaves that others' rows need.
	left() []pool.Span
	// measure returns the loss of the batch and keeps what its gradient needs.
	measure() float64
	// backward adds to grad ∂L/∂θ of rows lo … hi−1, of one block.
	backward(lane, block, lo, hi int, grad []float32)
	// finish completes the sum over all rows.
	finish(grad []float32)
	// carried lists what the objective carries from step to step.
	carried() []engine.Section
	// acceptance returns the fraction of the pairs' proposals that were accepted.
	acceptance() float64
	// surrogate is what System.Surrogate says.
	surrogate() func(params []float64) float64
}

// New builds the system that trains a generator of the target.
func New(c *Config, target Target, workers *pool.Pool) (*System, error) {
	c = conf.Chosen(c)
	n, d := c.Training.Batch, target.Dim()
	s := &System{
		config: c, target: target, workers: workers,
		transition: newTransition(target, c.Transition),
		generator:  newGenerator(c.Generator, d),
		states:     make([]float32, n*d),
		moved:      make([]float32, n*d),
	}
	s.nets = s.generator.networks()
	s.Ensemble = s.ensemble()
	s.noise = make([]float32, n*s.nets.latent)
	s.weights = s.nets.newWeights(true)
	s.lanes = s.nets.newLanes(n, workers)
	rows := s.lanes.BlockRows()
	s.blocks = make([]block, s.lanes.Blocks())
	s.counts = make([]engine.Count, len(s.blocks))
	for b := range s.blocks {
		s.blocks[b].pass = s.generator.newPass(rows, true)
		s.blocks[b].moves = s.transition.newScratch(rows)
	}
	s.scratch = nn.PerLane(s.lanes, func() *scratch { return s.nets.newScratch(rows) })

	var err error
	if c.Loss.Kind == "balance" {
		s.objective = newBalance(s)
	} else if s.objective, err = newPairs(s); err != nil {
		return nil, err
	}
	s.pack = func(net int) { s.nets.pack(s.weights, net) }
	s.generateBlock = func(b, lo, hi int, _ []float32) {
		latent := s.nets.latent
		z := s.noise[lo*latent : hi*latent]
		rng.Normals(z, latent, &s.latent, uint64(lo))
		s.blocks[b].pass.forward(s.states[lo*d:hi*d], z, s.weights)
	}
	s.moveBlock = func(b, lo, hi int, _ []float32) {
		s.blocks[b].moves.beta = s.beta
		s.objective.move(b, lo, hi)
	}
	s.backwardBlock = func(lane, lo, hi int, grad []float32) { s.objective.backward(lane, lo/rows, lo, hi, grad) }
	return s, nil
}

func (s *System) NumParams() int          { return s.nets.params }
func (s *System) TensorName(i int) string { return s.nets.tensorName(i) }

// State returns what the objective carries from step to step.
func (s *System) State() []engine.Section { return s.objective.carried() }

// Acceptance implements engine.System.
func (s *System) Acceptance() float64 { return s.objective.acceptance() }

// Surrogate implements engine.Differentiable: the loss of the states, with s′ fixed or
// moved by as much, and of densities with both fixed and where a mixture has been placed.
func (s *System) Surrogate() func(params []float64) float64 { return s.objective.surrogate() }

// Initialize draws the perceptrons' parameters, and places a mixture where a
// population of Metropolis chains finds the target's weight.
func (s *System) Initialize(params []float32) {
	_ = s.InitializeContext(context.Background(), params) // which does not end
}

// InitializeContext implements engine.Initializer.
func (s *System) InitializeContext(ctx context.Context, params []float32) error {
	seed := s.config.Training.Seed
	s.nets.initialize(params, seed, s.config.Generator.Gain)
	if g, ok := s.generator.(*mixtureFlow); ok {
		found, err := s.config.Generator.scout(ctx, s.target, seed, s.workers)
		if err != nil {
			return err
		}
		g.initialize(ctx, params, found, seed)
		return ctx.Err()
	}
	return nil
}

// Generate draws s_i = G_θ(z_i) for the whole batch.
func (s *System) Generate(params []float32, step uint32) {
	s.weights.params = params
	s.latent = rng.Stream(s.config.Training.Seed, rng.TrainLatent, step)
	s.workers.Run(s.nets.parts(), s.pack)
	s.lanes.Own(s.generateBlock)
}

// Transition draws s′_i ~ p^m(s_i, ·), and gives ranks each other's rows.
func (s *System) Transition(step uint32) {
	s.moving = rng.Stream(s.config.Training.Seed, rng.TrainTransition, step)
	s.beta = s.config.Transition.At(int(step), s.config.Training.Steps)
	s.lanes.Share(s.moveBlock, s.objective.left()...)
	s.count = engine.Count{}
	for _, c := range s.counts {
		s.count.Add(c)
	}
}

// Discrepancy returns the loss and keeps what its gradient needs.
func (s *System) Discrepancy(uint32) float64 { return s.objective.measure() }

// Backward sets grad to ∂L/∂θ.
func (s *System) Backward(params, grad []float32) {
	s.weights.params = params
	s.lanes.Backward(grad, s.backwardBlock)
	s.objective.finish(grad)
}

var (
	_ engine.Differentiable = (*System)(nil)
	_ engine.Stateful       = (*System)(nil)
	_ engine.TensorNamer    = (*System)(nil)
)
