package mixed

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/internal/number"
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
)

// Recipe sets all but seed and evaluation to what is best for a target: a mixture
// of Gaussians for each mode, with a density, trained on the divergence; for quick
// in a third of the steps. Where the target has not been seen, populations of
// Metropolis chains look at its modes. Recipe returns what it chose and why.
func (c *Config) Recipe(ctx context.Context, t Target, seen Seen, quick bool) (why string, err error) {
	g, d := &c.Generator, t.Dim()
	g.Kind = "mixture"
	g.Scout = mixture.ScoutConfig{Population: 2048, Moves: 10}
	if quick {
		g.Scout.Population = 1024
	}
	if seen.Components == 0 {
		if seen, err = c.look(ctx, t); err != nil {
			return "", err
		}
	}
	g.Components, g.Bent = seen.Components, seen.Bent
	each := fmt.Sprintf("%d Gaussians", g.Components)
	if g.Components == 1 {
		each = "a Gaussian"
	}
	if g.Bent {
		each += ", bent,"
	}
	why = fmt.Sprintf("%s for each of %d modes: a generator with a density", each, t.Modes())

	c.Transition = TransitionConfig{Order: "random", Across: 0.5, Flip: 0.5, Steps: 20, Annealing: engine.Annealing{AnnealFrom: 1}}
	if t.Modes() == 1 {
		c.Transition.Across = 0
	}
	for _, f := range []float64{0.4, 1, 2.4} {
		c.Transition.Sigma = append(c.Transition.Sigma, number.Rounded(f*seen.Width/math.Sqrt(float64(d)), 2))
	}
	c.Loss.Kind = "divergence"

	steps := 3000
	if quick {
		steps /= 3
	}
	c.Training.Methods = search.ByGradient()
	mixture.Train(&c.Training, 0.02, steps)
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
		case d == 1:
			seen.Components = line
		default:
			seen.Components, seen.Bent = beyond, true
		}
	}
	return seen, nil
}
