package mixture

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
)

// ScoutConfig describes the population that finds where a target, or each of its modes,
// has its weight.
type ScoutConfig struct {
	Population int `json:"population" is:"2..1048576"` // of Metropolis chains, of each mode
	Moves      int `json:"moves" is:"1..65536"`        // of each at each temperature on the way to the target
}

// Scout returns a scout of a seed's population, about a centre and a scale if they are
// known, and otherwise nil.
func (c ScoutConfig) Scout(center []float64, scale float64, seed uint64) Scout {
	const wide = 1.5
	s := Scout{Population: c.Population, Moves: c.Moves, Seed: seed, Center: center}
	for range center {
		s.Scale = append(s.Scale, wide*scale)
	}
	return s
}

// Name names a number of Gaussians, and what they are of, if not of all.
func Name(components int, of string, bent bool) string {
	name := "a Gaussian"
	if components > 1 {
		name = fmt.Sprintf("a mixture of %d Gaussians", components)
	}
	if name += of; bent {
		name += ", bent,"
	}
	return name
}

// Lengths returns deviations of Metropolis moves for d coordinates of a typical standard
// deviation.
func Lengths(width float64, d int) []float64 {
	return lists.Map([]float64{0.4, 1, 2.4}, func(f float64) float64 { return number.Rounded(f*width/math.Sqrt(float64(d)), 2) })
}

// Gaussians that have settled are trained at a lower rate, in fewer steps, than those that
// a population places.
const (
	SettledPopulation = 512
	SettledRate       = 0.003
	SettledSteps      = 1000
)

// Train sets how a mixture that has been placed is trained, at a rate that falls and for a
// number of steps.
func Train(t *engine.Training, rate float64, steps int) {
	t.Steps, t.Batch, t.ClipNorm, t.EMA = steps, 1024, 2, 0
	t.Optimizer = optim.AdamW{LearningRate: rate, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-12}
	t.Schedule = optim.Schedule{Kind: "cosine", Final: 0.001, Warmup: 20}
	t.CheckpointEvery, t.LogEvery = 200, 10
}

// ValidateTraining reports the first value with which a mixture that has been placed cannot be
// trained, by its key in the configuration.
func ValidateTraining(t *engine.Training) error {
	switch {
	case t.Method != "gradient":
		return fmt.Errorf("training.method: a mixture that has been placed is trained by the gradient; set it to gradient, or generator.kind to another")
	case t.Optimizer.WeightDecay != 0:
		return fmt.Errorf("training.optimizer.weight_decay: it would move a mixture away from where it has been placed; set it to 0, or generator.kind to another")
	}
	return nil
}
