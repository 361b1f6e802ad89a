package reals

import (
	"context"
	"fmt"

	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// Gaussians of a target that is not known to be made of them: on the line and in the
// plane they suffice. Beyond, couplings that bend do more, of few Gaussians; but modes
// that lie apart are learned better without, shells by many Gaussians, which bend in few
// dimensions only, and rather heavy tails in many dimensions by many that do not bend.
const (
	onLine  = 24
	inSpace = mixture.Many
	few     = 8
	fewer   = 4 // beyond someSpace dimensions
	ofEach  = 8 // of each coordinate by itself

	onlySpace = 3 // in which a joint mixture holds two modes of each coordinate

	bentSpace = 4 // up to which what is far from quadratic is learned better by maps that bend
	someSpace = 6
	mostSpace = 16

	veryHeavy = 2 // excess kurtosis of coordinates whose scale is another coordinate's

	free = 0.4 // deviation that others leave a coordinate, of its own, below which training takes smaller steps

	fewLines = 16 // members to a member of the wide Gaussian, from which on modes may be lost
)

// Recipe sets all but seed and evaluation to what is best for a target: a mixture
// of Gaussians with a density, trained by balance, with couplings where there
// are many dimensions; for quick in fewer steps. components is the
// number of Gaussians that the target is known to be a mixture of; if it is 0, a
// population of Metropolis chains looks for what the target is like. A generator that is a
// RealNVP stays one. Recipe returns what it chose and why.
func (c *Config) Recipe(ctx context.Context, t Target, components int, quick bool) (why string, err error) {
	g, d := &c.Generator, t.Dim()
	c.Training.Methods = search.ByGradient()
	if g.Kind == "realnvp" {
		c.Flow(d, quick)
		return "a RealNVP, as generator.kind asks", nil
	}
	g.Kind, g.Slope, g.Gain, g.Partition, g.Clamp = "mixture", 0.01, 0.01, "parity", 2
	g.Scout = mixture.ScoutConfig{Population: 2048, Moves: 10}
	if quick {
		g.Scout.Population = 1024
	}
	if d > mixture.InShape {
		g.Scout.Population = mixture.SettledPopulation
	}
	if components > 1 {
		// Each Gaussian is to have members of its own in the end, and members that ten
		// moves leave behind in many dimensions are resampled away.
		g.Scout.Moves = max(g.Scout.Moves, d+d/4)
	}
	g.Base, g.Components, g.Depth, g.Hidden, g.Bent, g.Changed = "joint", components, 0, []int{32, 32}, false, nil
	look := mixture.Look{Width: 1}
	if components > 0 {
		why = fmt.Sprintf("a mixture of %d Gaussians, because the target is one", components)
		if p, ok := t.(Scaled); ok {
			look.Width = p.Width()
		}
	} else {
		if look, why, err = c.look(ctx, t); err != nil {
			return "", err
		}
	}

	c.Transition.Sigma, c.Transition.Steps = mixture.Lengths(look.Width, d), 5
	c.Transition.Annealing.Anneal, c.Transition.Annealing.AnnealFrom = 0, 1
	c.Loss.Kind, c.Loss.Partners = "balance", 0.75

	rate, steps := 0.02, 1500
	switch {
	case g.Depth > 0 && !g.Bent:
		rate, steps = 0.005, 4000
	case d > mixture.InShape && g.Base == "joint":
		rate, steps = mixture.SettledRate, mixture.SettledSteps
		if g.Depth > 0 && look.Freedom < free {
			// Couplings move coordinates in their own units, of which the others leave little.
			rate = number.Rounded(rate*look.Freedom/free, 2)
		}
	case g.Depth > 0 && d > mostSpace:
		rate, steps = 0.003, 2000
	case g.Depth > 0:
		rate, steps = 0.005, 2500
	case components == 0 && g.Components > 1:
		steps = 2500
	}
	if quick {
		steps = steps * 2 / 5
	}
	mixture.Train(&c.Training, rate, steps)
	return why, nil
}

// A Scaled target knows the standard deviation that is typical of its modes.
type Scaled interface {
	Target
	Width() float64
}

// look chooses components and couplings by what a population finds of the target,
// and returns that.
func (c *Config) look(ctx context.Context, t Target) (look mixture.Look, why string, err error) {
	workers := pool.New(0)
	defer workers.Close()
	g, d, seed := &c.Generator, t.Dim(), c.Training.Seed
	stream := rng.Stream(seed, rng.Scouting, 1)
	found, err := g.scout(ctx, t, seed, workers)
	if err != nil {
		return look, "", err
	}
	look = found.Look(ctx, d, &stream)
	if err := ctx.Err(); err != nil {
		return look, "", err
	}
	if look.Gaussian {
		g.Components = 1
		return look, fmt.Sprintf("a Gaussian, because ln π is quadratic where %d Metropolis chains found weight", len(found.LogPi)), nil
	}
	const sum = "ln π is a sum of functions of one coordinate each"
	because := "ln π is not quadratic"
	switch {
	case d > mixture.InShape && len(found.Gaussians) == 0 && found.Separable(d, densityOf(t)):
		g.Base, g.Components = "product", ofEach
		because = sum
	case d > mixture.InShape:
		g.Components, g.Bent = look.Components, true
		if look.Apart {
			because = "modes lie apart"
			break
		}
		g.Depth, g.Hidden = 4, []int{64, 64}
		g.divide(found, t)
	case d == 1:
		g.Components = onLine
	case d > onlySpace && found.Factorises(ctx, d, densityOf(t), &stream):
		g.Base, g.Components = "product", ofEach
		because = "that comes nearer to the target than joint ones"
		if found.Separable(d, densityOf(t)) {
			because = sum
			break
		}
		g.Depth, g.Bent = 4, true
		if d > mostSpace {
			g.Hidden = []int{64, 64}
		}
		g.divide(found, t)
	case d == 2, d > someSpace && d <= mostSpace && !look.Curved && !look.Apart && look.Excess >= 0 && look.Excess < veryHeavy:
		g.Components = look.Components
		if g.Components > inSpace {
			because = "so many leave little of ln π unexplained"
			g.Scout.Population *= 4 // the fewer members, the sooner a mode in a corner has none
		}
	case look.Apart && d <= mostSpace:
		g.Components, g.Bent = look.Components, true
		because = "modes lie apart"
	case look.Curved && d <= mostSpace:
		g.Components, g.Depth, g.Bent = inSpace, 8, d <= bentSpace
		because = "ln π is far from quadratic"
	default:
		g.Components, g.Depth, g.Bent = few, 4, true
		switch {
		case d > mostSpace && !look.Several:
			g.Components = 1
		case d > someSpace:
			g.Components = fewer
		}
		if d > mostSpace {
			g.Hidden = []int{64, 64}
		}
		g.divide(found, t)
	}
	why = fmt.Sprintf("%s, because %s where %d Metropolis chains found weight", g.name(), because, len(found.LogPi))
	if found.Lines < len(found.LogPi)/fewLines && g.Base == "joint" {
		why += fmt.Sprintf(", which descend from %d of them: modes that these did not meet are missing", found.Lines)
	}
	return look, why, nil
}

// divide lists the coordinates of one part where a population shows which have most to
// do with those of the other.
func (g *GeneratorConfig) divide(found *mixture.Found, t Target) {
	if part := found.Part(t.Dim(), densityOf(t)); part != nil {
		g.Partition, g.Changed = "listed", part
	}
}
