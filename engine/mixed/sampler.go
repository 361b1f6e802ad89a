package mixed

import (
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/vectors"
)

// ensemble returns what samples of the generator are drawn and measured by.
func (s *System) ensemble() *vectors.Ensemble {
	e := &vectors.Ensemble{
		Dim: s.target.Dim(), Modes: s.target.Modes(), Dense: s.generator.base != nil,
		Place: func(mode int) ([]float64, float64) { return place(s.target, mode) },
		Mover: func() vectors.Mover {
			m := s.transition.newScratch()
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
	generator *generator
	seed      uint64
	params    []float32
	batch     *batch
	uniforms  []float32
	packed    *nn.Packed

	base    *mixture.Packed // of a mixture
	normals []float32
	work    *mixture.Work
}

// drawers makes drawers of the generator with the given parameters.
func (s *System) drawers(params []float32) func() vectors.Drawer {
	g, of := s.generator, drawer{generator: s.generator, seed: s.config.Training.Seed, params: params}
	if g.base != nil {
		of.base = g.base.NewPacked()
		of.base.Set(params)
	} else {
		of.packed = g.net.NewPacked(false)
		g.net.Pack(of.packed, params)
	}
	return func() vectors.Drawer {
		d := of
		d.batch, d.uniforms = g.newBatch(nn.BlockRows()), make([]float32, 4*nn.BlockRows())
		if g.base != nil {
			d.normals, d.work = make([]float32, nn.BlockRows()*g.dim), g.base.NewWork(nn.BlockRows())
		}
		return &d
	}
}

// Draw implements vectors.Drawer.
func (d *drawer) Draw(s vectors.States, logQ []float64, first uint64) {
	from, n := noise{rng.Stream(d.seed, rng.SampleLatent, 0), rng.Stream(d.seed, rng.SampleHead, 0)}, s.Len()
	if d.base != nil {
		d.generator.drawMixture(d.batch, d.base, 0, n, &from, first, d.uniforms, d.normals, d.work)
	} else {
		d.generator.forward(d.batch, d.packed, d.params, 0, n, &from, first, d.uniforms)
	}
	copy(s.X, d.batch.x)
	copy(s.K, d.batch.k)
	if logQ != nil {
		d.LogDensity(logQ, s)
	}
}

// LogDensity implements vectors.Drawer.
func (d *drawer) LogDensity(dst []float64, s vectors.States) {
	d.base.LogDensity(dst, s.X, s.K, d.work)
}
