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
	Population int `json:"population" is:"2..1048576"` // number of Metropolis chains, for each mode
	Moves      int `json:"moves" is:"1..65536"`        // moves of a chain at each temperature on the way to the target
}

// Scout returns a scout whose population begins about the centre, with deviations of 1.5
// times the scale. If center is nil, the scout finds where to begin.
func (c ScoutConfig) Scout(center []float64, scale float64, seed uint64) Scout {
	const widening = 1.5
	s := Scout{Population: c.Population, Moves: c.Moves, Seed: seed, Center: center}
	for range center {
		s.Scale = append(s.Scale, widening*scale)
	}
	return s
}

// Name describes a number of Gaussians in words. The scope, such as " for each mode", may be empty.
func Name(components int, scope string, bent bool) string {
	name := "a Gaussian"
	if components > 1 {
		name = fmt.Sprintf("a mixture of %d Gaussians", components)
	}
	if name += scope; bent {
		name += ", bent,"
	}
	return name
}

// Lengths returns standard deviations of Metropolis moves of d coordinates, which have a
// standard deviation of width. For a Gaussian, 2.4/√d of that is best.
func Lengths(width float64, d int) []float64 {
	return lists.Map([]float64{0.4, 1, 2.4}, func(f float64) float64 { return number.Rounded(f*width/math.Sqrt(float64(d)), 2) })
}

// Gaussians that settle need fewer walkers than others need members, and then a lower
// learning rate and fewer steps.
const (
	SettledPopulation = 512
	SettledRate       = 0.003
	SettledSteps      = 1000
)

// Train sets the training of a mixture that has been placed: steps at a learning rate that
// falls from the given one.
func Train(t *engine.Training, rate float64, steps int) {
	t.Steps, t.Batch, t.ClipNorm, t.EMA = steps, 1024, 2, 0
	t.Optimizer = optim.AdamW{LearningRate: rate, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-12}
	t.Schedule = optim.Schedule{Kind: "cosine", Final: 0.001, Warmup: 20}
	t.CheckpointEvery, t.LogEvery = 200, 10
}

// ValidateTraining returns an error, which names a key in the configuration, if a mixture that has
// been placed cannot be trained with these values.
func ValidateTraining(t *engine.Training) error {
	switch {
	case t.Method != "gradient":
		return fmt.Errorf("training.method: a mixture that has been placed is trained by the gradient; set it to gradient, or generator.kind to another")
	case t.Optimizer.WeightDecay != 0:
		return fmt.Errorf("training.optimizer.weight_decay: it would move a mixture away from where it has been placed; set it to 0, or generator.kind to another")
	}
	return nil
}
