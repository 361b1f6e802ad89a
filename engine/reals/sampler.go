package reals

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

// A Sampler runs a trained generator, in pieces of a fixed number of rows that
// any thread can take.
type Sampler struct {
	s       *System
	weights *weights
	free    chan *Buffers
}

// Buffers are what the evaluation of a piece of rows needs.
type Buffers struct {
	Target Target // the thread's own
	pass   pass
	moves  *moveScratch
	noise  []float32
	logQ   []float64 // of states that are observed
}

// NewSampler returns a sampler of the generator with the given parameters,
// which must not change while it is used.
func (s *System) NewSampler(params []float32) *Sampler {
	d := &Sampler{s: s, weights: s.nets.newWeights(false), free: make(chan *Buffers, s.workers.Threads())}
	d.weights.params = params
	for net := range s.nets.nets {
		s.nets.pack(d.weights, net)
	}
	for range s.workers.Threads() {
		b := &Buffers{
			pass:  s.generator.newPass(nn.BlockRows(), false),
			moves: s.transition.newScratch(nn.BlockRows()),
			noise: make([]float32, nn.BlockRows()*s.nets.latent),
		}
		b.Target = b.moves.target
		d.free <- b
	}
	return d
}

// Each calls body for the pieces lo … hi−1 of a number of rows, concurrently.
func (d *Sampler) Each(rows int, body func(b *Buffers, lo, hi int)) {
	d.s.workers.Run((rows+nn.BlockRows()-1)/nn.BlockRows(), func(piece int) {
		b := <-d.free
		defer func() { d.free <- b }()
		lo := piece * nn.BlockRows()
		body(b, lo, min(rows, lo+nn.BlockRows()))
	})
}

// Draw fills x, [rows][dim], with samples first, first+1, … after refine steps of
// the transition kernel. If logDensity, [rows], is not nil, it receives the
// generator's ln q(x), of the states before refinement.
func (d *Sampler) Draw(x []float32, logDensity []float64, first uint64, refine int) {
	s := d.s
	dim, latent, seed := s.nets.dim, s.nets.latent, s.config.Training.Seed
	d.Each(len(x)/dim, func(b *Buffers, lo, hi int) {
		from, at := rng.Stream(seed, rng.SampleLatent, 0), first+uint64(lo)
		z := b.noise[:(hi-lo)*latent]
		rng.Normals(z, latent, &from, at)
		states := x[lo*dim : hi*dim]
		b.pass.forward(states, z, d.weights)
		if logDensity != nil {
			b.pass.(*flowPass).logDensity(logDensity[lo:hi])
		}
		if refine > 0 {
			moving := rng.Stream(seed, rng.SampleTransition, 0)
			s.transition.run(states, refine, &moving, at, b.moves)
		}
	})
}

// HasDensity reports whether the generator's density is known.
func (s *System) HasDensity() bool {
	_, ok := s.generator.(*flow)
	return ok
}

// Density sets dst to the generator's ln q of the states x, [rows][dim], by the
// inverse flow.
func (d *Sampler) Density(dst []float64, x []float32) {
	dim := d.s.nets.dim
	d.Each(len(dst), func(b *Buffers, lo, hi int) {
		d.Inverse(b, b.noise[:(hi-lo)*dim], x[lo*dim:hi*dim], dst[lo:hi])
	})
}

// LogDensity sets dst[r] = ln q(x_r), the exact density of the generator with
// parameters params, for the states x, row-major [len(dst)][dim].
func (s *System) LogDensity(dst []float64, params, x []float32) error {
	if !s.HasDensity() {
		return fmt.Errorf("generator.kind: the density of a %s generator is not known", s.config.Generator.Kind)
	}
	if len(x) != len(dst)*s.nets.dim {
		return fmt.Errorf("%d numbers are not %d states of %d coordinates", len(x), len(dst), s.nets.dim)
	}
	s.NewSampler(params).Density(dst, x)
	return nil
}

// Formats lists the layouts of samples.
func (s *System) Formats() []engine.Format {
	return []engine.Format{
		{Name: "states", Descr: "'<f4'", Shape: []int{s.nets.dim}, RowBytes: 4 * s.nets.dim,
			Doc: "the coordinates of x as float32"},
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
	if format != "states" {
		return fmt.Errorf("format: %q is not states", format)
	}
	x := make([]float32, n*s.nets.dim)
	s.NewSampler(params).Draw(x, nil, first, refine)
	for i, v := range x {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
	}
	return nil
}

// Forward sets x to the states that a flow makes of up to a piece's rows of noise
// z, and logQ to their log-densities.
func (d *Sampler) Forward(b *Buffers, x, z []float32, logQ []float64) {
	b.pass.forward(x, z, d.weights)
	b.pass.(*flowPass).logDensity(logQ)
}

// Inverse sets z to the noise of which a flow makes up to a piece's rows of
// states x, and logQ to their log-densities.
func (d *Sampler) Inverse(b *Buffers, z, x []float32, logQ []float64) {
	p := b.pass.(*flowPass)
	p.inverse(z, x, d.weights)
	p.logDensity(logQ)
}

// drawnAtOnce is the number of samples after which DrawAll looks whether to stop.
const drawnAtOnce = 1 << 16

// DrawAll fills x, [rows][dim], with samples from the first on, and logQ, if not
// nil, with their log-densities.
func (d *Sampler) DrawAll(ctx context.Context, x []float32, logQ []float64) error {
	dim := d.s.nets.dim
	for first := 0; first*dim < len(x); first += drawnAtOnce {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(first+drawnAtOnce, len(x)/dim)
		var densities []float64
		if logQ != nil {
			densities = logQ[first:end]
		}
		d.Draw(x[first*dim:end*dim], densities, uint64(first), 0)
	}
	if !asm.AllFinite(x) {
		return errors.New("a sample of the generator is not finite")
	}
	return nil
}

var _ engine.Sampler = (*System)(nil)
