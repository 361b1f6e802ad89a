package perceptron

import (
	"math"

	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// A learner is a generator with buffers for the batch of a training.
type learner struct {
	*generator
	batch       *batch
	seed        uint64
	steps       int
	packed      *nn.Packed
	activations nn.Activations
	logits      []float32      // h, [n][spins], of the rank's own rows; Backward overwrites them
	heads       []*headScratch // by block
	scratch     []*nn.Scratch  // by lane
	moments     [][2]float64   // Σh and Σh² by block, nil unless τ follows the spread of h

	s      []uint64 // of the call under way
	ds     lossGradient
	params []float32
	random streams
	width  float64 // τ of the straight-through estimator

	drawBlock func(block, lo, hi int, _ []float32)
	backBlock func(lane, lo, hi int, grad []float32)
}

func newLearner(c *Config, n int, workers *pool.Pool) *learner {
	rows, g := c.Training.Batch, newGenerator(c.Generator, n)
	lanes := nn.NewLanes(rows, g.net.NumParams(), workers)
	l := &learner{
		generator: g, batch: &batch{rows, n, g.words, lanes, workers}, seed: c.Training.Seed, steps: c.Training.Steps,
		packed: g.net.NewPacked(true), activations: g.net.NewActivations(rows),
		scratch: nn.PerLane(lanes, func() *nn.Scratch { return nn.NewScratch(nn.BlockRows(), g.net) }),
	}
	l.logits = l.activations.Output()
	for range lanes.Blocks() {
		l.heads = append(l.heads, g.newHeadScratch(nn.BlockRows()))
	}
	if c.Generator.Width.Unit == "spread" {
		l.moments = make([][2]float64, lanes.Blocks())
	}
	l.drawBlock, l.backBlock = l.drawRows, l.backRows
	return l
}

// Draw sets s_i = G_θ(z_i) of the whole batch.
func (l *learner) Draw(s []uint64, θ []float32, step uint32) {
	l.s, l.params = s, θ
	l.random = streams{rng.Stream(l.seed, rng.TrainLatent, step), rng.Stream(l.seed, rng.TrainHead, step)}
	l.net.PackOn(l.batch.workers, l.packed, θ)
	lanes := l.batch.lanes
	lanes.Share(l.drawBlock, nn.RowSpan(lanes, s, l.words), nn.BlockSpan(lanes, l.moments))
	l.width = l.generator.width(int(step), l.steps, l.spread())
}

func (l *learner) drawRows(block, lo, hi int, _ []float32) {
	l.forward(l.activations, l.s, l.packed, l.params, lo, hi, &l.random, uint64(lo), l.heads[block])
	if l.moments == nil {
		return
	}
	var sum, squares float64
	for _, h := range l.logits[lo*l.spins : hi*l.spins] {
		sum += float64(h)
		squares += float64(h) * float64(h)
	}
	l.moments[block] = [2]float64{sum, squares}
}

// spread returns the standard deviation of the logits, 0 without moments.
func (l *learner) spread() float64 {
	var sum, squares float64
	for _, m := range l.moments {
		sum += m[0]
		squares += m[1]
	}
	n := float64(l.batch.n * l.spins)
	return math.Sqrt(max(0, squares/n-(sum/n)*(sum/n)))
}

// Backward sets grad to ∂L/∂θ, given ∂L/∂s of the batch that was drawn, which becomes
// ∂L/∂h.
func (l *learner) Backward(grad, θ []float32, ds lossGradient) {
	l.params, l.ds = θ, ds
	l.batch.lanes.Backward(grad, l.backBlock)
}

func (l *learner) backRows(lane, lo, hi int, grad []float32) {
	dh := l.ds.bySpin[lo*l.spins : hi*l.spins]
	if l.ds.bySample != nil {
		l.byScore(lo, hi)
	} else {
		l.straightThrough(dh, l.logits[lo*l.spins:hi*l.spins], l.width)
	}
	l.net.Backward(grad, nil, dh, l.activations, l.packed, lo, hi, l.scratch[lane])
}
