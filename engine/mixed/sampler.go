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
		Dim: s.target.Dim(), Modes: s.target.Modes(),
		Place: func(mode int) ([]float64, float64) { return place(s.target, mode) },
		Mover: func() vectors.Mover {
			m := s.transition.newScratch()
			m.halted = s.workers.Halted
			return m
		},
		Drawer: func(params []float32) func() vectors.Drawer {
			return s.generator.drawers(params, s.config.Training.Seed)
		},
		Most: maxSamples, Refined: maxSteps, Seed: s.config.Training.Seed, Workers: s.workers,
	}
	if o, ok := s.target.(Observed); ok {
		e.Names = o.Observables()
	}
	return e
}

// A drawer runs a trained generator on up to a block's rows.
type drawer struct {
	from     noise
	uniforms []float32
}

func newDrawer(seed uint64) drawer {
	return drawer{noise{rng.Stream(seed, rng.SampleLatent, 0), rng.Stream(seed, rng.SampleHead, 0)}, make([]float32, 4*nn.BlockRows())}
}

type perceptronDrawer struct {
	drawer
	*perceptron
	params []float32
	packed *nn.Packed
	batch  *batch
}

func (g *perceptron) drawers(params []float32, seed uint64) func() vectors.Drawer {
	packed := g.NewPacked(false)
	g.Pack(packed, params)
	return func() vectors.Drawer {
		return &perceptronDrawer{newDrawer(seed), g, params, packed, g.newBatch(nn.BlockRows())}
	}
}

// Draw implements vectors.Drawer.
func (d *perceptronDrawer) Draw(s vectors.States, _ []float64, first uint64) {
	d.forward(d.batch, d.packed, d.params, 0, s.Len(), &d.from, first, d.uniforms)
	copy(s.X, d.batch.X)
	copy(s.K, d.batch.K)
}

// LogDensity implements vectors.Drawer for who asks a generator without a density.
func (d *perceptronDrawer) LogDensity([]float64, vectors.States) {
	panic("mixed: a perceptron has no density")
}

type densityDrawer struct {
	drawer
	*density
	packed  *mixture.Packed
	normals []float32
	work    *mixture.Work
}

func (g *density) drawers(params []float32, seed uint64) func() vectors.Drawer {
	packed := g.NewPacked()
	packed.Set(params)
	return func() vectors.Drawer {
		return &densityDrawer{newDrawer(seed), g, packed, make([]float32, nn.BlockRows()*g.Dim()), g.NewWork(nn.BlockRows())}
	}
}

// Draw implements vectors.Drawer.
func (d *densityDrawer) Draw(s vectors.States, logQ []float64, first uint64) {
	d.draw(s, d.packed, &d.from, first, d.uniforms, d.normals, d.work)
	if logQ != nil {
		d.LogDensity(logQ, s)
	}
}

// LogDensity implements vectors.Drawer.
func (d *densityDrawer) LogDensity(dst []float64, s vectors.States) {
	d.packed.LogDensity(dst, s.X, s.K, d.work)
}
