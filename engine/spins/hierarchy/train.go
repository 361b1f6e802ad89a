package hierarchy

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/optim"
)

// Training is how a recipe trains a generator: by Adam, with a rate that rises and
// falls by a cosine, and β that rises.
type Training struct {
	Steps        int     `json:"steps"`
	Batch        int     `json:"batch"` // samples a step, a multiple of 64
	LearningRate float64 `json:"learning_rate"`
	Warmup       int     `json:"warmup"` // steps over which the rate rises
	Final        float64 `json:"final"`  // fraction of the rate that the cosine ends at
	Beta1        float64 `json:"beta1"`  // Adam's decay rates
	Beta2        float64 `json:"beta2"`
	Clip         float64 `json:"clip,omitempty"` // largest norm of a gradient; 0 for any
	// Anneal is the fraction of the steps over which β rises from AnnealFrom
	// times its value.
	Anneal     float64 `json:"anneal,omitempty"`
	AnnealFrom float64 `json:"anneal_from,omitempty"`
	// Average is the decay of the average of parameters that is the result; 0
	// for the last parameters.
	Average float64 `json:"average,omitempty"`
	Seed    uint64  `json:"seed"`
}

// Configure gives a run's training the values of a recipe, all but the
// annealing.
func (t *Training) Configure(c *engine.Training) {
	c.Method, c.Steps, c.Batch, c.ClipNorm, c.EMA = "gradient", t.Steps, t.Batch, t.Clip, t.Average
	c.Optimizer = optim.AdamW{LearningRate: t.LearningRate, Beta1: t.Beta1, Beta2: t.Beta2, Epsilon: 1e-12}
	c.Schedule = optim.Schedule{Kind: "cosine", Final: t.Final, Warmup: t.Warmup}
	c.CheckpointEvery, c.LogEvery = 200, 10
}
