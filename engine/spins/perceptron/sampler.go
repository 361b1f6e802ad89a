package perceptron

import (
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/pool"
)

// Draws are the samples of a trained generator that belong to the seed of its
// training, made in pieces of a fixed number of rows that any thread can take.
type Draws struct {
	generator *generator
	seed      uint64
	workers   *pool.Pool
	params    []float32
	packed    *nn.Packed
	free      chan *drawing

	dst   []uint64 // of the call under way
	first uint64
	run   func(piece int)
}

// A drawing is what one thread needs.
type drawing struct {
	activations nn.Activations
	head        *headScratch
}

// NewDraws returns the samples of the generator with the given parameters, which
// must not change while they are drawn.
func (s *System) NewDraws(params []float32) *Draws {
	net := s.generator.net
	d := &Draws{
		generator: s.generator, seed: s.config.Training.Seed, workers: s.workers,
		params: params, packed: net.NewPacked(false), free: make(chan *drawing, s.workers.Threads()),
	}
	net.Pack(d.packed, params)
	for range s.workers.Threads() {
		d.free <- &drawing{net.NewActivations(nn.BlockRows()), s.generator.newHeadScratch(nn.BlockRows())}
	}
	d.run = d.piece
	return d
}

// Generate fills dst with samples first, first+1, …, packed.
func (d *Draws) Generate(dst []uint64, first uint64) {
	d.dst, d.first = dst, first
	rows := len(dst) / d.generator.words
	d.workers.Run((rows+nn.BlockRows()-1)/nn.BlockRows(), d.run)
}

func (d *Draws) piece(piece int) {
	b, words := <-d.free, d.generator.words
	defer func() { d.free <- b }()
	lo := piece * nn.BlockRows() * words
	dst := d.dst[lo:min(len(d.dst), lo+nn.BlockRows()*words)]
	from := sampleStreams(d.seed)
	d.generator.forward(b.activations, dst, d.packed, d.params, 0, len(dst)/words, &from, d.first+uint64(piece*nn.BlockRows()), b.head)
}
