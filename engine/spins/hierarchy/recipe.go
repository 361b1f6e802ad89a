package hierarchy

import (
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/spins"
)

// Training is how a recipe trains a generator: by Adam, with a rate that rises and
// falls by a cosine, and β that rises.
type Training struct {
	Steps, Batch int     // samples a step, a multiple of 64
	LearningRate float64 // of Adam
	Warmup       int     // steps over which the rate rises
	Final        float64 // fraction of the rate that the cosine ends at
	// Anneal is the fraction of the steps over which β rises from AnnealFrom
	// times its value.
	Anneal, AnnealFrom float64
	Partners           float64 // of engine.Balancing
	Sweeps             int     // between s and s′
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
// whether training starts from the generator of half the side: so sizes double, from the
// smallest of at least 12 spins a side, each trained by its own recipe.
//
// Below the critical temperature, β|J| rises from 0.4 during 30 % of the training of the
// first size, and of the second where that has a level whose weights no level of the
// first has. Without that, generators leave out spins that differ from all around
// them, which their own samples do not show. From zero it had better not rise:
// where there is nothing to be learned, Adam drifts.
//
// One sample in four moves, by L/8 sweeps, which see what q draws too little. The partners
// of the others see the slow modes, for which moves alone would need some (L/4)² sweeps.
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
	if c.Side%8 != 0 { // each spin of the coarsest lattice, which may be large, has its own weights to learn
		t.Batch = 512
	}
	switch {
	case c.Side < 12:
		t.Steps, t.LearningRate = 1500, 0.02
	case c.Side >= 84:
		// The noise of a gradient grows with the variance of R, while less is
		// left to be learned.
		t.Steps, t.Batch, t.LearningRate = 1000, 512, 0.008
	}
	return t, half
}

// GraphTraining returns the settings that were found good for graphs with so many
// learned spins: β rises from zero during half of the steps, whose number grows with
// that of the learned spins.
func GraphTraining(order string, learned int) Training {
	steps := min(20_000, 3000+40*learned)
	if order == Swept { // states that bonds leave no choice take time to learn
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
	if learned > g.Neighbours && frustrated(near) { // and not all known ones are looked at
		g.Neighbours, g.Hidden = MostInputs, 32
		if spins.Sweep(adjacent(near), MostInputs) != nil {
			g.Order = Swept
		}
	}
	if len(t.Bonds) > 4*t.Spins { // more than eight neighbours on average
		g.Neighbours = MostInputs
	}
	return g, learned
}
