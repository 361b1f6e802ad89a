package mixed

import (
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

// A System is engine.System for states of a real vector and a mode: one batch and
// the buffers of one training step.
type System struct {
	config     *Config
	target     Target
	transition *transition
	generator  *generator
	objective  objective
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
	counts   []moveCounts
	accepted moveCounts

	params []float32 // of the step under way
	from   noise
	moving asm.Counter

	pack                                func(part int)
	generateBlock, moveBlock, headToNet func(block, lo, hi int, grad []float32)
}

// New builds the system that trains a generator of the target.
func New(c *Config, target Target, workers *pool.Pool) (*System, error) {
	c = conf.Chosen(c)
	s := &System{
		config: c, target: target, workers: workers,
		transition: newTransition(target, c.Transition),
		generator:  newGenerator(c.Generator, target.Dim(), target.Modes()),
	}
	n, d, net := c.Training.Batch, target.Dim(), s.generator.net
	s.lanes = nn.NewLanes(n, net.NumParams(), workers)
	var err error
	if s.objective, err = c.Loss.objective(s.generator, n, s.lanes.Count(), c.Training.Seed, workers); err != nil {
		return nil, fmt.Errorf("loss.%w", err)
	}
	s.packed = net.NewPacked(true)
	s.batch = s.generator.newBatch(n)
	s.x, s.k = make([]float32, n*d), make([]uint8, n)
	for range s.lanes.Count() {
		s.scratch = append(s.scratch, net.NewScratch(nn.BlockRows()))
		s.dout = append(s.dout, make([]float32, nn.BlockRows()*net.Out()))
	}
	for range s.lanes.Blocks() {
		s.uniforms = append(s.uniforms, make([]float32, 4*nn.BlockRows()))
		s.moves = append(s.moves, s.transition.newScratch())
	}
	s.counts = make([]moveCounts, s.lanes.Blocks())

	s.pack = func(part int) { net.PackPart(s.packed, s.params, part) }
	s.generateBlock = func(block, lo, hi int, _ []float32) {
		s.generator.forward(s.batch, s.packed, s.params, lo, hi, &s.from, uint64(lo), s.uniforms[block])
	}
	s.moveBlock = func(block, lo, hi int, _ []float32) {
		copy(s.x[lo*d:hi*d], s.batch.x[lo*d:])
		copy(s.k[lo:hi], s.batch.k[lo:hi])
		s.counts[block] = moveCounts{}
		s.transition.run(s.x[lo*d:hi*d], s.k[lo:hi], c.Transition.Steps, &s.moving, uint64(lo), s.moves[block], &s.counts[block])
	}
	s.headToNet = func(lane, lo, hi int, grad []float32) {
		dout := s.dout[lane][:(hi-lo)*net.Out()]
		s.objective.outputGradient(dout, s.batch, lane, lo, hi)
		net.Backward(grad, nil, dout, s.batch.activations, s.packed, lo, hi, s.scratch[lane])
	}
	return s, nil
}

// State returns what the objective carries from step to step.
func (s *System) State() []engine.Section { return state.Of(s.objective) }

func (s *System) NumParams() int              { return s.generator.net.NumParams() }
func (s *System) TensorName(i int) string     { return s.generator.net.TensorName(i) }
func (s *System) Initialize(params []float32) { s.generator.initialize(params, s.config.Training.Seed) }
func (s *System) Acceptance() float64         { return s.accepted.total().Rate() }

// AcceptanceByMove returns the fraction that the last Transition accepted of
// the proposals of each move: walk, flip and teleport.
func (s *System) AcceptanceByMove() map[string]float64 {
	rates := make(map[string]float64, moves)
	for m := range moves {
		rates[m.String()] = s.accepted[m].Rate()
	}
	return rates
}

// Generate draws s_i = G_θ(z_i) for the whole batch.
func (s *System) Generate(params []float32, step uint32) {
	seed := s.config.Training.Seed
	s.params = params
	s.from = noise{rng.Stream(seed, rng.TrainLatent, step), rng.Stream(seed, rng.TrainHead, step)}
	s.workers.Run(s.generator.net.PackParts(), s.pack)
	s.lanes.Forward(s.generateBlock)
}

// Transition draws s′_i ~ p^m(s_i, ·).
func (s *System) Transition(step uint32) {
	s.moving = rng.Stream(s.config.Training.Seed, rng.TrainTransition, step)
	s.lanes.Forward(s.moveBlock)
	s.accepted = moveCounts{}
	for i := range s.counts {
		s.accepted.add(&s.counts[i])
	}
}

// Discrepancy returns the loss and keeps what its gradient needs.
func (s *System) Discrepancy(uint32) float64 { return s.objective.measure(s.batch, s.x, s.k) }

// Backward takes the gradients through the heads and the perceptron.
func (s *System) Backward(params, grad []float32) {
	s.params = params
	s.lanes.Backward(grad, s.headToNet)
}

var (
	_ engine.Differentiable = (*System)(nil)
	_ engine.Stateful       = (*System)(nil)
	_ engine.TensorNamer    = (*System)(nil)
)
