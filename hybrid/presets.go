package hybrid

import (
	"fmt"
	"strings"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/mixed"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/search"
)

// Presets names the ready-made configurations, the default first.
var Presets = []string{"quick", "paper", "best", "moves"}

// Preset returns a fresh copy of the named configuration.
func Preset(name string) (*Config, error) {
	switch name {
	case "quick":
		return quick(), nil
	case "paper":
		return paper(), nil
	case "best":
		return best(), nil
	case "moves":
		return moves(), nil
	}
	return nil, fmt.Errorf("preset: %q is not one of %s", name, strings.Join(Presets, ", "))
}

// paper holds the settings of the paper's Section "Hybrid System". It states
// the target, the network, the moves and their order, m, the batch, clipping,
// the schedule and the number of iterations; the kernel's bandwidth, the slope
// of LeakyReLU and AdamW's other constants are ours.
func paper() *Config {
	return &Config{Target: TargetConfig{Mu: []float64{1, 9, 25}}, Config: mixed.Config{
		Common: engine.Common{
			Schema: engine.SchemaVersion, System: "hybrid", Preset: "paper",
			Training: engine.Training{
				Seed: 1, Steps: 100_000, Batch: 2048, Methods: search.ByGradient(),
				Optimizer:       optim.AdamW{LearningRate: 5e-4, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 1e-2},
				Schedule:        optim.Schedule{Kind: "cosine", Final: 1e-6 / 5e-4},
				ClipNorm:        1,
				CheckpointEvery: 5000, LogEvery: 500,
			},
			Evaluation: engine.Evaluating{Samples: 200_000},
		},
		Transition: mixed.TransitionConfig{Order: "paper-order", Across: 0.5, Sigma: []float64{0.5}, Flip: 0.1, Steps: 3},
		Generator: mixed.GeneratorConfig{
			Latent: 32, Hidden: []int{128, 128, 128}, Slope: 0.01,
			Head: "split", Branches: 1, Gain: 1,
			Kind: "perceptron", Components: 8, Scout: mixed.ScoutConfig{Population: 1024, Moves: 10},
		},
		Loss: mixed.LossConfig{
			Kind:   "mmd",
			Kernel: mmd.Kernel{Bandwidths: []float64{1}}, Statistic: mmd.V,
			Witness: mixed.WitnessConfig{
				Config:   kfd.Config{Ridge: 1e-5, Memory: 0.99, Every: 4},
				Features: kfd.Features{Number: 64, Scale: 0.2, Range: 3},
			},
			Discriminator: critic.Default(), Gradient: "surrogate",
		},
	}}
}

// moves is the most accurate recipe known that sees the target by moves alone: a
// coordinate and a logit for each well, a kernel that is sharp at the wells' width,
// reversible moves, and the stationarity loss, which sees the wells' weights better
// than that of pairs.
func moves() *Config {
	c := paper()
	c.Preset = "moves"
	c.Training.Steps = 12_000
	c.Training.Optimizer = optim.AdamW{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-16}
	c.Training.EMA = 0.999
	c.Training.LogEvery, c.Training.CheckpointEvery = 50, 1000
	c.Transition = mixed.TransitionConfig{Order: "random", Across: 0.5, Sigma: []float64{0.1, 0.5}, Flip: 0.5, Steps: 10}
	c.Generator.Head, c.Generator.Branches, c.Generator.Gain = "branch", 2, 40
	c.Loss.Kind = "stationarity"
	c.Loss.Kernel = mmd.Kernel{Bandwidths: []float64{}, IMQ: []mmd.IMQ{{C: 0.1, Beta: 0.5, Weight: 1}}}
	c.Loss.Statistic = mmd.U
	return c
}

// best is the most accurate recipe known.
func best() *Config {
	c := paper()
	c.Preset = "best"
	c.Adapt()
	return c
}

// quick reaches a useful sampler within seconds on two cores.
func quick() *Config {
	c := paper()
	c.Preset = "quick"
	c.Adapt()
	return c
}

// Adapt gives quick and best the recipe for their target.
func (c *Config) Adapt() (why string) {
	target, err := NewTarget(c.Target.Mu)
	if c.Preset != "best" && c.Preset != "quick" || err != nil {
		return ""
	}
	var width float64
	for k := range target.Modes() {
		width += target.Well(k).width() / float64(target.Modes())
	}
	return c.Recipe(newDensity(target), mixed.Seen{Components: 8, Width: width}, c.Preset == "quick")
}
