package vectors

import (
	"cmp"
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

// Gaussians of a target that is not known to be made of them: on the line and in the
// plane they suffice. Beyond, couplings that bend do more, of few Gaussians; but modes
// that lie apart are learned better without, shells by many Gaussians, which bend in few
// dimensions only, and rather heavy tails in many dimensions by many that do not bend.
const (
	onLine  = 24
	inSpace = mixture.Many
	few     = 8 // and of each mode
	fewer   = 4 // beyond someSpace dimensions, and of modes that have settled up to mixture.InShape
	ofEach  = 8 // of each coordinate by itself

	onlySpace = 3 // in which a joint mixture holds two modes of each coordinate

	bentSpace = 4 // up to which what is far from quadratic is learned better by maps that bend
	someSpace = 6
	mostSpace = 16

	veryHeavy = 2 // excess kurtosis of coordinates whose scale is another coordinate's

	free = 0.4 // deviation that others leave a coordinate, of its own, below which training takes smaller steps

	lineOfMode    = 12  // Gaussians of a mode on the line, which do not bend
	fewestWalkers = 128 // of a mode

	fewMoves = 5 // of a look that spares evaluations

	fewLines = 16 // members to a member of the wide Gaussian, from which on modes may be lost
)

// Seen is what is known of a target, or of its modes, that a recipe would look for otherwise.
type Seen struct {
	Components int     // Gaussians that describe it, or a mode; 0 if that is not known
	Bent       bool    // whether those of modes have to bend
	Width      float64 // typical standard deviation of a Gaussian; of a target 0 stands for 1
}

// Recipe sets all but seed and evaluation to what is best for a target: a mixture
// of Gaussians with a density, trained by balance, with couplings where there
// are many dimensions; for quick in fewer steps. Where it is not known what mixture the
// target is, a population of Metropolis chains looks for what it is like. A generator that is a
// RealNVP stays one. Recipe returns what it chose and why.
func (c *Config) Recipe(ctx context.Context, t Target, seen Seen, quick bool) (why string, err error) {
	g, d, components := &c.Generator, t.Dim(), seen.Components
	c.Training.Methods = search.ByGradient()
	if g.Kind == "realnvp" {
		c.Flow(d, quick)
		return "a RealNVP, as generator.kind asks", nil
	}
	g.Kind, g.Slope, g.Gain, g.Partition, g.Clamp, g.Bend = "mixture", 0.01, 0.01, "parity", 3, 0.5
	g.Scout = mixture.ScoutConfig{Population: 2048, Moves: 10}
	spare := quick && Dear(t)
	switch {
	case spare:
		g.Scout = mixture.ScoutConfig{Population: max(512, 40*d), Moves: fewMoves}
	case quick:
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
	look := mixture.Look{Width: cmp.Or(seen.Width, 1)}
	if components > 0 {
		why = fmt.Sprintf("a mixture of %d Gaussians, because the target is one", components)
	} else if look, why, err = c.look(ctx, t, spare); err != nil {
		return "", err
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
		if g.Depth > 0 {
			// Couplings move coordinates in their own units, of which the others may leave little.
			// Noise grows with the numbers of the Gaussian.
			rate = number.Rounded(rate*min(1, look.Freedom/free)*math.Pow(mixture.InShape/float64(d), 2), 2)
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
	if spare {
		c.spare(d, look)
		why += "; as few evaluations as will do, because each takes long"
	}
	return why, nil
}

// spare lets each batch serve many steps, and training end when weights are level. Few steps, which are
// large, learn what is nearly Gaussian; modes, arms and shells take as many as for best.
func (c *Config) spare(d int, look mixture.Look) {
	t := &c.Training
	c.Loss.Partners, c.Loss.Economy, c.Evaluation.Samples = 0.95, Economy{Reuse: 15, Enough: 0.99}, 5000
	switch {
	case look.Gaussian, near(look) && d > 1 && d <= mostSpace:
		c.Loss.Reuse, c.Transition.Steps = 31, 1
		t.Batch, t.Steps, t.Optimizer.LearningRate = 2*t.Batch, t.Steps/2, 2*t.Optimizer.LearningRate
	case d <= mostSpace:
		c.Loss.Reuse, t.Steps = 7, t.Steps*5/2
	}
}

// near reports whether couplings have little to bend.
func near(look mixture.Look) bool { return !look.Several && !look.Curved }

// look chooses components and couplings by what a population finds of the target,
// and returns that.
func (c *Config) look(ctx context.Context, t Target, spare bool) (look mixture.Look, why string, err error) {
	workers := pool.New(0)
	defer workers.Close()
	g, d, seed := &c.Generator, t.Dim(), c.Training.Seed
	stream := rng.Stream(seed, rng.Scouting, 1)
	found, err := g.scout(ctx, t, 0, seed, workers)
	if err != nil {
		return look, "", err
	}
	look = found.Look(ctx, d, &stream)
	if err := ctx.Err(); err != nil {
		return look, "", err
	}
	if look.Gaussian {
		g.Components = 1
		return look, fmt.Sprintf("a Gaussian, because ln π is quadratic where %d Metropolis chains found probability mass", len(found.LogPi)), nil
	}
	straight := spare && near(look) // for which couplings do more by few evaluations
	const sum = "ln π is a sum of functions of one coordinate each"
	because := "ln π is not quadratic"
	switch {
	case d > mixture.InShape && len(found.Gaussians) == 0 && found.Separable(d, modeDensity(t, 0)):
		g.Base, g.Components = "product", ofEach
		because = sum
	case d > mixture.InShape:
		g.Components, g.Bent = look.Components, true
		if look.Apart {
			because = "modes lie apart"
			break
		}
		g.Depth = 4
		g.divide(found, t)
	case d == 1:
		g.Components = onLine
	case d > onlySpace && found.Factorises(ctx, d, modeDensity(t, 0), &stream):
		g.Base, g.Components = "product", ofEach
		because = "that comes nearer to the target than joint ones"
		if found.Separable(d, modeDensity(t, 0)) {
			because = sum
			break
		}
		g.Depth, g.Bent = 4, true
		g.divide(found, t)
	case !straight && (d == 2 || d > someSpace && d <= mostSpace && !look.Curved && !look.Apart && look.Excess >= 0 && look.Excess < veryHeavy):
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
		g.divide(found, t)
	}
	if g.Depth > 0 && d > mostSpace {
		g.Hidden = []int{64, 64}
	}
	why = fmt.Sprintf("%s, because %s where %d Metropolis chains found probability mass", g.name(), because, len(found.LogPi))
	if found.Far > 0 {
		why += fmt.Sprintf("; chains from elsewhere found modes that these had missed: %d", found.Far)
	}
	if found.Lines < len(found.LogPi)/fewLines && g.Base == "joint" {
		why += fmt.Sprintf("; all chains descend from %d of them, so modes that those did not meet are missing", found.Lines)
	}
	return look, why, nil
}

// divide lists the coordinates of one part where a population shows which have most to
// do with those of the other.
func (g *GeneratorConfig) divide(found *mixture.Found, t Target) {
	if part := found.Part(t.Dim(), modeDensity(t, 0)); part != nil {
		g.Partition, g.Changed = "listed", part
	}
}

// Recipe sets all but seed and evaluation to what is best for a target: a mixture
// of Gaussians for each mode, with a density, trained on the loss of detailed balance; for quick
// in fewer steps. Where the target has not been seen, populations of
// Metropolis chains look at its modes. Recipe returns what it chose and why.
func (c *ModalConfig) Recipe(ctx context.Context, t Target, seen Seen, quick bool) (why string, err error) {
	g, d, modes := &c.Generator, t.Dim(), modesOf(t)
	g.Kind = "mixture"
	g.Scout = mixture.ScoutConfig{Population: 2048, Moves: 10}
	switch {
	case gaussiansSettle(t):
		// Each mode has walkers of its own, however many there are.
		g.Scout.Population = min(max(4*mixture.SettledPopulation/modes, fewestWalkers), mixture.SettledPopulation)
	case quick || modes > manyModes:
		g.Scout.Population = 1024
	}
	if seen.Components == 0 {
		if seen, err = c.look(ctx, t); err != nil {
			return "", err
		}
	}
	g.Components, g.Bent = seen.Components, seen.Bent
	why = mixture.Name(g.Components, fmt.Sprintf(" for each of %d modes", modes), g.Bent) + " with a density"

	c.Transition = ModalTransition{Order: "random", Across: 0.5, Flip: 0.5, Steps: 3, Annealing: engine.Annealing{AnnealFrom: 1}}
	if modes == 1 {
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
	if gaussiansSettle(t) {
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
func (c *ModalConfig) look(ctx context.Context, t Target) (seen Seen, err error) {
	workers := pool.New(0)
	defer workers.Close()
	d, modes, seed := t.Dim(), modesOf(t), c.Training.Seed
	seen.Components = 1
	for mode := range modes {
		stream := rng.Stream(seed, rng.Scouting, 2*uint32(mode)+1)
		found, err := (*GeneratorConfig)(&c.Generator).scout(ctx, t, mode, seed, workers)
		if err != nil {
			return Seen{}, err
		}
		look := found.Look(ctx, d, &stream)
		if err := ctx.Err(); err != nil {
			return Seen{}, err
		}
		seen.Width += look.Width / float64(modes)
		switch {
		case look.Gaussian:
		case len(found.Gaussians) > 0:
			seen.Components, seen.Bent = max(seen.Components, look.Components), true
			if d <= mixture.InShape {
				seen.Components = max(seen.Components, fewer)
			}
		case d == 1:
			seen.Components = lineOfMode
		default:
			seen.Components, seen.Bent = max(seen.Components, few), true
		}
	}
	return seen, nil
}
