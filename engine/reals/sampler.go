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
	"github.com/revgen/revgen/internal/pool"
)

// A Sampler runs a trained generator, in pieces of a fixed number of rows that
// any thread can take.
type Sampler struct {
	s       *System
	weights *weights
	tools   *pool.Tools[*Buffers]
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
	d := &Sampler{s: s, weights: s.nets.newWeights(false)}
	d.weights.params = params
	for part := range s.nets.parts() {
		s.nets.pack(d.weights, part)
	}
	d.tools = pool.NewTools(s.workers, func() *Buffers {
		b := &Buffers{
			pass:  s.generator.newPass(nn.BlockRows(), false),
			moves: s.transition.newScratch(nn.BlockRows()),
			noise: make([]float32, nn.BlockRows()*s.nets.latent),
		}
		b.Target, b.moves.halted = b.moves.target, s.workers.Halted
		return b
	})
	return d
}

// Each calls body for the pieces lo … hi−1 of a number of rows, concurrently.
func (d *Sampler) Each(rows int, body func(b *Buffers, lo, hi int)) {
	d.tools.Rows(rows, nn.BlockRows(), body)
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
			b.pass.(densePass).logDensity(logDensity[lo:hi])
		}
		if refine > 0 {
			moving := rng.Stream(seed, rng.SampleTransition, 0)
			s.transition.run(states, refine, &moving, at, b.moves)
		}
	})
}

// HasDensity reports whether the generator's density is known.
func (s *System) HasDensity() bool {
	return s.config.Generator.Kind != "residual"
}

// Density sets dst to the generator's ln q of the states x, [rows][dim].
func (d *Sampler) Density(dst []float64, x []float32) {
	dim := d.s.nets.dim
	d.Each(len(dst), func(b *Buffers, lo, hi int) { d.LogDensity(b, dst[lo:hi], x[lo*dim:hi*dim]) })
}

// LogDensity sets dst to the generator's ln q of up to a piece's rows of states x.
func (d *Sampler) LogDensity(b *Buffers, dst []float64, x []float32) {
	b.pass.(densePass).density(dst, x, d.weights)
}

// Laws returns the weights of the maps of standard normal noise, z ∈ R^d, that
// make up a generator whose density is known: one of a flow, one for each
// component of a mixture.
func (d *Sampler) Laws() (all []float64) {
	d.tools.Lend(func(b *Buffers) {
		p := b.pass.(densePass)
		for law := range p.laws() {
			all = append(all, p.weight(law, d.weights))
		}
	})
	return all
}

// Image sets x to the states that one of the Laws makes of up to a piece's rows of
// noise z, [rows][dim], and logQ to their log-densities.
func (d *Sampler) Image(b *Buffers, x, z []float32, law int, logQ []float64) {
	p := b.pass.(densePass)
	p.image(x, z, law, d.weights)
	p.logDensity(logQ)
}

// Weigh sets r to R = ln q(x) − ln π(x) of the samples first, first+1, … as the
// generator draws them, with which engine.NewImportance weighs them, and x,
// [len(r)][dim], to the samples themselves.
func (d *Sampler) Weigh(r []float64, x []float32, first uint64) {
	dim := d.s.nets.dim
	d.Draw(x, r, first, 0)
	d.Each(len(r), func(b *Buffers, lo, hi int) {
		logPi := b.moves.current[:hi-lo]
		b.Target.LogDensity(logPi, x[lo*dim:hi*dim])
		for i, v := range logPi {
			r[lo+i] -= float64(v)
		}
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
	d := s.nets.dim
	all := []engine.Format{
		{Name: "states", Descr: "'<f4'", Shape: []int{d}, RowBytes: 4 * d,
			Doc: "the coordinates of x as float32"},
	}
	if s.HasDensity() {
		all = append(all, engine.Format{
			Name: weighted, Descr: fmt.Sprintf("[('x', '<f4', (%d,)), ('log_weight', '<f8')]", d), RowBytes: 4*d + 8,
			Doc:       "the coordinates of x as float32, and ln w = ln π − ln q as float64: means over π are Σ w f / Σ w, and Z is the mean of w",
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
	d := s.nets.dim
	x := make([]float32, n*d)
	switch {
	case format == "states":
		s.NewSampler(params).Draw(x, nil, first, refine)
		put(dst, x)
	case format == weighted && s.HasDensity():
		if refine > 0 {
			return fmt.Errorf("refine: the density of refined samples is not known, and so are their weights; leave it 0, or take another format")
		}
		r := make([]float64, n)
		s.NewSampler(params).Weigh(r, x, first)
		for i, v := range r {
			row := dst[i*(4*d+8):]
			put(row, x[i*d:(i+1)*d])
			binary.LittleEndian.PutUint64(row[4*d:], math.Float64bits(-v))
		}
	default:
		return fmt.Errorf("format: %q is not one of the samples' formats", format)
	}
	return nil
}

// put writes numbers in the order of bytes of the formats.
func put(dst []byte, x []float32) {
	for i, v := range x {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
	}
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
