package ising

import (
	"encoding/binary"
	"fmt"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
)

// A sampler draws configurations of a trained generator, in pieces of a fixed
// number of rows that any thread can take.
type sampler struct {
	s      *system
	params []float32
	packed *nn.Packed
	free   chan *samplerBuffers

	dst    []uint64 // of the draw under way
	first  uint64
	refine int
	run    func(piece int)
}

type samplerBuffers struct {
	activations nn.Activations
	head        *headScratch
	moves       []element
}

func (s *system) newSampler(params []float32) *sampler {
	net := s.generator.net
	d := &sampler{s: s, params: params, packed: net.NewPacked(false), free: make(chan *samplerBuffers, s.workers.Threads())}
	net.Pack(d.packed, params)
	for range s.workers.Threads() {
		d.free <- &samplerBuffers{net.NewActivations(nn.BlockRows()), s.generator.newHeadScratch(nn.BlockRows()), make([]element, nn.BlockRows())}
	}
	d.run = d.piece
	return d
}

// draw fills dst with samples first, first+1, … after refine steps of the
// transition.
func (d *sampler) draw(dst []uint64, first uint64, refine int) {
	d.refine = refine
	if refine > 0 && d.s.config.sweeps() {
		d.drawSwept(dst, first)
		return
	}
	d.generate(dst, first)
}

// drawSwept draws whole blocks of sweeps and keeps what is asked for.
func (d *sampler) drawSwept(dst []uint64, first uint64) {
	const rows = bitspin.SweepBlock
	words := d.s.model.Words
	start := first / rows * rows
	blocks := int((first-start)+uint64(len(dst)/words)+rows-1) / rows
	whole := make([]uint64, blocks*rows*words)
	d.generate(whole, start)
	moving := rng.Stream(d.s.config.Training.Seed, rng.SampleTransition, 0)
	d.s.workers.Run(blocks, func(block int) {
		var stats bitspin.Stats
		d.s.moving.Run(whole, whole, block*rows, (block+1)*rows, d.refine, &moving, start, &stats)
	})
	copy(dst, whole[int(first-start)*words:])
}

func (d *sampler) generate(dst []uint64, first uint64) {
	d.dst, d.first = dst, first
	rows := len(dst) / d.s.model.Words
	d.s.workers.Run((rows+nn.BlockRows()-1)/nn.BlockRows(), d.run)
}

func (d *sampler) piece(piece int) {
	s, b := d.s, <-d.free
	defer func() { d.free <- b }()
	lo := piece * nn.BlockRows() * s.model.Words
	dst := d.dst[lo:min(len(d.dst), lo+nn.BlockRows()*s.model.Words)]
	rows := len(dst) / s.model.Words
	first := d.first + uint64(piece*nn.BlockRows())

	seed := s.config.Training.Seed
	from := sampleStreams(seed)
	s.generator.forward(b.activations, dst, b.moves, d.packed, d.params, 0, rows, &from, first, b.head)
	if d.refine > 0 && !s.config.sweeps() {
		moving := rng.Stream(seed, rng.SampleTransition, 0)
		var stats bitspin.Stats
		s.moving.Run(dst, dst, 0, rows, d.refine, &moving, first, &stats)
	}
}

// Formats lists the layouts of samples.
func (s *system) Formats() []engine.Format {
	l := s.model.L
	return []engine.Format{
		{Name: "spins", Descr: "'|i1'", Shape: []int{l, l}, RowBytes: l * l,
			Doc: "spins ±1 as int8, [row][column]"},
		{Name: "bits", Descr: "'<u8'", Shape: []int{s.model.Words}, RowBytes: 8 * s.model.Words,
			Doc: "packed spins as little-endian uint64: bit i mod 64 of word i div 64 is site i = row·L + column, 1 for spin +1; unused high bits are 0"},
	}
}

// Reach implements engine.Sampler.
func (s *system) Reach(first, n uint64, refine int) error {
	return engine.SampleRange(first, bitspin.MaxSamples, n, refine, s.config.mostSteps())
}

// Sample implements engine.Sampler.
func (s *system) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	if err := s.Reach(first, uint64(n), refine); err != nil {
		return err
	}
	write, ok := map[string]func(dst []byte, spins []uint64){"spins": s.writeSpins, "bits": writeBits}[format]
	if !ok {
		return fmt.Errorf("format: %q is not spins or bits", format)
	}
	spins := make([]uint64, n*s.model.Words)
	s.newSampler(params).draw(spins, first, refine)
	rowBytes := len(dst) / max(n, 1)
	const rows = 4096
	s.workers.Run((n+rows-1)/rows, func(piece int) {
		lo, hi := piece*rows, min((piece+1)*rows, n)
		write(dst[lo*rowBytes:hi*rowBytes], spins[lo*s.model.Words:hi*s.model.Words])
	})
	return nil
}

func (s *system) writeSpins(dst []byte, spins []uint64) {
	n := s.model.N
	for ; len(dst) > 0; dst, spins = dst[n:], spins[s.model.Words:] {
		for i := range dst[:n] {
			dst[i] = byte(2*(spins[i>>6]>>(i&63)&1)) - 1
		}
	}
}

func writeBits(dst []byte, spins []uint64) {
	for i, w := range spins {
		binary.LittleEndian.PutUint64(dst[8*i:], w)
	}
}

var (
	_ engine.Sampler   = (*system)(nil)
	_ engine.Evaluator = (*system)(nil)
)
