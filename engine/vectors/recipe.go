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

// How many Gaussians, if a target is not known to be a mixture of them. On the line and in the plane
// Gaussians suffice. In more dimensions few Gaussians with couplings that bend do more. There are
// three exceptions. Modes that lie apart are learned better without couplings. Shells are learned by
// many Gaussians, with couplings that bend in few dimensions only. Rather heavy tails in many
// dimensions are learned by many Gaussians that do not bend.
const (
	lineComponents     = 24
	curvedComponents   = mixture.Many
	fewComponents      = 8  // also of each mode
	fewestComponents   = 4  // beyond mediumDim dimensions, and of modes that have settled up to mixture.InShape
	eachComponents     = 8  // of each coordinate of a product
	lineModeComponents = 12 // of a mode on the line, which do not bend
)

// Limits of dimensions.
const (
	maxJointDim = 3 // up to which a joint mixture has room for two modes in each coordinate
	maxBentDim  = 4 // up to which a curved target is learned better by maps that bend
	mediumDim   = 6
	highDim     = 16
)

const (
	veryHeavy             = 2   // excess kurtosis of coordinates whose scale is another coordinate's
	minFreedom            = 0.4 // deviation that others leave a coordinate, relative to its own, below which training takes smaller steps
	minModeWalkers        = 128 // of a mode
	sparingMoves          = 5   // of a scout that spares evaluations
	maxMembersPerAncestor = 16  // members that descend from one initial member, above which modes may be lost
)

// Seen is what is known of a target, or of its modes, so that a recipe need not scout it.
type Seen struct {
	Components int     // Gaussians that describe it, or a mode; 0 if unknown
	Bent       bool    // whether Gaussians of modes have to bend
	Width      float64 // typical standard deviation of a Gaussian; for a target without modes 0 stands for 1
}

// Recipe sets all but seed and evaluation to what is best for a target: a mixture of Gaussians with a
// density, trained on the loss of detailed balance, with couplings in many dimensions; for quick in
// fewer steps. If it is unknown what mixture the target is, a population of Metropolis chains scouts
// it. A generator that is a RealNVP stays one. Recipe returns what it chose and why.
func (c *Config) Recipe(ctx context.Context, t Target, seen Seen, quick bool) (why string, err error) {
	g, d, components := &c.Generator, t.Dim(), seen.Components
	c.Training.Methods = search.ByGradient()
	if g.Kind == "realnvp" {
		c.Flow(d, quick)
		return "a RealNVP, as generator.kind asks", nil
	}
	g.Kind, g.Slope, g.Gain, g.Partition, g.Clamp, g.Bend = "mixture", 0.01, 0.01, "parity", 3, 0.5
	g.Scout = mixture.ScoutConfig{Population: 2048, Moves: 10}
	sparing := quick && Dear(t)
	switch {
	case sparing:
		g.Scout = mixture.ScoutConfig{Population: max(512, 40*d), Moves: sparingMoves}
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
	} else if look, why, err = c.chooseGenerator(ctx, t, sparing); err != nil {
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
			// Couplings move coordinates in units of their deviation, but given the others a coordinate
			// may have little freedom. Noise grows with the Gaussian's parameters, about d² of them.
			rate = number.Rounded(rate*min(1, look.Freedom/minFreedom)*math.Pow(mixture.InShape/float64(d), 2), 2)
		}
	case g.Depth > 0 && d > highDim:
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
	if sparing {
		c.spareEvaluations(d, look)
		why += "; as few evaluations as will do, because each takes long"
	}
	return why, nil
}

// spareEvaluations lets each batch serve many steps, and training end when the weights are nearly equal.
// A nearly Gaussian target takes few, large steps; modes, arms and shells take as many as for best.
func (c *Config) spareEvaluations(d int, look mixture.Look) {
	t := &c.Training
	c.Loss.Partners, c.Loss.Economy, c.Evaluation.Samples = 0.95, Economy{Reuse: 15, Enough: 0.99}, 5000
	switch {
	case look.Gaussian, nearlyGaussian(look) && d > 1 && d <= highDim:
		c.Loss.Reuse, c.Transition.Steps = 31, 1
		t.Batch, t.Steps, t.Optimizer.LearningRate = 2*t.Batch, t.Steps/2, 2*t.Optimizer.LearningRate
	case d <= highDim:
		c.Loss.Reuse, t.Steps = 7, t.Steps*5/2
	}
}

// nearlyGaussian reports whether couplings have little to bend.
func nearlyGaussian(look mixture.Look) bool { return !look.Several && !look.Curved }

