package vectors

import (
	"context"
	"errors"

	"gonum.org/v1/gonum/floats"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/pool"
)

// A Sampler draws samples of a trained generator. Any thread can take any piece of them.
type Sampler struct{ tools *pool.Tools[*Tools] }

// Tools hold what one thread needs to draw and evaluate a piece of states.
type Tools struct {
	nets    *networks
	pass    pass
	weights *weights
	streams noise
	z, u    []float32
	mover   *mover
	log     []float64 // buffer for ln π or ln q
}

// NewSampler returns a sampler of the generator with the given parameters, which must not
// change while it is used.
func (e *Ensemble) NewSampler(params []float32) *Sampler {
	n, rows := e.generator.networks(), nn.BlockRows()
	w := n.newWeights(false)
	w.params = params
	for net := range n.packs() {
		n.pack(w, net)
	}
	streams := noise{rng.Stream(e.seed, rng.SampleLatent, 0), rng.Stream(e.seed, rng.SampleHead, 0)}
	return &Sampler{pool.NewTools(e.Workers, func() *Tools {
		return &Tools{
			nets: n, pass: e.generator.newPass(rows, false), weights: w, streams: streams, mover: e.newMover(),
			z: make([]float32, rows*n.latent), u: make([]float32, n.uniforms(rows)), log: make([]float64, rows),
		}
	})}
}

// draw sets states to samples first, first+1, …, and logQ, unless it is nil, to their ln q.
func (t *Tools) draw(s States, logQ []float64, first uint64) {
	t.nets.draw(t.pass, s, &t.streams, first, t.z[:s.Len()*t.nets.latent], t.u[:t.nets.uniforms(s.Len())], t.weights)
	if logQ != nil {
		t.pass.(densePass).logDensity(logQ)
	}
}

// LogDensity sets dst to ln q of up to a piece's states. The density must be known.
func (t *Tools) LogDensity(dst []float64, s States) { t.pass.(densePass).density(dst, s, t.weights) }

// Image sets x to the map of z by one of the Laws, for up to a piece's rows of noise z, [rows][dim]. It
// sets logQ to ln q of the states x.
func (t *Tools) Image(x, z []float32, law int, logQ []float64) {
	p := t.pass.(densePass)
	p.image(x, z, law, t.weights)
	p.logDensity(logQ)
}

// Laws returns the weights of the laws that make up a generator without modes whose density is known:
// one of a flow, one for each component of a mixture. Each law is a map of standard normal noise
// z ∈ R^d.
func (d *Sampler) Laws() (weights []float64) {
	d.tools.Lend(func(t *Tools) { weights = t.pass.(densePass).laws(t.weights) })
	return weights
}

// Each calls body for the pieces lo … hi−1 of a number of rows, concurrently.
func (d *Sampler) Each(rows int, body func(t *Tools, lo, hi int)) {
	d.tools.Rows(rows, nn.BlockRows(), body)
}

// Draw sets states to samples first, first+1, …, and logQ, unless it is nil, to their ln q.
func (d *Sampler) Draw(s States, logQ []float64, first uint64) {
	d.Each(s.Len(), func(t *Tools, lo, hi int) {
		t.draw(s.Part(lo, hi), lists.Part(logQ, lo, hi), first+uint64(lo))
	})
}

// Density sets dst to the generator's ln q of states.
func (d *Sampler) Density(dst []float64, s States) {
	d.Each(len(dst), func(t *Tools, lo, hi int) { t.LogDensity(dst[lo:hi], s.Part(lo, hi)) })
}

// Weigh sets s to the samples first, first+1, … as the generator draws them, and r to their
// R = ln q − ln π, from which measure.Weigh gets weights.
func (d *Sampler) Weigh(r []float64, s States, first uint64) {
	d.Draw(s, r, first)
	d.Each(len(r), func(t *Tools, lo, hi int) {
		logPi := t.log[:hi-lo]
		t.mover.LogDensity(logPi, s.Part(lo, hi))
		floats.Sub(r[lo:hi], logPi)
	})
}

// drawnAtOnce is the number of samples after which DrawAll looks whether its context has ended.
const drawnAtOnce = 1 << 16

// DrawAll sets states to samples 0, 1, …, and logQ, unless it is nil, to their ln q. A sample that is not
// finite is an error.
func (d *Sampler) DrawAll(ctx context.Context, s States, logQ []float64) error {
	for first := 0; first < s.Len(); first += drawnAtOnce {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(first+drawnAtOnce, s.Len())
		d.Draw(s.Part(first, end), lists.Part(logQ, first, end), uint64(first))
	}
	if !asm.AllFinite(s.X) {
		return errors.New("a sample of the generator is not finite")
	}
	return nil
}
