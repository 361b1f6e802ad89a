package mixture

import (
	"context"
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// ScoutConfig describes the population that finds where a target, or each of its modes,
// has its weight.
type ScoutConfig struct {
	Population int `json:"population"` // of Metropolis chains, of each mode
	Moves      int `json:"moves"`      // of each at each temperature on the way to the target
}

// Run is Scout's, about a centre and a scale if they are known, and otherwise with nil.
func (c ScoutConfig) Run(ctx context.Context, dim int, center []float64, scale float64, sweeps int, own func() Density, seed uint64, stream uint32, workers *pool.Pool) (*Found, error) {
	s := Scout{Population: c.Population, Moves: c.Moves, Sweeps: sweeps, Seed: seed, Stream: stream, Center: center}
	if center != nil {
		const wide = 1.5
		for range dim {
			s.Scale = append(s.Scale, wide*scale)
		}
	}
	return s.Run(ctx, dim, own, workers)
}

// Train sets how a mixture that has been placed is trained, at a rate that falls and for a
// number of steps.
func Train(t *engine.Training, rate float64, steps int) {
	t.Steps, t.Batch, t.ClipNorm, t.EMA = steps, 1024, 1, 0
	t.Optimizer = optim.AdamW{LearningRate: rate, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-12}
	t.Schedule = optim.Schedule{Kind: "cosine", Final: 0.001, Warmup: 20}
	t.CheckpointEvery, t.LogEvery = 200, 10
}

const (
	maxPopulation = 1 << 20
	maxMoves      = 1 << 16
)

// Validate reports the first value that cannot be used to place and train a mixture of
// at most so many Gaussians, by its key in the configuration.
func (c ScoutConfig) Validate(components, most int, t *engine.Training) error {
	if err := conf.First(
		conf.Between("generator.components", components, 1, most),
		conf.Between("generator.scout.population", c.Population, 2, maxPopulation),
		conf.Between("generator.scout.moves", c.Moves, 1, maxMoves)); err != nil {
		return err
	}
	switch {
	case t.Method != "gradient":
		return fmt.Errorf("training.method: a mixture that has been placed is trained by the gradient; set it to gradient, or generator.kind to another")
	case t.Optimizer.WeightDecay != 0:
		return fmt.Errorf("training.optimizer.weight_decay: it would move a mixture away from where it has been placed; set it to 0, or generator.kind to another")
	}
	return nil
}
