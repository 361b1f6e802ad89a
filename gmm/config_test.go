package gmm

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/crash"
)

func TestPresetsAreValid(t *testing.T) {
	for _, name := range Presets {
		c, err := Preset(name)
		require.NoError(t, err)
		require.NoError(t, c.Validate())
		require.Equal(t, name, c.Shared().Preset)
		text, err := conf.Encode(c)
		require.NoError(t, err)
		var back Config
		require.NoError(t, conf.Decode(text, "file", &back))
		require.Equal(t, conf.Chosen(c), &back)
		again, err := Preset(name)
		require.NoError(t, err)
		c.Target.Components[0].Mean[0] = 7
		require.NotEqual(t, c, again, "presets share nothing")
	}
	_, err := Preset("fast")
	require.EqualError(t, err, `preset: "fast" is not one of quick, paper, best`)
	c, err := Definition.Preset("fast")
	require.Error(t, err)
	require.Nil(t, c)
	_, err = Definition.Preset("quick")
	require.NoError(t, err)
}

// TestRecipesLeaveTheFixedPoint: the boundary penalty pulls exact samples inwards,
// wherever a mode reaches its radius.
func TestRecipesLeaveTheFixedPoint(t *testing.T) {
	for _, c := range []*Config{crash.Must(Preset("quick")), crash.Must(Preset("best"))} {
		require.Zero(t, conf.Chosen(c).Loss.Boundary.Weight, c.Preset)
	}
}

// TestPaperPreset holds the preset against what the paper states.
func TestPaperPreset(t *testing.T) {
	c := crash.Must(Preset("paper"))
	require.Equal(t, 2048, c.Training.Batch)
	require.Equal(t, 1e-4, c.Training.Optimizer.LearningRate)
	require.Equal(t, []int{20_000, 50_000, 100_000}, c.Training.Schedule.Milestones)
	require.Equal(t, 0.71, c.Training.Schedule.Factor)
	require.Equal(t, vectors.TransitionConfig{Sigma: []float64{0.1}, Steps: 3}, c.Transition)
	require.Equal(t, 8, c.Generator.Depth)
	require.Equal(t, []int{64, 64}, c.Generator.Hidden)
	require.Equal(t, []float64{0.1, 0.5, 1, 2, 5}, c.Loss.Kernel.Bandwidths)
	require.Equal(t, []mmd.IMQ{{C: 1.4, Beta: 0.5, Weight: 1}}, c.Loss.Kernel.IMQ)
	require.Equal(t, mmd.V, c.Loss.Statistic)
}

func TestConfigErrors(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	cases := []struct {
		spoil func(c *Config)
		want  string
	}{
		{func(c *Config) { c.Training.Batch = 0 }, "training.batch: 0"},
		{func(c *Config) { c.System = "ising" }, `system: "ising" is not gmm`},
		{func(c *Config) { c.Preset = "mine" }, `preset: "mine" is not one of quick, paper, best`},
		{func(c *Config) { c.Target.Components[0].Weight = 0.7 }, "target.components: the weights sum to 1.1"},
		{func(c *Config) { c.Transition.Sigma = nil }, "transition.sigma: the list is empty"},
		{func(c *Config) { c.Transition.Sigma = []float64{1, nan} }, "transition.sigma[1]: NaN"},
		{func(c *Config) { c.Transition.Sigma = []float64{inf} }, "transition.sigma[0]: +Inf"},
		{func(c *Config) { c.Transition.Steps = 0 }, "transition.steps: 0 is not between 1 and 65536"},
		{func(c *Config) { c.Generator.Kind = "glow" }, `generator.kind: "glow" is not one of realnvp, residual`},
		{func(c *Config) { c.Generator.Depth = 0 }, "generator.depth: 0 is not between 1 and 256"},
		{func(c *Config) { c.Generator.Hidden = []int{4, -1} }, "generator.hidden[1]: -1 is not between 1 and 1024"},
		{func(c *Config) { c.Generator.Slope = 0 }, "generator.slope: 0 is not in (0, 1]"},
		{func(c *Config) { c.Generator.Gain = 0 }, "generator.gain: 0 is not a positive"},
		{func(c *Config) { c.Generator.Kind, c.Generator.Latent = "residual", -1 }, "generator.latent: -1 is not between 0 and 4096"},
		{func(c *Config) { c.Generator.Kind, c.Generator.Latent = "residual", 1 }, "generator.latent: 1 is less than the 2 coordinates"},
		{func(c *Config) { c.Generator.Clamp = 0 }, "generator.clamp: 0 is not a positive"},
		{func(c *Config) { c.Generator.Partition = "odd" }, `generator.partition: "odd" is not one of parity, halves`},
		{func(c *Config) { c.Target = randomMixture(1, 2, 1) }, "generator.kind: couplings need two coordinates or more"},
		{func(c *Config) { c.Loss.Kind = "kl" }, `loss.kind: "kl" is not one of mmd, discriminator, balance`},
		{func(c *Config) { c.Loss.Gradient = "score" }, `loss.gradient: "score" is not one of surrogate, full`},
		{func(c *Config) { c.Loss.Kind, c.Loss.Partners = "balance", 2 }, "loss.partners: 2"},
		{func(c *Config) { c.Loss.Kind, c.Generator.Kind = "balance", "residual" }, "loss.kind: "},
		{func(c *Config) { c.Loss.Kind = "divergence" }, `loss.kind: "divergence" is gone; write instead: "balance" with loss.partners 1`},
		{func(c *Config) { c.Loss.Kernel.Bandwidths[2] = -1 }, "loss.kernel.bandwidths[2]: -1"},
		{func(c *Config) { c.Loss.Boundary.Weight = -1 }, "loss.boundary.weight: -1"},
		{func(c *Config) { c.Loss.Boundary.Weight = nan }, "loss.boundary.weight: NaN"},
		{func(c *Config) { c.Loss.Boundary.Sharpness = 0 }, "loss.boundary.sharpness: 0"},
		{func(c *Config) { c.Loss.Boundary.Radius = inf }, "loss.boundary.radius: +Inf"},
		{func(c *Config) { c.Loss.Boundary.Center = []float64{1} }, "loss.boundary.center: 1 coordinates where a state has 2"},
		{func(c *Config) { c.Loss.Boundary.Center = []float64{1, nan} }, "loss.boundary.center[1]: NaN"},
	}
	for _, set := range cases {
		c := crash.Must(Preset("paper"))
		set.spoil(c)
		require.ErrorContains(t, c.Validate(), set.want)
	}
	c := crash.Must(Preset("paper"))
	c.Target, c.Generator.Kind = randomMixture(1, 2, 1), "residual"
	require.NoError(t, c.Validate())
}

// TestAssignments sets what a command line may set.
func TestAssignments(t *testing.T) {
	c := crash.Must(Preset("paper"))
	for _, a := range []string{
		`target.components=[{"weight":1,"mean":[0,0,0],"covariance":[[1,0,0],[0,1,0],[0,0,1]]}]`,
		"transition.sigma=0.3,1", "generator.kind=residual", "loss.statistic=U", "loss.boundary.weight=0.01",
	} {
		require.NoError(t, conf.Set(c, a), a)
	}
	require.NoError(t, c.Validate())
	require.Len(t, c.Target.Components, 1)
	_, err := json.Marshal(c)
	require.NoError(t, err)
}
