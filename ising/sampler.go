package ising

import (
	"context"
	"fmt"
	"sync"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/pool"
)

// measured is what any generator of the lattice's configurations is sampled and
// measured by.
type measured struct {
	config  *Config
	model   bitspin.Model
	moving  spins.Kernel
	workers *pool.Pool
	source  func(params []float32) source
	exact   struct {
		sync.Mutex
		*reference
	} // computed when first asked for
}

// A source draws configurations of a trained generator, the same for any number
// of threads.
type source interface {
	// Generate fills dst with samples first, first+1, ….
	Generate(dst []uint64, first uint64)
}

func newMeasured(c *Config, workers *pool.Pool) (*measured, error) {
	model, err := c.model()
	if err != nil {
		return nil, err
	}
	m := &measured{config: c, model: model, workers: workers}
	if m.moving, err = c.newTransition(model, c.Target.Beta); err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	return m, nil
}

// reference returns what samples are compared with, computed once.
func (s *measured) reference(ctx context.Context) (*reference, error) {
	s.exact.Lock()
	defer s.exact.Unlock()
	if s.exact.reference == nil {
		r, err := newReference(ctx, Target{s.model, s.config.Target.Beta}, s.workers)
		if err != nil {
			return nil, err
		}
		s.exact.reference = r
	}
	return s.exact.reference, nil
}

// A sampler draws refined configurations.
type sampler struct {
	source
	m *measured
}

func (s *measured) newSampler(params []float32) *sampler { return &sampler{s.source(params), s} }

// draw fills dst with samples first, first+1, … after refine steps of the
// transition.
func (d *sampler) draw(dst []uint64, first uint64, refine int) {
	if refine == 0 {
		d.Generate(dst, first)
		return
	}
	if d.m.config.sweeps() {
		// Sweeps take whole blocks, of which some samples may not be asked for.
		words, start := d.m.model.Words, first/bitspin.SweepBlock*bitspin.SweepBlock
		rows := int(first-start) + len(dst)/words
		rows = (rows + bitspin.SweepBlock - 1) / bitspin.SweepBlock * bitspin.SweepBlock
		whole := make([]uint64, rows*words)
		d.Generate(whole, start)
		d.move(whole, start, refine, bitspin.SweepBlock)
		copy(dst, whole[int(first-start)*words:])
		return
	}
	d.Generate(dst, first)
	d.move(dst, first, refine, nn.BlockRows())
}

// move takes steps of the transition from configurations, in pieces of rows.
func (d *sampler) move(states []uint64, first uint64, steps, rows int) {
	n := len(states) / d.m.model.Words
	moving := rng.Stream(d.m.config.Training.Seed, rng.SampleTransition, 0)
	d.m.workers.Run((n+rows-1)/rows, func(piece int) {
		var stats bitspin.Stats
		d.m.moving.Run(states, states, piece*rows, min(n, (piece+1)*rows), steps, &moving, first, &stats)
	})
}

// Formats lists the layouts of samples.
func (s *measured) Formats() []engine.Format {
	l := s.model.L
	return []engine.Format{
		{Name: "spins", Descr: "'|i1'", Shape: []int{l, l}, RowBytes: l * l,
			Doc: "spins ±1 as int8, [row][column]"},
		{Name: "bits", Descr: "'<u8'", Shape: []int{s.model.Words}, RowBytes: 8 * s.model.Words,
			Doc: "packed spins as little-endian uint64: bit i mod 64 of word i div 64 is site i = row·L + column, 1 for spin +1; unused high bits are 0"},
	}
}

// Reach implements engine.Sampler.
func (s *measured) Reach(first, n uint64, refine int) error {
	return engine.SampleRange(first, bitspin.MaxSamples, n, refine, s.config.mostSteps())
}

// Sample implements engine.Sampler.
func (s *measured) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	if err := s.Reach(first, uint64(n), refine); err != nil {
		return err
	}
	write, ok := map[string]func(dst []byte, batch []uint64){
		"spins": func(dst []byte, batch []uint64) { spins.WriteSigns(dst, batch, s.model.N) }, "bits": spins.WriteBits,
	}[format]
	if !ok {
		return fmt.Errorf("format: %q is not spins or bits", format)
	}
	drawn := make([]uint64, n*s.model.Words)
	s.newSampler(params).draw(drawn, first, refine)
	rowBytes := len(dst) / max(n, 1)
	const rows = 4096
	s.workers.Run((n+rows-1)/rows, func(piece int) {
		lo, hi := piece*rows, min((piece+1)*rows, n)
		write(dst[lo*rowBytes:hi*rowBytes], drawn[lo*s.model.Words:hi*s.model.Words])
	})
	return nil
}

var (
	_ engine.Sampler   = (*measured)(nil)
	_ engine.Evaluator = (*measured)(nil)
)
