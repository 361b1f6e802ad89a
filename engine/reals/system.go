package reals

import (
	"context"
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/mmd"
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
	loss       lossGradient
	boundary   *boundary
	lanes      *nn.Lanes
	workers    *pool.Pool

	weights       *weights
	noise, states []float32 // z, [batch][latent]; s, [batch][dim]
	moved         []float32 // s′, [batch][dim]
	grad          []float32 // ∂L/∂s, [batch][dim]
	blocks        []block
	stepped       []pool.Span        // what a block leaves that others' rows need
	counts        []engine.Count     // of each block
	penalties     []float64          // of each block
	penalised     pool.Span          // of these
	scratch       []*scratch         // of each lane
	count         engine.Count       // of all
	divergence    *engine.Divergence // nil for losses of moves

	latent, moving asm.Counter // streams of the step under way
	beta           float64     // its inverse temperature

	pack                                    func(net int)
	generateBlock, moveBlock, penaliseBlock func(block, lo, hi int, _ []float32)
	backwardBlock                           func(lane, lo, hi int, grad []float32)
}

// A block is what one block of rows needs on its own.
type block struct {
	pass  pass
	moves *moveScratch
}

// A lossGradient returns the loss of a batch of moves s → t, row-major, and sets
// grad to its gradient in s with t fixed, at least in a rank's own rows.
type lossGradient interface {
	LossGradient(s, t, grad []float32) float64
}

// New builds the system that trains a generator of the target.
func New(c *Config, target Target, workers *pool.Pool) (*System, error) {
	c = conf.Chosen(c)
	n, d := c.Training.Batch, target.Dim()
	s := &System{
		config: c, target: target, workers: workers,
		transition: newTransition(target, c.Transition),
		generator:  newGenerator(c.Generator, d),
		boundary:   newBoundary(c.Loss.Boundary, d),
		states:     make([]float32, n*d),
		moved:      make([]float32, n*d),
		grad:       make([]float32, n*d),
	}
	s.nets = s.generator.networks()
	s.Ensemble = s.ensemble()
	s.noise = make([]float32, n*s.nets.latent)
	s.weights = s.nets.newWeights(true)
	s.lanes = s.nets.newLanes(n, workers)
	rows := s.lanes.BlockRows()
	var err error
	if s.loss, err = c.Loss.estimator(n, d, c.Training.Seed, workers); err != nil {
		return nil, fmt.Errorf("loss.%w", err)
	}
	if loss, ok := s.loss.(*kfd.Witness); ok {
		s.Fitted = &vectors.Witness{System: s, Steps: c.Training.Steps, Loss: loss, Batch: s.states}
	}
	if c.Loss.Kind == "divergence" {
		s.divergence = engine.NewDivergence(&c.Training, c.Loss.Forward)
	}
	s.blocks = make([]block, s.lanes.Blocks())
	s.counts, s.penalties = make([]engine.Count, len(s.blocks)), make([]float64, len(s.blocks))
	s.penalised = nn.BlockSpan(s.lanes, s.penalties)
	if s.divergence != nil {
		s.stepped = []pool.Span{nn.RowSpan(s.lanes, s.divergence.R, 1)}
	} else {
		s.stepped = []pool.Span{nn.RowSpan(s.lanes, s.states, d), nn.RowSpan(s.lanes, s.moved, d), nn.BlockSpan(s.lanes, s.counts)}
	}
	for b := range s.blocks {
		s.blocks[b].pass = s.generator.newPass(rows, true)
		s.blocks[b].moves = s.transition.newScratch(rows)
	}
	s.scratch = nn.PerLane(s.lanes, func() *scratch { return s.nets.newScratch(rows) })

	s.pack = func(net int) { s.nets.pack(s.weights, net) }
	s.generateBlock = func(b, lo, hi int, _ []float32) {
		latent := s.nets.latent
		z := s.noise[lo*latent : hi*latent]
		rng.Normals(z, latent, &s.latent, uint64(lo))
		s.blocks[b].pass.forward(s.states[lo*d:hi*d], z, s.weights)
		if s.divergence != nil {
			s.weigh(b, lo, hi)
		}
	}
	s.moveBlock = func(b, lo, hi int, _ []float32) {
		copy(s.moved[lo*d:hi*d], s.states[lo*d:])
		s.blocks[b].moves.beta = s.beta
		s.counts[b] = s.transition.run(s.moved[lo*d:hi*d], c.Transition.Steps, &s.moving, uint64(lo), s.blocks[b].moves)
	}
	s.penaliseBlock = func(b, lo, hi int, _ []float32) {
		s.penalties[b] = s.boundary.add(s.grad[lo*d:hi*d], s.states[lo*d:hi*d], s.blocks[b].moves.ratio, n)
	}
	s.backwardBlock = func(lane, lo, hi int, grad []float32) {
		if s.divergence != nil {
			s.blocks[lo/rows].pass.(densePass).score(grad, s.divergence.Weight[lo:hi], s.weights, s.scratch[lane])
			return
		}
		s.blocks[lo/rows].pass.backward(grad, s.grad[lo*d:hi*d], s.weights, s.scratch[lane])
	}
	return s, nil
}

