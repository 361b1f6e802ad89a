package mixed

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/internal/pool"
)

// Seen is what is known of a target that a recipe would look for otherwise.
type Seen struct {
	Components int     // Gaussians that describe a mode; 0 if that is not known
	Bent       bool    // whether they have to bend
	Width      float64 // typical standard deviation of a Gaussian
}

// Gaussians for each mode that is not Gaussian: on the line they suffice as they are, and
// elsewhere few that bend do more than many.
const (
	line   = 12
	beyond = 8
	fewer  = 4 // that have settled, up to mixture.InShape coordinates
)

const fewestWalkers = 128 // of a mode

// Recipe sets all but seed and evaluation to what is best for a target: a mixture
// of Gaussians for each mode, with a density, trained on the loss of detailed balance; for quick
// in fewer steps. Where the target has not been seen, populations of
// Metropolis chains look at its modes. Recipe returns what it chose and why.
func (c *Config) Recipe(ctx context.Context, t Target, seen Seen, quick bool) (why string, err error) {
	g, d := &c.Generator, t.Dim()
	g.Kind = "mixture"
	g.Scout = mixture.ScoutConfig{Population: 2048, Moves: 10}
	switch {
	case settles(t):
		// Each mode has walkers of its own, however many there are.
		g.Scout.Population = min(max(4*mixture.SettledPopulation/t.Modes(), fewestWalkers), mixture.SettledPopulation)
	case quick || t.Modes() > someModes:
		g.Scout.Population = 1024
	}
	if seen.Components == 0 {
		if seen, err = c.look(ctx, t); err != nil {
			return "", err
		}
	}
	g.Components, g.Bent = seen.Components, seen.Bent
	why = mixture.Name(g.Components, fmt.Sprintf(" for each of %d modes", t.Modes()), g.Bent) + " with a density"

	c.Transition = TransitionConfig{Order: "random", Across: 0.5, Flip: 0.5, Steps: 3, Annealing: engine.Annealing{AnnealFrom: 1}}
	if t.Modes() == 1 {
		c.Transition.Across = 0
	}
	c.Transition.Sigma = mixture.Lengths(seen.Width, d)
	c.Loss.Kind, c.Loss.Partners = "balance", 0.9
	if g.Bent { // few Gaussians, which moves show what they do not cover
		c.Loss.Partners = 0.5
	}

	rate, steps := 0.02, 3000
	if quick {
		steps /= 3
	}
	if settles(t) {
		rate, steps = mixture.SettledRate, mixture.SettledSteps
		if !g.Bent {
			// Nothing is left to be learned, and noise grows with the numbers of a Gaussian.
			rate /= 30 * max(1, math.Pow(float64(d)/mixture.InShape, 2))
		}
		if quick || !g.Bent {
			steps = steps * 2 / 5
		}
	}
	c.Training.Methods = search.ByGradient()
	mixture.Train(&c.Training, rate, steps)
	return why, nil
}

// look says of a target what populations find of its modes: one Gaussian is enough if
// each is Gaussian.
func (c *Config) look(ctx context.Context, t Target) (seen Seen, err error) {
	workers := pool.New(0)
	defer workers.Close()
	d, seed := t.Dim(), c.Training.Seed
	seen.Components = 1
	for mode := range t.Modes() {
		stream := rng.Stream(seed, rng.Scouting, 2*uint32(mode)+1)
		found, err := c.Generator.scout(ctx, t, uint8(mode), seed, workers)
		if err != nil {
			return Seen{}, err
		}
		look := found.Look(ctx, d, &stream)
		if err := ctx.Err(); err != nil {
			return Seen{}, err
		}
		seen.Width += look.Width / float64(t.Modes())
		switch {
		case look.Gaussian:
		case len(found.Gaussians) > 0:
			seen.Components, seen.Bent = max(seen.Components, look.Components), true
			if d <= mixture.InShape {
				seen.Components = max(seen.Components, fewer)
			}
		case d == 1:
			seen.Components = line
		default:
			seen.Components, seen.Bent = max(seen.Components, beyond), true
		}
	}
	return seen, nil
}
