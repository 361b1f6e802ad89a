package reals

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
)

// most is the largest number of Gaussians that a recipe looks for.
const most = 12

// Recipe sets all but seed and evaluation to what is best for a target: a mixture
// of Gaussians with a density, trained on the divergence, with couplings where
// Gaussians do not suffice; for quick in fewer steps. components is the
// number of Gaussians that the target is known to be a mixture of; if it is 0, a
// population of Metropolis chains looks for what the target is like. Recipe returns
// what it chose and why.
func (c *Config) Recipe(t Target, components int, quick bool) (why string) {
	g, d := &c.Generator, t.Dim()
	g.Kind, g.Slope, g.Gain, g.Partition, g.Clamp = "mixture", 0.01, 0.01, "parity", 2
	g.Scout = ScoutConfig{Population: 2048, Moves: 10}
	if quick {
		g.Scout.Population = 1024
	}
	g.Components, g.Depth, g.Hidden = components, 0, []int{32, 32}
	width := 1.0
	if components > 0 {
		why = fmt.Sprintf("a mixture of %d Gaussians, because the target is one", components)
		if p, ok := t.(Scaled); ok {
			width = p.Width()
		}
	} else {
		width, why = c.look(t)
	}

	c.Transition.Sigma, c.Transition.Steps = nil, 20
	for _, f := range []float64{0.4, 1, 2.4} {
		c.Transition.Sigma = append(c.Transition.Sigma, number.Rounded(f*width/math.Sqrt(float64(d)), 2))
	}
	c.Transition.Annealing.Anneal, c.Transition.Annealing.AnnealFrom = 0, 1
	c.Loss.Kind = "divergence"

	rate, steps := 0.02, 1500
	if g.Depth > 0 {
		rate, steps = 0.003, 6000
	}
	if quick {
		steps = steps * 2 / 5
	}
	c.Training.Methods = search.ByGradient()
	c.Training.Steps, c.Training.Batch, c.Training.ClipNorm, c.Training.EMA = steps, 1024, 1, 0
	c.Training.Optimizer = optim.AdamW{LearningRate: rate, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-12}
	c.Training.Schedule = optim.Schedule{Kind: "cosine", Final: 0.001, Warmup: 20}
	c.Training.CheckpointEvery, c.Training.LogEvery = 200, 10
	return why
}

// A Scaled target knows the standard deviation that is typical of its modes.
type Scaled interface {
	Target
	Width() float64
}

// look chooses components and couplings by what a population finds of the target,
// and returns the typical standard deviation of a component.
func (c *Config) look(t Target) (width float64, why string) {
	workers := pool.New(0)
	defer workers.Close()
	g, d, seed := &c.Generator, t.Dim(), c.Training.Seed
	found := g.Scout.scout(t, seed, workers)
	stream := rng.Stream(seed, rng.Scouting, 1)
	best := mixture.Choose(found.X, d, most, &stream)
	n, each := float64(len(found.LogPi)), float64((d+1)*(d+2)/2)
	off := mixture.Misfit(best, found, d)
	g.Components = len(best)
	switch {
	case d == 1:
		g.Components = max(8, 3*len(best))
		why = fmt.Sprintf("a mixture of %d Gaussians, because about %d describe what %d Metropolis chains found", g.Components, len(best), len(found.LogPi))
	case off < 0.05+2*float64(len(best))*each/n:
		why = fmt.Sprintf("a mixture of %d Gaussians, because they describe what %d Metropolis chains found", g.Components, len(found.LogPi))
	default:
		g.Depth, g.Hidden = 8, []int{64, 64}
		why = fmt.Sprintf("a mixture of %d Gaussians through %d couplings, because ln π departs from Gaussians' by %.2g where %d Metropolis chains found weight", g.Components, g.Depth, math.Sqrt(off), len(found.LogPi))
	}
	return mixture.Width(best), why
}
