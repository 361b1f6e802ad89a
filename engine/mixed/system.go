package mixed

import (
	"context"
	"fmt"

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
	generator  *generator
	objective  *objective
	lanes      *nn.Lanes
	workers    *pool.Pool

	packed   *nn.Packed
	batch    *batch    // s
	x        []float32 // s′, [n][d]
	k        []uint8
	uniforms [][]float32
	moves    []*moveScratch
	dout     [][]float32
	scratch  []*nn.Scratch
	counts   []moveCounts // of each block
	count    moveCounts   // of all

	stepped []pool.Span // what a block leaves that others' rows need

	placed *placed // of a mixture, nil for perceptrons

	params []float32 // of the step under way
	from   noise
	beta   float64 // inverse temperature
	moving asm.Counter

	pack                     func(part int)
	generateBlock, moveBlock func(block, lo, hi int, _ []float32)
	backwardBlock            func(lane, lo, hi int, grad []float32)
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
	n, d, net := c.Training.Batch, target.Dim(), s.generator.net
	s.lanes = nn.NewLanes(n, s.generator.numParams(), workers)
	s.batch = s.generator.newBatch(n)
	for range s.lanes.Blocks() {
		s.uniforms = append(s.uniforms, make([]float32, 4*nn.BlockRows()))
		s.moves = append(s.moves, s.transition.newScratch())
	}
	if s.generator.base != nil {
		s.placed = newPlaced(s)
		s.stepped = []pool.Span{nn.RowSpan(s.lanes, s.placed.divergence.R, 1)}
		s.generateBlock = func(block, lo, hi int, _ []float32) {
			s.generator.drawMixture(s.batch, s.placed.packed, lo, hi, &s.from, uint64(lo), s.uniforms[block], s.placed.normals[block], s.placed.work[block])
			s.placed.weigh(s, block, lo, hi)
		}
		s.backwardBlock = func(_, lo, hi int, grad []float32) {
			s.placed.packed.Score(grad, s.placed.divergence.Weight[lo:hi], s.placed.work[lo/nn.BlockRows()])
		}
		return s, nil
	}
	var err error
	if s.objective, err = c.Loss.objective(s.generator, n, workers); err != nil {
		return nil, fmt.Errorf("loss.%w", err)
	}
	s.packed = net.NewPacked(true)
	s.x, s.k = make([]float32, n*d), make([]uint8, n)
	s.scratch = nn.PerLane(s.lanes, func() *nn.Scratch { return net.NewScratch(nn.BlockRows()) })
	s.dout = nn.PerLane(s.lanes, func() []float32 { return make([]float32, nn.BlockRows()*net.Out()) })
	s.counts = make([]moveCounts, s.lanes.Blocks())
	s.stepped = []pool.Span{
		nn.RowSpan(s.lanes, s.batch.x, d), nn.RowSpan(s.lanes, s.batch.k, 1),
		nn.RowSpan(s.lanes, s.x, d), nn.RowSpan(s.lanes, s.k, 1), nn.BlockSpan(s.lanes, s.counts),
	}

	s.pack = func(part int) { net.PackPart(s.packed, s.params, part) }
	s.generateBlock = func(block, lo, hi int, _ []float32) {
		s.generator.forward(s.batch, s.packed, s.params, lo, hi, &s.from, uint64(lo), s.uniforms[block])
	}
	s.moveBlock = func(block, lo, hi int, _ []float32) {
		copy(s.x[lo*d:hi*d], s.batch.x[lo*d:])
		copy(s.k[lo:hi], s.batch.k[lo:hi])
		s.counts[block] = moveCounts{}
		s.moves[block].beta = s.beta
		s.transition.run(s.x[lo*d:hi*d], s.k[lo:hi], c.Transition.Steps, &s.moving, uint64(lo), s.moves[block], &s.counts[block])
	}
	s.backwardBlock = func(lane, lo, hi int, grad []float32) {
		dout := s.dout[lane][:(hi-lo)*net.Out()]
		s.objective.outputGradient(dout, s.batch, lo, hi)
		net.Backward(grad, nil, dout, s.batch.activations, s.packed, lo, hi, s.scratch[lane])
	}
	return s, nil
}

// NumParams implements engine.System.
func (s *System) NumParams() int { return s.generator.numParams() }

// TensorName implements engine.TensorNamer.
func (s *System) TensorName(i int) string {
	if s.generator.base != nil {
		return s.generator.base.TensorName(i)
	}
	return s.generator.net.TensorName(i)
}

// Initialize draws a perceptron's parameters, or places a mixture where
// populations of Metropolis chains find the modes' weight.
func (s *System) Initialize(params []float32) {
	_ = s.InitializeContext(context.Background(), params) // which does not end
}

// InitializeContext implements engine.Initializer.
func (s *System) InitializeContext(ctx context.Context, params []float32) error {
	if s.placed != nil {
		return s.place(ctx, params)
	}
	s.generator.initialize(params, s.config.Training.Seed)
	return nil
}

// Acceptance returns the fraction of the proposals that the last Transition
// accepted; of the divergence, which has none, the fraction of the batch's samples
// that independence Metropolis would accept.
func (s *System) Acceptance() float64 {
	if s.placed != nil {
		return s.placed.divergence.Rate
	}
	return s.count.total().Rate()
}

// Generate draws s_i = G_θ(z_i) for the whole batch.
func (s *System) Generate(params []float32, step uint32) {
	seed := s.config.Training.Seed
	s.params = params
	s.from = noise{rng.Stream(seed, rng.TrainLatent, step), rng.Stream(seed, rng.TrainHead, step)}
	s.beta = s.config.Transition.At(int(step), s.config.Training.Steps)
	if s.placed != nil {
		s.placed.beta = s.beta
		s.placed.packed.Set(params)
	} else {
		s.workers.Run(s.generator.net.PackParts(), s.pack)
	}
	s.lanes.Own(s.generateBlock)
}

// Transition draws s′_i ~ p^m(s_i, ·), which the divergence does not need, and gives
// ranks each other's rows.
func (s *System) Transition(step uint32) {
	if s.placed != nil {
		s.lanes.Gather(s.stepped...)
		return
	}
	s.moving = rng.Stream(s.config.Training.Seed, rng.TrainTransition, step)
	s.lanes.Share(s.moveBlock, s.stepped...)
	s.count = moveCounts{}
	for i := range s.counts {
		s.count.add(&s.counts[i])
	}
}

// Discrepancy returns the loss and keeps what its gradient needs.
func (s *System) Discrepancy(step uint32) float64 {
	if s.placed != nil {
		return s.placed.divergence.Measure(step)
	}
	return s.objective.measure(s.batch, s.x, s.k)
}

// Backward takes the gradients through the heads and the perceptron.
func (s *System) Backward(params, grad []float32) {
	s.params = params
	s.lanes.Backward(grad, s.backwardBlock)
	if s.placed != nil {
		s.placed.packed.Finish(grad, s.placed.divergence.Total)
	}
}

var (
	_ engine.Differentiable = (*System)(nil)
	_ engine.TensorNamer    = (*System)(nil)
)
