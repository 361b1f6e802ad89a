package hybrid

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
)

// A sampler draws states of a trained generator, in pieces of a fixed number
// of rows that any thread can take.
type sampler struct {
	s      *system
	params []float32
	packed *nn.Packed
	free   chan *samplerBuffers

	x      []float32 // of the draw under way
	k      []uint8
	first  uint64
	refine int
	run    func(piece int)
}

type samplerBuffers struct {
	batch    *batch
	uniforms []float32
}

func (s *system) newSampler(params []float32) *sampler {
	net := s.generator.net
	d := &sampler{s: s, params: params, packed: net.NewPacked(false), free: make(chan *samplerBuffers, s.workers.Threads())}
	net.Pack(d.packed, params)
	for range s.workers.Threads() {
		d.free <- &samplerBuffers{s.generator.newBatch(nn.BlockRows()), make([]float32, 4*nn.BlockRows())}
	}
	d.run = d.piece
	return d
}

// draw fills x and k with samples first, first+1, … after refine steps of the
// transition kernel.
func (d *sampler) draw(x []float32, k []uint8, first uint64, refine int) {
	d.x, d.k, d.first, d.refine = x, k, first, refine
	d.s.workers.Run((len(x)+nn.BlockRows()-1)/nn.BlockRows(), d.run)
}

func (d *sampler) piece(piece int) {
	s, b := d.s, <-d.free
	defer func() { d.free <- b }()
	lo := piece * nn.BlockRows()
	hi := min(len(d.x), lo+nn.BlockRows())
	first, seed := d.first+uint64(lo), s.config.Training.Seed

	from := noise{rng.Stream(seed, rng.SampleLatent, 0), rng.Stream(seed, rng.SampleHead, 0)}
	s.generator.forward(b.batch, d.packed, d.params, 0, hi-lo, &from, first, b.uniforms)
	x, k := d.x[lo:hi], d.k[lo:hi]
	copy(x, b.batch.x)
	copy(k, b.batch.k)
	if d.refine > 0 {
		moving := rng.Stream(seed, rng.SampleTransition, 0)
		var counts moveCounts
		s.transition.run(x, k, d.refine, &moving, first, &counts)
	}
}

// Formats lists the layouts of samples.
func (s *system) Formats() []engine.Format {
	return []engine.Format{
		{Name: "states", Descr: "[('x', '<f4'), ('k', '<i4')]", RowBytes: 8,
			Doc: "the coordinate x as float32 and the mode k = 0 … M−1 as int32"},
		{Name: "x", Descr: "'<f4'", RowBytes: 4,
			Doc: "the coordinate x alone as float32"},
	}
}

// Reach implements engine.Sampler.
func (s *system) Reach(first, n uint64, refine int) error {
	return engine.SampleRange(first, maxSamples, n, refine, maxSteps)
}

// Sample implements engine.Sampler.
func (s *system) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	if err := s.Reach(first, uint64(n), refine); err != nil {
		return err
	}
	if format != "states" && format != "x" {
		return fmt.Errorf("format: %q is not states or x", format)
	}
	x, k := make([]float32, n), make([]uint8, n)
	s.newSampler(params).draw(x, k, first, refine)
	for i, v := range x {
		if format == "x" {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
			continue
		}
		binary.LittleEndian.PutUint32(dst[8*i:], math.Float32bits(v))
		binary.LittleEndian.PutUint32(dst[8*i+4:], uint32(k[i]))
	}
	return nil
}

var (
	_ engine.Sampler   = (*system)(nil)
	_ engine.Evaluator = (*system)(nil)
)
