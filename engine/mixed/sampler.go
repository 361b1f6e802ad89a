package mixed

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
)

// A Sampler draws states of a trained generator, in pieces of a fixed number
// of rows that any thread can take.
type Sampler struct {
	s      *System
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
	moves    *moveScratch
}

// NewSampler returns a sampler of the generator with the given parameters,
// which must not change while it is used.
func (s *System) NewSampler(params []float32) *Sampler {
	net := s.generator.net
	d := &Sampler{s: s, params: params, packed: net.NewPacked(false), free: make(chan *samplerBuffers, s.workers.Threads())}
	net.Pack(d.packed, params)
	for range s.workers.Threads() {
		d.free <- &samplerBuffers{s.generator.newBatch(nn.BlockRows()), make([]float32, 4*nn.BlockRows()), s.transition.newScratch()}
	}
	d.run = d.piece
	return d
}

// Draw fills x, [len(k)][d], and k with samples first, first+1, … after refine
// steps of the transition kernel.
func (d *Sampler) Draw(x []float32, k []uint8, first uint64, refine int) {
	d.x, d.k, d.first, d.refine = x, k, first, refine
	d.s.workers.Run((len(k)+nn.BlockRows()-1)/nn.BlockRows(), d.run)
}

func (d *Sampler) piece(piece int) {
	s, b, dim := d.s, <-d.free, d.s.generator.dim
	defer func() { d.free <- b }()
	lo := piece * nn.BlockRows()
	hi := min(len(d.k), lo+nn.BlockRows())
	first, seed := d.first+uint64(lo), s.config.Training.Seed

	from := noise{rng.Stream(seed, rng.SampleLatent, 0), rng.Stream(seed, rng.SampleHead, 0)}
	s.generator.forward(b.batch, d.packed, d.params, 0, hi-lo, &from, first, b.uniforms)
	x, k := d.x[lo*dim:hi*dim], d.k[lo:hi]
	copy(x, b.batch.x)
	copy(k, b.batch.k)
	if d.refine > 0 {
		moving := rng.Stream(seed, rng.SampleTransition, 0)
		var counts moveCounts
		s.transition.run(x, k, d.refine, &moving, first, b.moves, &counts)
	}
}

// drawnAtOnce is the number of samples after which DrawAll looks whether to stop.
const drawnAtOnce = 1 << 16

// DrawAll returns the given number of samples, x row-major [samples][d], all of
// which are finite.
func (s *System) DrawAll(ctx context.Context, params []float32, samples int) (x []float32, k []uint8, err error) {
	dim := s.generator.dim
	x, k = make([]float32, samples*dim), make([]uint8, samples)
	sampler := s.NewSampler(params)
	for first := 0; first < samples; first += drawnAtOnce {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		end := min(first+drawnAtOnce, samples)
		sampler.Draw(x[first*dim:end*dim], k[first:end], uint64(first), 0)
	}
	if !asm.AllFinite(x) {
		return nil, nil, errors.New("a sample of the generator is not finite")
	}
	return x, k, nil
}

// Formats lists the layouts of samples.
func (s *System) Formats() []engine.Format {
	d := s.generator.dim
	if d == 1 {
		return []engine.Format{
			{Name: "states", Descr: "[('x', '<f4'), ('k', '<i4')]", RowBytes: 8,
				Doc: "the coordinate x as float32 and the mode k = 0 … M−1 as int32"},
			{Name: "x", Descr: "'<f4'", RowBytes: 4,
				Doc: "the coordinate x alone as float32"},
		}
	}
	return []engine.Format{
		{Name: "states", Descr: fmt.Sprintf("[('x', '<f4', (%d,)), ('k', '<i4')]", d), RowBytes: 4*d + 4,
			Doc: "the coordinates of x as float32 and the mode k = 0 … M−1 as int32"},
		{Name: "x", Descr: "'<f4'", Shape: []int{d}, RowBytes: 4 * d,
			Doc: "the coordinates of x alone as float32"},
	}
}

// Reach implements engine.Sampler.
func (s *System) Reach(first, n uint64, refine int) error {
	return engine.SampleRange(first, maxSamples, n, refine, maxSteps)
}

// Sample implements engine.Sampler.
func (s *System) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	if err := s.Reach(first, uint64(n), refine); err != nil {
		return err
	}
	if format != "states" && format != "x" {
		return fmt.Errorf("format: %q is not states or x", format)
	}
	d := s.generator.dim
	x, k := make([]float32, n*d), make([]uint8, n)
	s.NewSampler(params).Draw(x, k, first, refine)
	for i, mode := range k {
		for _, v := range x[i*d : (i+1)*d] {
			binary.LittleEndian.PutUint32(dst, math.Float32bits(v))
			dst = dst[4:]
		}
		if format == "states" {
			binary.LittleEndian.PutUint32(dst, uint32(mode))
			dst = dst[4:]
		}
	}
	return nil
}

var _ engine.Sampler = (*System)(nil)