// chooseGenerator scouts the target and chooses components and couplings for it. It returns its look at
// the target, and the reason of its choice.
func (c *Config) chooseGenerator(ctx context.Context, t Target, sparing bool) (look mixture.Look, why string, err error) {
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
	straight := sparing && nearlyGaussian(look) // then couplings learn more from few evaluations
	const sum = "ln π is a sum of functions of one coordinate each"
	because := "ln π is not quadratic"
	switch {
	case d > mixture.InShape && len(found.Gaussians) == 0 && found.Separable(d, modeDensity(t, 0)):
		g.Base, g.Components = "product", eachComponents
		because = sum
	case d > mixture.InShape:
		g.Components, g.Bent = look.Components, true
		if look.Apart {
			because = "modes lie apart"
			break
		}
		g.Depth = 4
		g.partition(found, t)
	case d == 1:
		g.Components = lineComponents
	case d > maxJointDim && found.Factorises(ctx, d, modeDensity(t, 0), &stream):
		g.Base, g.Components = "product", eachComponents
		because = "that comes nearer to the target than joint ones"
		if found.Separable(d, modeDensity(t, 0)) {
			because = sum
			break
		}
		g.Depth, g.Bent = 4, true
		g.partition(found, t)
	case !straight && (d == 2 || d > mediumDim && d <= highDim && !look.Curved && !look.Apart && look.Excess >= 0 && look.Excess < veryHeavy):
		g.Components = look.Components
		if g.Components > mixture.Many {
			because = "so many leave little of ln π unexplained"
			g.Scout.Population *= 4 // the fewer members, the sooner a mode in a corner has none
		}
	case look.Apart && d <= highDim:
		g.Components, g.Bent = look.Components, true
		because = "modes lie apart"
	case look.Curved && d <= highDim:
		g.Components, g.Depth, g.Bent = curvedComponents, 8, d <= maxBentDim
		because = "ln π is far from quadratic"
	default:
		g.Components, g.Depth, g.Bent = fewComponents, 4, true
		switch {
		case d > highDim && !look.Several:
			g.Components = 1
		case d > mediumDim:
			g.Components = fewestComponents
		}
		g.partition(found, t)
	}
	if g.Depth > 0 && d > highDim {
		g.Hidden = []int{64, 64}
	}
	why = fmt.Sprintf("%s, because %s where %d Metropolis chains found probability mass", g.name(), because, len(found.LogPi))
	if found.Far > 0 {
		why += fmt.Sprintf("; chains from elsewhere found modes that these had missed: %d", found.Far)
	}
	if found.Lines < len(found.LogPi)/maxMembersPerAncestor && g.Base == "joint" {
		why += fmt.Sprintf("; all chains descend from %d of them, so modes that those did not meet are missing", found.Lines)
	}
	return look, why, nil
}

// partition lists the coordinates of one part, if a population shows a better partition than parity.
func (g *GeneratorConfig) partition(found *mixture.Found, t Target) {
	if part := found.Part(t.Dim(), modeDensity(t, 0)); part != nil {
		g.Partition, g.Changed = "listed", part
	}
}

// Recipe sets all but seed and evaluation to what is best for a target: a mixture of Gaussians for each
// mode, with a density, trained on the loss of detailed balance; for quick in fewer steps. If the
// target has not been seen, populations of Metropolis chains scout its modes. Recipe returns what it
// chose and why.
func (c *ModalConfig) Recipe(ctx context.Context, t Target, seen Seen, quick bool) (why string, err error) {
	g, d, modes := &c.Generator, t.Dim(), modesOf(t)
	g.Kind = "mixture"
	g.Scout = mixture.ScoutConfig{Population: 2048, Moves: 10}
	switch {
	case gaussiansSettle(t):
		// Each mode has walkers of its own, however many modes there are.
		g.Scout.Population = min(max(4*mixture.SettledPopulation/modes, minModeWalkers), mixture.SettledPopulation)
	case quick || modes > manyModes:
		g.Scout.Population = 1024
	}
	if seen.Components == 0 {
		if seen, err = c.scoutModes(ctx, t); err != nil {
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
	if g.Bent { // few Gaussians may leave weight uncovered, which moves reach
		c.Loss.Partners = 0.5
	}

	rate, steps := 0.02, 3000
	if quick {
		steps /= 3
	}
	if gaussiansSettle(t) {
		rate, steps = mixture.SettledRate, mixture.SettledSteps
		if !g.Bent {
			// Nothing is left to be learned, and noise grows with a Gaussian's parameters, about d² of them.
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

// scoutModes returns what populations find of a target's modes. One Gaussian suffices if each mode is
// Gaussian.
func (c *ModalConfig) scoutModes(ctx context.Context, t Target) (seen Seen, err error) {
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
				seen.Components = max(seen.Components, fewestComponents)
			}
		case d == 1:
			seen.Components = lineModeComponents
		default:
			seen.Components, seen.Bent = max(seen.Components, fewComponents), true
		}
	}
	return seen, nil
}
