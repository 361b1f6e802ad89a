package hybrid

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/pool"
)

func TestPresetsAreValid(t *testing.T) {
	for _, name := range Definition.Presets {
		c, err := Definition.Preset(name)
		require.NoError(t, err)
		require.NoError(t, c.Validate())
		require.Equal(t, name, c.Shared().Preset)
		require.Equal(t, Definition.Name, c.Shared().System)

		// A preset survives the way through a file.
		data, err := conf.Encode(c)
		require.NoError(t, err)
		back := new(Config)
		require.NoError(t, conf.Decode(data, "preset.json", back))
		require.NoError(t, back.Validate())
		again, err := conf.Encode(back)
		require.NoError(t, err)
		require.Equal(t, string(data), string(again))
	}
	_, err := Definition.Preset("fast")
	require.ErrorContains(t, err, "quick, paper, best")
	_, err = Preset("fast")
	require.EqualError(t, err, `preset: "fast" is not one of quick, paper, best`)
	c := crash.Must(Preset("paper"))
	require.Equal(t, "3 double wells exp(−(x² − μ)²) of equal weight, μ = [1 9 25]", c.Describe())
	require.Equal(t, []engine.Demand{{Key: "evaluation.samples", Bytes: 48 * float64(c.Evaluation.Samples)}}, c.targetDemands())
	c.Loss.Kernel.Bandwidths = nil
	workers := pool.New(1)
	defer workers.Close()
	require.ErrorContains(t, c.Validate(), "loss.kernel.bandwidths: the kernel is empty")
	require.PanicsWithError(t, "bandwidths: the kernel is empty; give at least one bandwidth or one term of imq, matern or, for spins, diffusion", func() { _, _ = c.New(workers) })
	c.Target.Mu = []float64{1, -9}
	_, err = c.New(workers)
	require.EqualError(t, err, "target.mu[1]: -9 is not between 1e-06 and 10000")
	why, err := c.Adapt(t.Context())
	require.NoError(t, err)
	require.Empty(t, why)
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		`system: "ising"`:                  func(c *Config) { c.System = "ising" },
		"training.batch: 1 ":               func(c *Config) { c.Training.Batch = 1 },
		"target.mu: 0 modes":               func(c *Config) { c.Target.Mu = nil },
		"target.mu[1]: -9 ":                func(c *Config) { c.Target.Mu = []float64{1, -9} },
		"target.mu[0]: NaN ":               func(c *Config) { c.Target.Mu = []float64{math.NaN()} },
		`transition.order: "fixed" is not`: func(c *Config) { c.Transition.Order = "fixed" },
		"transition.across: 1.5 ":          func(c *Config) { c.Transition.Order, c.Transition.Across = "random", 1.5 },
		"transition.sigma: the list":       func(c *Config) { c.Transition.Sigma = nil },
		"transition.sigma[1]: 0 ":          func(c *Config) { c.Transition.Sigma = []float64{1, 0} },
		"transition.flip: NaN ":            func(c *Config) { c.Transition.Flip = math.NaN() },
		"transition.steps: 0 ":             func(c *Config) { c.Transition.Steps = 0 },
		"generator.latent: 0 ":             func(c *Config) { c.Generator.Latent = 0 },
		"generator.slope: 0 ":              func(c *Config) { c.Generator.Slope = 0 },
		"generator.gain: +Inf ":            func(c *Config) { c.Generator.Gain = math.Inf(1) },
		"generator.hidden[1]: 0 ":          func(c *Config) { c.Generator.Hidden = []int{8, 0} },
		"loss.partners: 1.5 ":              func(c *Config) { *c = *crash.Must(Preset("best")); c.Loss.Partners = 1.5 },
		"loss.kernel.bandwidths[0]: -1 ":   func(c *Config) { c.Loss.Kernel.Bandwidths = []float64{-1} },
		`loss.kind: "divergence" is gone; write instead: "balance" with loss.partners 1`: func(c *Config) { c.Loss.Kind = "divergence" },
		"training.optimizer.learning_rate: ":                                             func(c *Config) { c.Training.Optimizer.LearningRate = 0 },
	} {
		c := crash.Must(Preset("paper"))
		change(c)
		require.ErrorContains(t, c.Validate(), want)
		_, err := engine.NewTrainer(c, nil)
		require.ErrorContains(t, err, want)
	}
}