// estimator builds the discrepancy for batches of n states.
func (l *LossConfig) estimator(n, dim int, seed uint64, workers *pool.Pool) (loss lossGradient, err error) {
	switch l.Kind {
	case "stationarity":
		loss, err = mmd.NewStationarity(n, dim, l.Kernel, l.Statistic, l.DensityWeight, workers)
	case "divergence":
		return nil, nil
	case "kfd":
		return kfd.New(n, dim, l.Witness, seed, workers)
	default:
		loss, err = mmd.NewGram(n, dim, l.Kernel, l.Statistic, workers)
	}
	if err == nil && l.Gradient == "full" {
		loss = &fullGradient{loss, make([]float32, n*dim)}
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

func (s *System) NumParams() int          { return s.nets.params }
func (s *System) TensorName(i int) string { return s.nets.tensorName(i) }

// Acceptance returns the fraction of the proposals that the last Transition
// accepted; of the divergence, which has none, the fraction of the batch's samples
// that independence Metropolis would accept.
func (s *System) Acceptance() float64 {
	if s.divergence != nil {
		return s.divergence.Rate
	}
	return s.count.Rate()
}

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
	s.beta = s.config.Transition.At(int(step), s.config.Training.Steps)
	s.workers.Run(s.nets.parts(), s.pack)
	s.lanes.Own(s.generateBlock)
}

// weigh sets R of a block that was just generated, at the step's temperature.
func (s *System) weigh(b, lo, hi int) {
	d, block := s.nets.dim, &s.blocks[b]
	r, logPi := s.divergence.R[lo:hi], block.moves.current[:hi-lo]
	block.pass.(densePass).logDensity(r)
	block.moves.target.LogDensity(logPi, s.states[lo*d:hi*d])
	for i, v := range logPi {
		r[i] -= s.beta * float64(v)
	}
}

// Transition draws s′_i ~ p^m(s_i, ·), which the divergence does not need, and gives
// ranks each other's rows.
func (s *System) Transition(step uint32) {
	if s.divergence != nil {
		s.lanes.Gather(s.stepped...)
		return
	}
	s.moving = rng.Stream(s.config.Training.Seed, rng.TrainTransition, step)
	s.lanes.Share(s.moveBlock, s.stepped...)
	s.count = engine.Count{}
	for _, c := range s.counts {
		s.count.Add(c)
	}
}

// Discrepancy returns the loss with the boundary penalty and keeps ∂L/∂s.
func (s *System) Discrepancy(step uint32) float64 {
	if s.divergence != nil {
		return s.divergence.Measure(step)
	}
	loss := s.loss.LossGradient(s.states, s.moved, s.grad)
	if s.config.Loss.Boundary.Weight > 0 {
		s.lanes.Share(s.penaliseBlock, s.penalised)
		for _, p := range s.penalties {
			loss += p
		}
	}
	return loss
}

// Backward takes ∂L/∂s through the generator.
func (s *System) Backward(params, grad []float32) {
	s.weights.params = params
	s.lanes.Backward(grad, s.backwardBlock)
	if s.divergence != nil {
		s.nets.finish(grad, s.divergence.Total, s.weights)
	}
}

var (
	_ engine.Differentiable = (*System)(nil)
	_ engine.TensorNamer    = (*System)(nil)
)
