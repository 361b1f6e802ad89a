package perceptron

import (
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/internal/pool"
)

// draws are the samples of a trained generator that belong to the seed of its
// training, made in pieces of a fixed number of rows that any thread can take.
type draws struct {
	generator *generator
	seed      uint64
	params    []float32
	packed    *nn.Packed
	tools     *pool.Tools[drawScratch]
}

// drawScratch holds the buffers of one thread.
type drawScratch struct {
	activations nn.Activations
	head        *headScratch
}

// NewDraws returns the samples of the generator with the given parameters, which
// must not change while they are drawn.
func (s *System) NewDraws(params []float32) sites.Draws[uint64] {
	g, net, workers := s.learner.generator, s.learner.net, s.learner.batch.workers
	d := &draws{
		generator: g, seed: s.config.Training.Seed, params: params, packed: net.NewPacked(false),
		tools: pool.NewTools(workers, func() drawScratch {
			return drawScratch{net.NewActivations(nn.BlockRows()), g.newHeadScratch(nn.BlockRows())}
		}),
	}
	net.Pack(d.packed, params)
	return d
}

// Generate fills dst with samples first, first+1, …, packed.
func (d *draws) Generate(dst []uint64, _ []float64, first uint64) {
	words := d.generator.words
	d.tools.Rows(len(dst)/words, nn.BlockRows(), func(b drawScratch, lo, hi int) {
		from := streams{rng.Stream(d.seed, rng.SampleLatent, 0), rng.Stream(d.seed, rng.SampleHead, 0)}
		d.generator.forward(b.activations, dst[lo*words:hi*words], d.packed, d.params, 0, hi-lo, &from, first+uint64(lo), b.head)
	})
}
