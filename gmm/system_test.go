package gmm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// testConfigs are small runs of mixtures in several dimensions. The kit tests its
// losses.
func testConfigs() map[string]*Config {
	small := func(change func(c *Config)) *Config {
		c := crash.Must(Preset("paper"))
		c.Training.Batch, c.Training.Steps = 700, 5
		c.Generator.Depth, c.Generator.Hidden = 3, []int{24, 24}
		c.Evaluation.Samples = 3000
		change(c)
		return c
	}
	return map[string]*Config{
		"paper": small(func(*Config) {}),
		"best": func() *Config {
			c := crash.Must(Preset("best"))
			c.Generator.Scout = mixture.ScoutConfig{Population: 200, Moves: 2}
			c.Training.Batch, c.Evaluation.Samples = 700, 3000
			return c
		}(),
		"flow": small(func(c *Config) {
			f := crash.Must(Preset("best"))
			f.Flow(2, true)
			c.Training.EMA, c.Transition, c.Loss = f.Training.EMA, f.Transition, f.Loss
		}),
		"five dimensions": small(func(c *Config) {
			c.Target = randomMixture(5, 3, 1)
			c.Generator.Hidden, c.Generator.Clamp = []int{16}, 2
			c.Loss.Boundary.Center = []float64{1, 0, 0, 0, 1}
		}),
		"residual": small(func(c *Config) {
			c.Target = randomMixture(3, 2, 2)
			c.Generator = vectors.GeneratorConfig{Kind: "residual", Depth: 2, Hidden: []int{32, 32}, Slope: 0.01, Gain: 1, Latent: 6}
		}),
		"a product of more choices than can be counted": func() *Config {
			c := crash.Must(Preset("best"))
			c.Target = randomMixture(20, 2, 4)
			c.Generator.Base, c.Generator.Components = "product", 8
			c.Generator.Scout = mixture.ScoutConfig{Population: 200, Moves: 2}
			c.Training.Batch, c.Training.Steps, c.Evaluation.Samples = 700, 3, 3000
			return c
		}(),
		"one dimension": small(func(c *Config) {
			c.Target = randomMixture(1, 2, 3)
			c.Generator = vectors.GeneratorConfig{Kind: "residual", Depth: 1, Hidden: []int{32}, Slope: 0.01, Gain: 1}
		}),
	}
}

func TestContract(t *testing.T) {
	long.SkipShort(t)
	for name, c := range testConfigs() {
		t.Run(name, func(t *testing.T) { systemtest.Run(t, c) })
	}
}

func BenchmarkStep(b *testing.B) {
	for _, name := range []string{"paper", "best"} {
		b.Run(name, func(b *testing.B) {
			c, err := Preset(name)
			require.NoError(b, err)
			workers := pool.New(0)
			defer workers.Close()
			trainer, err := engine.NewTrainer(c, workers)
			require.NoError(b, err)
			for b.Loop() {
				require.NoError(b, trainer.Step())
			}
		})
	}
}
