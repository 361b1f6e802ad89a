package vectors

import (
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// A learner is a generator with buffers for a batch. It draws the batch and goes back through it in
// parallel.
type learner struct {
	generator
	nets    *networks
	seed    uint64
	weights *weights
	lanes   *nn.Lanes
	workers *pool.Pool
	passes  []pass     // of blocks
	scratch []*scratch // of lanes
	z, u    []float32  // noise, [n][latent], and with modes [n][4]

	// Arguments of the call under way.
	s       States
	ds      stateGradient
	streams noise

	packNet   func(net int)
	drawBlock func(block, lo, hi int, _ []float32)
	backBlock func(lane, lo, hi int, grad []float32)
}

func newLearner(c *Config, g generator, workers *pool.Pool) *learner {
	n, nets := c.Training.Batch, g.networks()
	l := &learner{
		generator: g, nets: nets, seed: c.Training.Seed, weights: nets.newWeights(true), lanes: nets.newLanes(n, workers), workers: workers,
		z: make([]float32, n*nets.latent), u: make([]float32, nets.uniforms(n)),
	}
	rows := l.lanes.BlockRows()
	for range l.lanes.Blocks() {
		l.passes = append(l.passes, g.newPass(rows, true))
	}
	l.scratch = nn.PerLane(l.lanes, func() *scratch { return nets.newScratch(rows) })
	l.packNet = func(net int) { nets.pack(l.weights, net) }
	l.drawBlock = func(b, lo, hi int, _ []float32) {
		nets.draw(l.passes[b], l.s.Part(lo, hi), &l.streams, uint64(lo), l.z[lo*nets.latent:hi*nets.latent], l.u[nets.uniforms(lo):nets.uniforms(hi)], l.weights)
	}
	l.backBlock = func(lane, lo, hi int, grad []float32) {
		l.passes[lo/rows].(pathPass).backward(grad, l.ds.part(lo, hi), l.weights, l.scratch[lane])
	}
	return l
}

// Draw sets s_i = G_θ(z_i) for a rank's own rows of the batch.
func (l *learner) Draw(s States, θ []float32, step uint32) {
	l.s, l.streams = s, noise{rng.Stream(l.seed, rng.TrainLatent, step), rng.Stream(l.seed, rng.TrainHead, step)}
	l.pack(θ)
	l.lanes.Own(l.drawBlock)
}

// pack makes θ the generator's parameters.
func (l *learner) pack(θ []float32) {
	l.weights.params = θ
	l.workers.Run(l.nets.packs(), l.packNet)
}

// Backward sets grad to ∂L/∂θ, given ∂L/∂s of the batch that was drawn.
func (l *learner) Backward(grad, θ []float32, ds stateGradient) {
	l.weights.params, l.ds = θ, ds
	l.lanes.Backward(grad, l.backBlock)
}
