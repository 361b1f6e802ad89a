package mixed

import (
	"context"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// scout looks for where a mode of a target has its weight. A target that says where its
// modes are Placed is believed.
func (g *GeneratorConfig) scout(ctx context.Context, t Target, mode uint8, seed uint64, workers *pool.Pool) (*mixture.Found, error) {
	var center []float64
	var scale float64
	if p, ok := t.(Placed); ok {
		center, scale = p.Place(int(mode))
	}
	return g.Scout.Run(ctx, t.Dim(), center, scale, 0, func() mixture.Density {
		density, k := densityOf(own(t)), []uint8(nil)
		return func(dst []float64, x []float32) {
			for len(k) < len(dst) {
				k = append(k, mode)
			}
			density(dst, x, k[:len(dst)])
		}
	}, seed, 2*uint32(mode), workers)
}

// placed is what a step of a mixture of labelled Gaussians needs, whose density is
//
//	q(x, k) = Σ_{j of mode k} w_j N(x | μ_j, Σ_j),
//
// logits of the modes and a mixture for each, beside what any batch has.
type placed struct {
	packed     *mixture.Packed
	work       []*mixture.Work // of blocks
	normals    [][]float32
	divergence *engine.Divergence
	beta       float64
}

func newPlaced(s *System) *placed {
	m := s.generator.base
	p := &placed{packed: m.NewPacked(), divergence: engine.NewDivergence(&s.config.Training, 0)}
	for range s.lanes.Blocks() {
		p.work = append(p.work, m.NewWork(nn.BlockRows()))
		p.normals = append(p.normals, make([]float32, nn.BlockRows()*m.Dim()))
	}
	return p
}

// place sets params to a mixture where populations of Metropolis chains find the
// modes' weight, and the modes' probabilities to what these say.
func (s *System) place(ctx context.Context, params []float32) error {
	g, seed := s.generator, s.config.Training.Seed
	all := make([][]mixture.Component, g.modes)
	logZ := make([]float64, g.modes)
	highest := math.Inf(-1)
	for mode := range all {
		found, err := g.config.scout(ctx, s.target, uint8(mode), seed, s.workers)
		if err != nil {
			return err
		}
		c := rng.Stream(seed, rng.Scouting, 2*uint32(mode)+1)
		all[mode] = found.Place(ctx, g.dim, g.config.Components, &c)
		if err := ctx.Err(); err != nil {
			return err
		}
		logZ[mode] = found.LogZ
		highest = max(highest, found.LogZ)
	}
	// A mode that seems to have nothing starts with little, and can still gain.
	const little = 1e-3
	for mode, components := range all {
		for i := range components {
			components[i].Weight *= max(little, math.Exp(logZ[mode]-highest))
		}
	}
	g.base.Place(params, all)
	return nil
}

// drawMixture is forward of Gaussians: the first word of a sample's block chooses
// one, d normals make its x.
func (g *generator) drawMixture(b *batch, p *mixture.Packed, lo, hi int, from *noise, first uint64, uniforms, normals []float32, w *mixture.Work) {
	d := g.dim
	rng.Normals(normals[:(hi-lo)*d], d, &from.latent, first)
	asm.Uniforms(uniforms[:4*(hi-lo)], &from.head, first)
	for r := range hi - lo {
		j := p.Choose(0, float64(uniforms[4*r]))
		p.Point(b.x[(lo+r)*d:][:d], normals[r*d:][:d], j, w)
		b.k[lo+r] = uint8(j % g.modes)
	}
}

// weigh sets R of a block that was just drawn, at the step's temperature.
func (p *placed) weigh(s *System, block, lo, hi int) {
	d := s.generator.dim
	x, k, r := s.batch.x[lo*d:hi*d], s.batch.k[lo:hi], p.divergence.R[lo:hi]
	p.packed.LogDensity(r, x, k, p.work[block])
	logPi := s.moves[block].next[:hi-lo]
	s.moves[block].density(logPi, x, k)
	for i, v := range logPi {
		r[i] -= p.beta * v
	}
}
