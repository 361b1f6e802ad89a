package ising

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// system is engine.System for the Ising model: one batch and the buffers of
// one training step.
type system struct {
	*measured
	annealed  []transition // by level of annealing, the target's last
	generator *generator
	objective objective
	lanes     *nn.Lanes

	packed      *nn.Packed
	activations nn.Activations
	spins       []uint64  // s, packed
	moves       []element // of the symmetry, that made s of the spin layer's output
	grad        []float32 // ∂L/∂h, [batch][spins]
	heads       []*headScratch
	scratch     []*nn.Scratch
	values      []float32    // of the samples, for learned weights of signs
	moments     [][2]float64 // Σh and Σh² of each block, where τ follows their spread

	params []float32 // of the step under way
	from   streams
	width  float64 // τ of the straight-through estimator

	pack                     func(part int)
	generateBlock, headToNet func(block, lo, hi int, grad []float32)
}

// An objective takes the batch from s to ∂L/∂h: the transition to s′, the
// discrepancy, and its gradient through the spin layer.
type objective interface {
	transition(step uint32)
	discrepancy(step uint32) float64
	// headGradient sets rows lo … hi−1 of the system's grad to ∂L/∂h.
	headGradient(lo, hi int)
	acceptance() float64
	state() []engine.Section
}

func newSystem(c *Config, workers *pool.Pool) (*system, error) {
	c = conf.Chosen(c)
	m, err := newMeasured(c, workers)
	if err != nil {
		return nil, err
	}
	model := m.model
	s := &system{measured: m, generator: newGenerator(c.Generator, model.L)}
	m.source = func(params []float32) source { return s.newSource(params) }
	s.annealed = make([]transition, annealLevels)
	s.annealed[annealLevels-1] = s.moving
	for i := 0; c.Transition.Anneal > 0 && i < annealLevels-1; i++ {
		if s.annealed[i], err = c.newTransition(model, c.annealed(i+1)); err != nil {
			return nil, fmt.Errorf("target: %w", err)
		}
	}
	n, net := c.Training.Batch, s.generator.net
	s.lanes = nn.NewLanes(n, s.generator.numParams(), workers)
	s.packed = net.NewPacked(true)
	s.activations = net.NewActivations(n)
	s.spins, s.moves = make([]uint64, n*s.generator.words), make([]element, n)
	s.grad = make([]float32, n*model.N)
	for range s.lanes.Count() {
		s.scratch = append(s.scratch, net.NewScratch(nn.BlockRows()))
	}
	for range s.lanes.Blocks() {
		s.heads = append(s.heads, s.generator.newHeadScratch(nn.BlockRows()))
	}
	if c.Generator.Signs.Weights == "learned" {
		s.values = make([]float32, n)
	}
	if c.Generator.Width.Unit == "spread" {
		s.moments = make([][2]float64, s.lanes.Blocks())
	}

	s.pack = func(part int) { net.PackPart(s.packed, s.params, part) }
	s.generateBlock, s.headToNet = s.generateRows, s.backwardRows
	switch {
	case c.Loss.Average == "exact":
		s.objective, err = newEnumeratedObjective(s)
	case c.Loss.Kind == "kfd" && c.Loss.Witness.Features == "invariant":
		s.objective = newInvariantObjective(s)
	case c.Loss.Kind == "kfd":
		s.objective, err = newWalshObjective(s)
	case c.Loss.Kind == "discriminator":
		s.objective, err = newCriticObjective(s)
	default:
		s.objective, err = newPairObjective(s)
	}
	if err == nil && c.Loss.Gradient == "score" {
		s.objective = newScoreObjective(s, s.objective.(valued))
	}
	return s, err
}

func (s *system) NumParams() int              { return s.generator.numParams() }
func (s *system) TensorName(i int) string     { return s.generator.tensorName(i) }
func (s *system) Initialize(params []float32) { s.generator.initialize(params, s.config.Training.Seed) }
func (s *system) Acceptance() float64         { return s.objective.acceptance() }
func (s *system) State() []engine.Section     { return s.objective.state() }

// Generate draws s_i = G_θ(z_i) for the whole batch.
func (s *system) Generate(params []float32, step uint32) {
	s.params = params
	s.from = trainStreams(s.config.Training.Seed, step)
	s.workers.Run(s.generator.net.PackParts(), s.pack)
	s.lanes.Forward(s.generateBlock)
	s.width = s.generator.width(int(step), s.config.Training.Steps, s.spread())
}

// spread returns the standard deviation of the logits where τ follows it.
func (s *system) spread() float64 {
	var sum, squares float64
	for _, m := range s.moments {
		sum += m[0]
		squares += m[1]
	}
	n := float64(len(s.grad))
	return math.Sqrt(max(0, squares/n-(sum/n)*(sum/n)))
}

