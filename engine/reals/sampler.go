package reals

import (
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/vectors"
)

// ensemble returns what samples of the generator are drawn and measured by.
func (s *System) ensemble() *vectors.Ensemble {
	e := &vectors.Ensemble{
		Dim: s.nets.dim, Dense: s.config.Generator.Kind != "residual", Place: func(int) ([]float64, float64) { return place(s.target) },
		Mover: func() vectors.Mover {
			m := s.transition.newScratch(nn.BlockRows())
			m.halted = s.workers.Halted
			return m
		},
		Drawer: s.drawers, Most: maxSamples, Refined: maxSteps, Seed: s.config.Training.Seed, Workers: s.workers,
	}
	if o, ok := s.target.(Observed); ok {
		e.Names = o.Observables()
	}
	return e
}

// A drawer runs a trained generator on up to a block's rows.
type drawer struct {
	pass    pass
	weights *weights
	noise   []float32
	latent  int
	seed    uint64
}

// drawers makes drawers of the generator with the given parameters.
func (s *System) drawers(params []float32) func() vectors.Drawer {
	w := s.nets.newWeights(false)
	w.params = params
	for part := range s.nets.parts() {
		s.nets.pack(w, part)
	}
	return func() vectors.Drawer {
		latent := s.nets.latent
		return &drawer{s.generator.newPass(nn.BlockRows(), false), w, make([]float32, nn.BlockRows()*latent), latent, s.config.Training.Seed}
	}
}

// Draw implements vectors.Drawer.
func (d *drawer) Draw(s vectors.States, logQ []float64, first uint64) {
	from, z := rng.Stream(d.seed, rng.SampleLatent, 0), d.noise[:s.Len()*d.latent]
	rng.Normals(z, d.latent, &from, first)
	d.pass.forward(s.X, z, d.weights)
	if logQ != nil {
		d.pass.(densePass).logDensity(logQ)
	}
}

// LogDensity implements vectors.Drawer.
func (d *drawer) LogDensity(dst []float64, s vectors.States) {
	d.pass.(densePass).density(dst, s.X, d.weights)
}

// Laws returns the weights of the maps of standard normal noise, z ∈ R^d, that
// make up a generator whose density is known: one of a flow, one for each
// component of a mixture.
func (s *System) Laws(params []float32) (all []float64) {
	d := s.drawers(params)().(*drawer)
	p := d.pass.(densePass)
	for law := range p.laws() {
		all = append(all, p.weight(law, d.weights))
	}
	return all
}

// Image sets x to the states that one of the Laws makes of up to a piece's rows of
// noise z, [rows][dim], and logQ to their log-densities.
func Image(t *vectors.Tools, x, z []float32, law int, logQ []float64) {
	d := t.Drawer.(*drawer)
	p := d.pass.(densePass)
	p.image(x, z, law, d.weights)
	p.logDensity(logQ)
}
