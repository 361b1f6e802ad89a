package perceptron

import (
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

// A System is engine.System for packed spins, for systems to embed: one batch and
// the buffers of one training step.
type System struct {
	config     *Config
	generator  *generator
	transition *spins.Transition
	objective  Objective
	score      *score // nil where the gradient goes straight through the spins
	batch      *Batch
	workers    *pool.Pool

	packed      *nn.Packed
	activations nn.Activations
	heads       []*headScratch // by block
	scratch     []*nn.Scratch  // by lane
	moments     [][2]float64   // Σh and Σh² of each block, where τ follows their spread

	generated []pool.Span // what a block leaves

	params []float32 // of the step under way
	from   streams
	width  float64 // τ of the straight-through estimator

	pack          func(part int)
	generateBlock func(block, lo, hi int, _ []float32)
	backwardBlock func(lane, lo, hi int, grad []float32)
}

// New builds the system that trains a generator of the target.
func New(c *Config, t Target, workers *pool.Pool) (*System, error) {
	c = conf.Chosen(c)
	rows, sites := c.Training.Batch, t.Spins()
	s := &System{config: c, generator: newGenerator(c.Generator, sites), workers: workers}
	net, words := s.generator.net, s.generator.words
	lanes := nn.NewLanes(rows, net.NumParams(), workers)
	s.packed = net.LentPacked(workers)
	s.activations = net.LentActivations(rows, workers)
	s.batch = &Batch{
		Rows: rows, Spins: sites, Words: words, States: make([]uint64, rows*words), Next: make([]uint64, rows*words),
		Logits: s.activations.Output(), Grad: workers.Float32s(rows * sites), Lanes: lanes, Workers: workers,
	}
	s.scratch = nn.PerLane(lanes, func() *nn.Scratch { return net.LentScratch(nn.BlockRows(), workers) })
	for range lanes.Blocks() {
		s.heads = append(s.heads, s.generator.newHeadScratch(nn.BlockRows(), workers.Float32s))
	}
	if c.Generator.Width.Unit == "spread" {
		s.moments = make([][2]float64, lanes.Blocks())
	}
	s.generated = []pool.Span{nn.RowSpan(lanes, s.batch.States, words), nn.BlockSpan(lanes, s.moments)}
	s.pack = func(part int) { net.PackPart(s.packed, s.params, part) }
	s.generateBlock, s.backwardBlock = s.generateRows, s.backwardRows

	var err error
	if s.objective, err = c.objective(s.batch); err != nil {
		return nil, err
	}
	if c.Loss.Gradient == "score" {
		s.score = newScore(s.batch)
	}
	s.transition, err = spins.NewTransition(&c.Transition, &c.Training, rows, t, words, workers)
	return s, err
}

// Batch returns what the objective sees of the step under way.
func (s *System) Batch() *Batch { return s.batch }

func (s *System) NumParams() int              { return s.generator.net.NumParams() }
func (s *System) TensorName(i int) string     { return s.generator.net.TensorName(i) }
func (s *System) Initialize(params []float32) { s.generator.initialize(params, s.config.Training.Seed) }

// State returns what the objective carries from step to step.
func (s *System) State() []engine.Section { return state.Of(s.objective) }

// Acceptance implements engine.System.
func (s *System) Acceptance() float64 { return s.transition.Acceptance() }

// Objective returns what judges the batch.
func (s *System) Objective() Objective { return s.objective }

// Loss implements engine.System: the form of pairs of samples.
func (s *System) Loss(params []float32, step uint32) (float64, error) {
	s.Generate(params, step)    // s = G_θ(z)
	s.Transition(step)          // s′ ~ p^m(s, ·), from here on a constant
	return s.Discrepancy(), nil // L((s, s′), (s′, s)) and ∂L/∂s
}

// Generate draws s_i = G_θ(z_i) for the whole batch.
func (s *System) Generate(params []float32, step uint32) {
	s.params = params
	s.from = trainStreams(s.config.Training.Seed, step)
	s.workers.Run(s.generator.net.PackParts(), s.pack)
	s.batch.Lanes.Share(s.generateBlock, s.generated...)
	s.width = s.generator.width(int(step), s.config.Training.Steps, s.spread())
}

// spread returns the standard deviation of the logits where τ follows it.
func (s *System) spread() float64 {
	var sum, squares float64
	for _, m := range s.moments {
		sum += m[0]
		squares += m[1]
	}
	n := float64(len(s.batch.Grad))
	return math.Sqrt(max(0, squares/n-(sum/n)*(sum/n)))
}

func (s *System) generateRows(block, lo, hi int, _ []float32) {
	s.generator.forward(s.activations, s.batch.States, s.packed, s.params, lo, hi, &s.from, uint64(lo), s.heads[block])
	if s.moments == nil {
		return
	}
	var sum, squares float64
	for _, h := range s.batch.Logits[lo*s.batch.Spins : hi*s.batch.Spins] {
		sum += float64(h)
		squares += float64(h) * float64(h)
	}
	s.moments[block] = [2]float64{sum, squares}
}

// Transition draws s′_i ~ p^m(s_i, ·).
func (s *System) Transition(step uint32) { s.transition.Run(s.batch.Next, s.batch.States, step) }

// Discrepancy returns the loss and keeps its gradient.
func (s *System) Discrepancy() float64 {
	loss := s.objective.Discrepancy()
	if s.score != nil {
		s.score.look(s.objective)
	}
	return loss
}

// Backward takes the gradient through the spin layer and the perceptron.
func (s *System) Backward(params, grad []float32) {
	s.params = params
	s.batch.Lanes.Backward(grad, s.backwardBlock)
}

func (s *System) backwardRows(lane, lo, hi int, grad []float32) {
	n, net := s.batch.Spins, s.generator.net
	if s.score != nil {
		s.score.gradient(lo, hi)
	} else {
		s.objective.Gradient(lo, hi)
		straightThrough(s.batch.Grad[lo*n:hi*n], s.batch.Logits[lo*n:hi*n], s.width)
	}
	net.Backward(grad, nil, s.batch.Grad[lo*n:hi*n], s.activations, s.packed, lo, hi, s.scratch[lane])
}

var (
	_ engine.Differentiable = (*System)(nil)
	_ engine.Stateful       = (*System)(nil)
	_ engine.TensorNamer    = (*System)(nil)
)
