package gmm

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
)

// A sampler runs a trained generator, in pieces of a fixed number of rows that
// any thread can take.
type sampler struct {
	s       *system
	weights *weights
	free    chan *samplerBuffers
}

type samplerBuffers struct {
	pass  pass
	moves *moveScratch
	noise []float32
}

func (s *system) newSampler(params []float32) *sampler {
	d := &sampler{s: s, weights: s.nets.newWeights(false), free: make(chan *samplerBuffers, s.workers.Threads())}
	d.weights.params = params
	for net := range s.nets.nets {
		s.nets.pack(d.weights, net)
	}
	for range s.workers.Threads() {
		d.free <- &samplerBuffers{
			pass:  s.generator.newPass(nn.BlockRows(), false),
			moves: s.transition.newScratch(nn.BlockRows()),
			noise: make([]float32, nn.BlockRows()*s.nets.latent),
		}
	}
	return d
}

// each calls body for the pieces lo … hi−1 of a number of rows, concurrently.
func (d *sampler) each(rows int, body func(b *samplerBuffers, lo, hi int)) {
	d.s.workers.Run((rows+nn.BlockRows()-1)/nn.BlockRows(), func(piece int) {
		b := <-d.free
		defer func() { d.free <- b }()
		lo := piece * nn.BlockRows()
		body(b, lo, min(rows, lo+nn.BlockRows()))
	})
}

// draw fills x, [rows][dim], with samples first, first+1, … after refine steps of
// the transition kernel. If logDensity, [rows], is not nil, it receives the
// generator's ln q(x), of the states before refinement.
func (d *sampler) draw(x []float32, logDensity []float64, first uint64, refine int) {
	s := d.s
	dim, latent, seed := s.nets.dim, s.nets.latent, s.config.Training.Seed
	d.each(len(x)/dim, func(b *samplerBuffers, lo, hi int) {
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

// density sets dst to the generator's ln q of the states x, [rows][dim], by the
// inverse flow.
func (d *sampler) density(dst []float64, x []float32) {
	dim := d.s.nets.dim
	d.each(len(dst), func(b *samplerBuffers, lo, hi int) {
		p := b.pass.(*flowPass)
		p.inverse(b.noise[:(hi-lo)*dim], x[lo*dim:hi*dim], d.weights)
		p.logDensity(dst[lo:hi])
	})
}

// LogDensity sets dst[r] = ln q(x_r), the exact density of the generator with
// parameters params, for the states x, row-major [len(dst)][dim].
func (s *system) LogDensity(dst []float64, params, x []float32) error {
	if _, ok := s.generator.(*flow); !ok {
		return fmt.Errorf("generator.kind: the density of a %s generator is not known", s.config.Generator.Kind)
	}
	if len(x) != len(dst)*s.nets.dim {
		return fmt.Errorf("%d numbers are not %d states of %d coordinates", len(x), len(dst), s.nets.dim)
	}
	s.newSampler(params).density(dst, x)
	return nil
}

// Formats lists the layouts of samples.
func (s *system) Formats() []engine.Format {
	return []engine.Format{
		{Name: "states", Descr: "'<f4'", Shape: []int{s.nets.dim}, RowBytes: 4 * s.nets.dim,
			Doc: "the coordinates of x as float32"},
	}
}

// Sample implements engine.Sampler.
func (s *system) Sample(dst []byte, format string, params []float32, first uint64, n, refine int) error {
	if err := engine.SampleRange(first, maxSamples, n, refine, maxSteps); err != nil {
		return err
	}
	if format != "states" {
		return fmt.Errorf("format: %q is not states", format)
	}
	x := make([]float32, n*s.nets.dim)
	s.newSampler(params).draw(x, nil, first, refine)
	for i, v := range x {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
	}
	return nil
}

var (
	_ engine.Sampler   = (*system)(nil)
	_ engine.Evaluator = (*system)(nil)
)
