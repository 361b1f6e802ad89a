package hierarchy

import (
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/spins"
)

// Training is how a recipe trains a generator: by Adam, with a learning rate that rises and
// then falls by a cosine, while β rises.
type Training struct {
	Steps        int
	Batch        int     // samples a step, a multiple of 64
	LearningRate float64 // its maximum
	Warmup       int     // steps over which the rate rises
	Final        float64 // the last rate, as a fraction of LearningRate
	Anneal       float64 // fraction of the steps over which β rises
	AnnealFrom   float64 // β at the first step, as a fraction of the target's
	Partners     float64 // as in engine.Balancing: the fraction of samples that do not move
	Sweeps       int     // between s and s′
}

// Configure gives a run the values of a recipe, with heat-bath sweeps for moves.
func (t *Training) Configure(c *engine.Training, moves *spins.TransitionConfig, b *engine.Balancing) {
	c.Method, c.Steps, c.Batch, c.ClipNorm, c.EMA = "gradient", t.Steps, t.Batch, 0, 0
	c.Optimizer = optim.AdamW{LearningRate: t.LearningRate, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-12}
	c.Schedule = optim.Schedule{Kind: "cosine", Final: t.Final, Warmup: t.Warmup}
	c.CheckpointEvery, c.LogEvery = 200, 10
	*moves = spins.TransitionConfig{Proposal: spins.Sweeping, Steps: max(1, t.Sweeps), Anneal: t.Anneal, AnnealFrom: t.AnnealFrom}
	b.Partners = t.Partners
}

// Recipe returns the settings that were found good for a lattice at any β and field, and
// whether training starts from the generator of half the side. If so sizes double from the
// smallest of at least 12 spins a side, each trained by its own recipe.
//
// Below the critical temperature, β|J| rises from 0.4 during 30 % of the training of the
// first size, and of the second size where that has a level whose weights the first
// lacks. Otherwise generators leave out spins that differ from all their neighbours,
// which their own samples do not show. It does not rise from zero, where nothing is to be
// learned and Adam drifts.
//
// Partners is 0.75: one sample in four moves, by L/8 sweeps, which find what q draws too
// little. The other samples are compared with each other, which finds slow modes, for which
// moves alone would need some (L/4)² sweeps.
func Recipe(c Square) (t Training, half bool) {
	t = Training{
		Steps: 2500, Batch: 256, LearningRate: 0.014, Warmup: 20, Final: 0.01,
		Partners: 0.75, Sweeps: c.Side / 8,
	}
	const disordered = 0.4
	if k := c.Beta * math.Abs(c.J); k > 0.45 {
		t.Anneal, t.AnnealFrom = 0.3, disordered/k
	}
	half = c.Side%8 == 0 && c.Side/2 >= 12
	if half {
		t.Steps, t.LearningRate = 1500, 0.007
		if c.Side/2%8 == 0 {
			t.Steps, t.Anneal, t.AnnealFrom = 1000, 0, 0
		}
	}
	if c.Side%8 != 0 { // the coarsest lattice may be large, and each of its spins has weights of its own
		t.Batch = 512
	}
	switch {
	case c.Side < 12:
		t.Steps, t.LearningRate = 1500, 0.02
	case c.Side >= 84:
		// The gradient's noise grows with the variance of R, while less is left to be
		// learned.
		t.Steps, t.Batch, t.LearningRate = 1000, 512, 0.008
	}
	return t, half
}

// GraphTraining returns the settings that were found good for graphs with the given number of
// learned spins, with which the number of steps grows. β rises from zero during half of the
// steps.
func GraphTraining(order string, learned int) Training {
	steps := min(20_000, 3000+40*learned)
	if order == Swept { // spins that their bonds determine take time to learn
		steps = min(30_000, 5*steps)
	}
	return Training{
		Steps: steps, Batch: 512, LearningRate: 0.013, Warmup: 20, Final: 0.01, Anneal: 0.5,
		Partners: 0.5, Sweeps: 1,
	}
}

// GraphRecipe returns the architecture that was found good for a target on any
// graph, and how many of its spins are learned.
func GraphRecipe(t Target) (g Graph, learned int) {
	near := t.neighbours()
	learned = t.Spins - count(exactSpins(near))
	g = Graph{Target: t, Neighbours: 24, Inputs: Reached, Order: Farthest, Hidden: 16}
	if learned > g.Neighbours && isFrustrated(near) { // some spins do not look at all known ones
		g.Neighbours, g.Hidden = MaxInputs, 32
		if spins.Sweep(adjacent(near), MaxInputs) != nil {
			g.Order = Swept
		}
	}
	if len(t.Bonds) > 4*t.Spins { // more than eight neighbours on average
		g.Neighbours = MaxInputs
	}
	return g, learned
}
