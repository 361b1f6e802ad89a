package mixed

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// A Sampler draws states of a trained generator, in pieces of a fixed number
// of rows that any thread can take.
type Sampler struct {
	s      *System
	params []float32
	packed *nn.Packed
	base   *mixture.Packed // of a mixture
	tools  *pool.Tools[*samplerBuffers]
}

type samplerBuffers struct {
	batch    *batch
	uniforms []float32
	moves    *moveScratch

	normals []float32 // of a mixture
	work    *mixture.Work
}

// NewSampler returns a sampler of the generator with the given parameters,
// which must not change while it is used.
func (s *System) NewSampler(params []float32) *Sampler {
	g := s.generator
	d := &Sampler{s: s, params: params}
	if g.base != nil {
		d.base = g.base.NewPacked()
		d.base.Set(params)
	} else {
		d.packed = g.net.NewPacked(false)
		g.net.Pack(d.packed, params)
	}
	d.tools = pool.NewTools(s.workers, func() *samplerBuffers {
		b := &samplerBuffers{batch: g.newBatch(nn.BlockRows()), uniforms: make([]float32, 4*nn.BlockRows()), moves: s.transition.newScratch()}
		b.moves.halted = s.workers.Halted
		if g.base != nil {
			b.normals, b.work = make([]float32, nn.BlockRows()*g.dim), g.base.NewWork(nn.BlockRows())
		}
		return b
	})
	return d
}

// Draw fills x, [len(k)][d], and k with samples first, first+1, … after refine
// steps of the transition kernel.
func (d *Sampler) Draw(x []float32, k []uint8, first uint64, refine int) {
	s, dim, seed := d.s, d.s.generator.dim, d.s.config.Training.Seed
	d.tools.Rows(len(k), nn.BlockRows(), func(b *samplerBuffers, lo, hi int) {
		from, at := noise{rng.Stream(seed, rng.SampleLatent, 0), rng.Stream(seed, rng.SampleHead, 0)}, first+uint64(lo)
		if d.base != nil {
			s.generator.drawMixture(b.batch, d.base, 0, hi-lo, &from, at, b.uniforms, b.normals, b.work)
		} else {
			s.generator.forward(b.batch, d.packed, d.params, 0, hi-lo, &from, at, b.uniforms)
		}
		x, k := x[lo*dim:hi*dim], k[lo:hi]
		copy(x, b.batch.x)
		copy(k, b.batch.k)
		if refine > 0 {
			moving := rng.Stream(seed, rng.SampleTransition, 0)
			var counts moveCounts
			s.transition.run(x, k, refine, &moving, at, b.moves, &counts)
		}
	})
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
	x, shape := "('x', '<f4')", []int(nil)
	if d > 1 {
		x, shape = fmt.Sprintf("('x', '<f4', (%d,))", d), []int{d}
	}
	all := []engine.Format{
		{Name: "states", Descr: "[" + x + ", ('k', '<i4')]", RowBytes: 4*d + 4,
			Doc: "the coordinates of x as float32 and the mode k = 0 … M−1 as int32"},
		{Name: "x", Descr: "'<f4'", Shape: shape, RowBytes: 4 * d,
			Doc: "the coordinates of x alone as float32"},
	}
	if s.HasDensity() {
		all = append(all, engine.Format{
			Name: weighted, Descr: "[" + x + ", ('k', '<i4'), ('log_weight', '<f8')]", RowBytes: 4*d + 12,
			Doc: "the coordinates of x as float32, the mode k as int32, and ln w = ln π − ln q as float64: " +
				"means over π are Σ w f / Σ w, and Z is the mean of w",
			Unrefined: true,
		})
	}
	return all
}

// weighted is the format of samples with their weights.
const weighted = "weighted"

// Reach implements engine.Sampler.
func (s *System) Reach(first, n uint64, refine int) error {
	return engine.SampleRange(first, maxSamples, n, refine, maxSteps)
}

// Sample implements engine.Sampler.
func (s *System) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	if err := s.Reach(first, uint64(n), refine); err != nil {
		return err
	}
	weigh := format == weighted && s.HasDensity()
	if format != "states" && format != "x" && !weigh {
		return fmt.Errorf("format: %q is not one of the samples' formats", format)
	}
	if weigh && refine > 0 {
		return fmt.Errorf("refine: the density of refined samples is not known, and so are their weights; leave it 0, or take another format")
	}
	d := s.generator.dim
	x, k, r := make([]float32, n*d), make([]uint8, n), []float64(nil)
	if weigh {
		r = make([]float64, n)
		s.NewSampler(params).Weigh(r, x, k, first)
	} else {
		s.NewSampler(params).Draw(x, k, first, refine)
	}
	if !weigh {
		write(dst, format, x, k)
		return nil
	}
	row := 4*d + 12
	for i, v := range r {
		write(dst[i*row:], "states", x[i*d:(i+1)*d], k[i:i+1])
		binary.LittleEndian.PutUint64(dst[(i+1)*row-8:], math.Float64bits(-v))
	}
	return nil
}

// write writes states, x and with format states k.
func write(dst []byte, format string, x []float32, k []uint8) {
	d := len(x) / max(1, len(k))
	for i, mode := range k {
		for _, v := range x[i*d : (i+1)*d] {
			binary.LittleEndian.PutUint32(dst, math.Float32bits(v))
			dst = dst[4:]
		}
		if format != "x" {
			binary.LittleEndian.PutUint32(dst, uint32(mode))
			dst = dst[4:]
		}
	}
}

// Convert implements engine.Converter.
func (s *System) Convert(dst []byte, format string, states []byte) error {
	d := s.generator.dim
	whole, row := 4*d+4, 4*d
	if format == "states" {
		row = whole
	} else if format != "x" {
		return fmt.Errorf("format: %q is not states or x", format)
	}
	if len(states)%whole != 0 || len(dst) != len(states)/whole*row {
		return fmt.Errorf("states: %d bytes are not %d states of %d coordinates and a mode", len(states), len(dst)/row, d)
	}
	for i := range len(states) / whole {
		copy(dst[i*row:(i+1)*row], states[i*whole:])
	}
	return nil
}

var (
	_ engine.Sampler   = (*System)(nil)
	_ engine.Converter = (*System)(nil)
)