func (s *system) generateRows(block, lo, hi int, _ []float32) {
	s.generator.forward(s.activations, s.spins, s.moves, s.packed, s.params, lo, hi, &s.from, uint64(lo), s.heads[block])
	if s.moments == nil {
		return
	}
	var sum, squares float64
	for _, h := range s.activations.Output()[lo*s.model.N : hi*s.model.N] {
		sum += float64(h)
		squares += float64(h) * float64(h)
	}
	s.moments[block] = [2]float64{sum, squares}
}

// Transition draws s′_i ~ p^m(s_i, ·) by packed Metropolis steps.
func (s *system) Transition(step uint32) { s.objective.transition(step) }

// Discrepancy returns the loss and keeps its gradient.
func (s *system) Discrepancy(step uint32) float64 { return s.objective.discrepancy(step) }

// Backward takes the gradient through the spin layer and the perceptron.
func (s *system) Backward(params, grad []float32) {
	s.params = params
	s.lanes.Backward(grad, s.headToNet)
	if thresholds := s.generator.thresholds(grad); len(thresholds) > 0 {
		s.objective.(valued).contributions(s.values)
		stat.LeaveOneOut(s.values)
		s.generator.thresholdGradient(thresholds, s.generator.thresholds(params), s.activations[0], s.values)
	}
}

func (s *system) backwardRows(lane, lo, hi int, grad []float32) {
	n := s.model.N
	s.objective.headGradient(lo, hi)
	s.generator.net.Backward(grad[:s.generator.net.NumParams()], nil, s.grad[lo*n:hi*n], s.activations, s.packed, lo, hi, s.scratch[lane])
}

// straightThrough turns rows lo … hi−1 of grad, all of one block, from ∂L/∂s
// into ∂L/∂h.
func (s *system) straightThrough(lo, hi int) {
	n := s.model.N
	s.pullBack(lo, hi)
	straightThrough(s.grad[lo*n:hi*n], s.activations.Output()[lo*n:hi*n], s.width)
}

// pullBack takes rows lo … hi−1 of grad, all of one block, back through the
// symmetry's moves to the spin layer's output.
func (s *system) pullBack(lo, hi int) {
	if s.generator.symmetry.trivial() {
		return
	}
	n, mover := s.model.N, s.heads[lo/nn.BlockRows()].mover
	for r := lo; r < hi; r++ {
		mover.pullBack(s.grad[r*n:(r+1)*n], s.moves[r])
	}
}

// pairObjective is the paper's: one s′ for each s, and the maximum mean
// discrepancy of the pairs, or of s and s′, by their Hamming distances.
type pairObjective struct {
	*pairMoves
	loss   pairLoss
	byNext []float32 // ∂L/∂s′, for the full gradient
}

// A pairLoss is mmd.Hamming or mmd.HammingStationarity.
type pairLoss interface {
	LossGradient(s, t []uint64, grad []float32) float64
	Witness(values []float32)
}

func newPairObjective(s *system) (*pairObjective, error) {
	c := s.config
	mode := mmd.Surrogate
	if c.Loss.Gradient == "difference" {
		mode = mmd.Difference
	}
	o := &pairObjective{pairMoves: newPairMoves(s)}
	var err error
	if c.Loss.Kind == "stationarity" {
		o.loss, err = mmd.NewHammingStationarity(c.Training.Batch, s.model.N, c.Loss.Kernel, mode, c.Loss.Statistic, s.workers)
	} else {
		o.loss, err = mmd.NewHamming(c.Training.Batch, s.model.N, c.Loss.Kernel, mode, c.Loss.Statistic, s.workers)
	}
	if err != nil {
		return nil, fmt.Errorf("loss.%w", err)
	}
	if c.Loss.Gradient == "full" {
		o.byNext = make([]float32, len(s.grad))
	}
	return o, nil
}

func (o *pairObjective) state() []engine.Section { return nil }
func (o *pairObjective) acceptance() float64     { return o.accepted.Total().Rate() }
func (o *pairObjective) transition(step uint32)  { o.run(step) }

func (o *pairObjective) discrepancy(uint32) float64 {
	s := o.s
	loss := o.loss.LossGradient(s.spins, o.next, s.grad)
	if o.byNext == nil {
		return loss
	}
	// The loss is symmetric in s and s′. Where a spin ended flipped, s′_d = −s_d.
	o.loss.LossGradient(o.next, s.spins, o.byNext)
	n, words := s.model.N, s.generator.words
	for r := range s.config.Training.Batch {
		for i := range n {
			at := r*words + i>>6
			flipped := (s.spins[at] ^ o.next[at]) >> (i & 63) & 1
			s.grad[r*n+i] += (1 - 2*float32(flipped)) * o.byNext[r*n+i]
		}
	}
	return loss
}

func (o *pairObjective) headGradient(lo, hi int) {
	s := o.s
	if s.config.Loss.Gradient == "difference" {
		n, words := s.model.N, s.generator.words
		halveDifferences(s.grad[lo*n:hi*n], s.spins[lo*words:], n, words)
	}
	s.straightThrough(lo, hi)
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
	_ engine.Stateful    = (*system)(nil)
	_ engine.TensorNamer = (*system)(nil)
)
