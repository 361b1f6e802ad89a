package ising

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/pool"
	"github.com/revgen/revgen/engine/rng"
)

// system is engine.System for the Ising model: one batch and the buffers of
// one training step.
type system struct {
	config     *Config
	model      bitspin.Model
	metropolis *bitspin.Metropolis
	generator  *generator
	loss       *mmd.Hamming
	lanes      *nn.Lanes
	workers    *pool.Pool

	packed      *nn.Packed
	activations nn.Activations
	spins, next []uint64  // s and s′, packed
	grad        []float32 // ∂L/∂s, then ∂L/∂h, [N][spins]
	uniforms    [][]float32
	scratch     []*nn.Scratch
	moments     [][2]float64 // Σh and Σh² of each block
	stats       []bitspin.Stats
	accepted    bitspin.Stats

	params               []float32 // of the step under way
	latent, head, moving asm.Counter
	spread               float64 // standard deviation of the batch's logits
	width                float64 // τ of the straight-through estimator

	pack                                func(layer int)
	generateBlock, moveBlock, headToNet func(block, lo, hi int, grad []float32)
}

func newSystem(c *Config, workers *pool.Pool) (*system, error) {
	model, err := c.model()
	if err != nil {
		return nil, err
	}
	proposal, err := c.proposal()
	if err != nil {
		return nil, err
	}
	s := &system{config: c, model: model, workers: workers, generator: newGenerator(c.Generator, model.N)}
	if s.metropolis, err = bitspin.NewMetropolis(model, c.Target.Beta, proposal); err != nil {
		return nil, err
	}
	n, net := c.Training.Batch, s.generator.net
	mode := mmd.Surrogate
	if c.Loss.Gradient == "difference" {
		mode = mmd.Difference
	}
	if s.loss, err = mmd.NewHamming(n, model.N, c.Loss.Kernel, mode, c.Loss.Statistic, workers); err != nil {
		return nil, fmt.Errorf("loss.%w", err)
	}
	s.lanes = nn.NewLanes(n, net.NumParams(), workers)
	s.packed = net.NewPacked(true)
	s.activations = net.NewActivations(n)
	s.spins, s.next = make([]uint64, n*s.generator.words), make([]uint64, n*s.generator.words)
	s.grad = make([]float32, n*model.N)
	for range s.lanes.Count() {
		s.scratch = append(s.scratch, net.NewScratch(nn.BlockRows()))
	}
	for range s.lanes.Blocks() {
		s.uniforms = append(s.uniforms, make([]float32, nn.BlockRows()*4*rng.Blocks(model.N)))
	}
	s.moments = make([][2]float64, s.lanes.Blocks())
	s.stats = make([]bitspin.Stats, s.lanes.Blocks())

	s.pack = func(layer int) { net.PackLayer(s.packed, s.params, layer) }
	s.generateBlock = s.generateRows
	s.moveBlock = func(block, lo, hi int, _ []float32) {
		s.stats[block] = bitspin.Stats{}
		s.metropolis.Run(s.next, s.spins, lo, hi, c.Transition.Steps, &s.moving, 0, &s.stats[block])
	}
	s.headToNet = s.backwardRows
	return s, nil
}

func (s *system) NumParams() int              { return s.generator.net.NumParams() }
func (s *system) TensorName(i int) string     { return s.generator.net.TensorName(i) }
func (s *system) Initialize(params []float32) { s.generator.initialize(params, s.config.Training.Seed) }
func (s *system) Acceptance() float64         { return s.accepted.Total().Rate() }

// Generate draws s_i = G_θ(z_i) for the whole batch.
func (s *system) Generate(params []float32, step uint32) {
	seed := s.config.Training.Seed
	s.params = params
	s.latent = rng.Stream(seed, rng.TrainLatent, step)
	s.head = rng.Stream(seed, rng.TrainHead, step)
	s.workers.Run(s.generator.net.Layers(), s.pack)
	s.lanes.Forward(s.generateBlock)

	var sum, squares float64
	for _, m := range s.moments {
		sum += m[0]
		squares += m[1]
	}
	n := float64(len(s.grad))
	s.spread = math.Sqrt(max(0, squares/n-(sum/n)*(sum/n)))
	s.width = s.generator.width(int(step), s.config.Training.Steps, s.spread)
}

func (s *system) generateRows(block, lo, hi int, _ []float32) {
	s.generator.forward(s.activations, s.spins, s.packed, s.params, lo, hi, &s.latent, &s.head, uint64(lo), s.uniforms[block])
	var sum, squares float64
	for _, h := range s.activations.Output()[lo*s.model.N : hi*s.model.N] {
		sum += float64(h)
		squares += float64(h) * float64(h)
	}
	s.moments[block] = [2]float64{sum, squares}
}

// Transition draws s′_i ~ p^m(s_i, ·) by packed Metropolis steps.
func (s *system) Transition(step uint32) {
	s.moving = rng.Stream(s.config.Training.Seed, rng.TrainTransition, step)
	s.lanes.Forward(s.moveBlock)
	s.accepted = bitspin.Stats{}
	for i := range s.stats {
		s.accepted.Add(s.stats[i])
	}
}

// Discrepancy returns the reversibility loss and keeps ∂L/∂s.
func (s *system) Discrepancy(uint32) float64 {
	return s.loss.LossGradient(s.spins, s.next, s.grad)
}

// Backward takes ∂L/∂s through the spin layer and the perceptron.
func (s *system) Backward(params, grad []float32) {
	s.params = params
	s.lanes.Backward(grad, s.headToNet)
}

func (s *system) backwardRows(lane, lo, hi int, grad []float32) {
	n := s.model.N
	dh := s.grad[lo*n : hi*n]
	if s.config.Loss.Gradient == "difference" {
		halveDifferences(dh, s.spins[lo*s.generator.words:], n, s.generator.words)
	}
	straightThrough(dh, s.activations.Output()[lo*n:hi*n], s.width)
	s.generator.net.Backward(grad, nil, dh, s.activations, s.packed, lo, hi, s.scratch[lane])
}

// halveDifferences turns L(spin flipped) − L into half the difference between
// the losses of spin +1 and of spin −1, the discrete ∂L/∂s.
func halveDifferences(grad []float32, spins []uint64, n, words int) {
	for r := 0; r*n < len(grad); r++ {
		for i, g := range grad[r*n:][:n] {
			up := spins[r*words+i>>6] >> (i & 63) & 1
			grad[r*n+i] = g * (0.5 - float32(up))
		}
	}
}

var (
	_ engine.System      = (*system)(nil)
	_ engine.TensorNamer = (*system)(nil)
)
