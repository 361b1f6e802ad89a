package mixed

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/vectors"
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

// A density is a mixture of labelled Gaussians,
//
//	q(x, k) = Σ_{j of mode k} w_j N(x | μ_j, Σ_j):
//
// logits of the modes and a mixture for each.
type density struct {
	*mixture.Model
	config GeneratorConfig
	modes  int
}

func newDensity(c GeneratorConfig, dim, modes int) *density {
	return &density{mixture.New(dim, modes, c.Components, c.Bent), c, modes}
}

// initialize places a mixture where populations of Metropolis chains find the modes'
// weight, and gives the modes the probabilities that these say.
func (g *density) initialize(ctx context.Context, s *System, params []float32) error {
	seed := s.config.Training.Seed
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
		all[mode] = found.Place(ctx, g.Dim(), g.config.Components, &c)
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
	g.Place(params, all)
	return nil
}

// draw sets states to those of the streams from first on: the first word of a sample's
// block chooses a Gaussian, d normals make its x. uniforms and normals are scratch for 4
// and d numbers a state.
func (g *density) draw(s vectors.States, p *mixture.Packed, from *noise, first uint64, uniforms, normals []float32, w *mixture.Work) {
	d, n := s.Dim, s.Len()
	rng.Normals(normals[:n*d], d, &from.latent, first)
	asm.Uniforms(uniforms[:4*n], &from.head, first)
	for r := range n {
		j := p.Choose(0, float64(uniforms[4*r]))
		p.Point(s.X[r*d:][:d], normals[r*d:][:d], j, w)
		s.K[r] = uint8(j % g.modes)
	}
}
