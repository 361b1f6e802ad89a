package mixed

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// A population takes the shape of modes up to inShape coordinates, and of more than
// someModes in reasonable time up to inTime coordinates. On all others Gaussians settle.
const (
	inShape   = 16
	inTime    = 6
	someModes = 16
)

// settles reports whether Gaussians settle on the modes of a target.
func settles(t Target) bool {
	return t.Dim() > inShape || t.Dim() > inTime && t.Modes() > someModes
}

// scout looks for where a mode of a target has its weight. A target that says where its
// modes are Placed is believed.
func (g *GeneratorConfig) scout(ctx context.Context, t Target, mode uint8, seed uint64, workers *pool.Pool) (*mixture.Found, error) {
	var center []float64
	var scale float64
	if p, ok := t.(Placed); ok {
		center, scale = p.Place(int(mode))
	}
	s := g.Scout.Scout(center, scale, seed)
	s.Stream, s.Settle = 2*uint32(mode), settles(t)
	found, err := s.Run(ctx, t.Dim(), func() mixture.Density {
		density, k := densityOf(own(t)), []uint8(nil)
		return func(dst []float64, x []float32) {
			for len(k) < len(dst) {
				k = append(k, mode)
			}
			density(dst, x, k[:len(dst)])
		}
	}, workers)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("mode %d: %w", mode, err)
	case len(found.Gaussians) == 0 && t.Dim() > mixture.InShape:
		return nil, fmt.Errorf("mode %d: no Gaussian settles where walkers found weight: ln π has no curvature there that differences of it show, or is −∞ all around; bound the coordinates, say where the weight is, or take a generator of another kind", mode)
	}
	return found, nil
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
	logZ, least := make([]float64, g.modes), make([]float64, g.modes)
	highest := math.Inf(-1)
	// A mode that seems to have nothing starts with little, and can still gain; but where
	// Gaussians have settled its ln Z is known, and samples of it would be of no use.
	const little, next = 1e-3, 1e-30
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
		logZ[mode], least[mode] = found.LogZ, little
		if len(found.Gaussians) > 0 {
			least[mode] = next
		}
		highest = max(highest, found.LogZ)
	}
	for mode, components := range all {
		for i := range components {
			components[i].Weight *= max(least[mode], math.Exp(logZ[mode]-highest))
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
