package density

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/mixed"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/reals"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/target/density/expression"
)

// Presets names the ready-made configurations, the default first.
var Presets = []string{"quick", "paper", "best", "moves"}

// ring is the target of a configuration that has none: a ring in the plane.
func ring() RealsTarget {
	return RealsTarget{TargetConfig: TargetConfig{
		Kind: "expression", Dim: 2, Expression: "-(sqrt(sum(x^2)) - radius)^2/(2*width^2)",
		Parameters:     map[string]expression.Parameter{"radius": expression.Number(2), "width": expression.Number(0.4)},
		TimeoutSeconds: 60, Command: []string{}, Support: [][2]*float64{},
	}, Center: []float64{}, Scale: []float64{}}
}

// wells is the same with modes: a pair of wells in each.
func wells() MixedTarget {
	return MixedTarget{TargetConfig: TargetConfig{
		Kind: "expression", Dim: 1, Expression: "-(x[0]^2 - mu[k])^2",
		Parameters:     map[string]expression.Parameter{"mu": expression.Vector(1, 4, 9)},
		TimeoutSeconds: 60, Command: []string{}, Support: [][2]*float64{},
	}, Modes: 3, Center: [][]float64{}, Scale: [][]float64{}}
}

// common is what all presets of a system share.
func common(of *origin, preset string) engine.Common {
	return engine.Common{
		Schema: engine.SchemaVersion, System: of.name, Preset: preset,
		Training: engine.Training{
			Seed: 1, Steps: 20_000, Batch: 2048, Methods: search.ByGradient(),
			Optimizer: optim.AdamW{LearningRate: 5e-4, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-16},
			Schedule:  optim.Schedule{Kind: "cosine"}, EMA: 0.999,
			LogEvery: 50, CheckpointEvery: 1000,
		},
		Evaluation: engine.Evaluating{Samples: 200_000},
	}
}

// realsPreset returns a fresh copy of a preset of a system over real vectors.
func realsPreset(of *origin, target RealsTarget, name string) (*RealsConfig, error) {
	if err := conf.OneOf("preset", name, Presets); err != nil {
		return nil, err
	}
	c := &RealsConfig{of: of, Target: target, Config: reals.Config{
		Common:     common(of, name),
		Transition: reals.TransitionConfig{Sigma: []float64{0.3, 1, 2}, Steps: 20},
		Generator: reals.GeneratorConfig{
			Kind: "realnvp", Depth: 8, Hidden: []int{64, 64}, Slope: 0.01, Gain: 1,
			Partition: "parity", Clamp: 1,
			Components: 8, Scout: reals.ScoutConfig{Population: 2048, Moves: 10},
		},
		Loss: reals.LossConfig{
			Kind: "kfd",
			Kernel: mmd.Kernel{
				Bandwidths: []float64{0.1, 0.5, 1, 2, 5},
				IMQ:        []mmd.IMQ{{C: 1.4, Beta: 0.5, Weight: 1}},
			},
			Statistic: mmd.V, Gradient: "surrogate",
			Witness: reals.WitnessConfig{
				Config:   kfd.Config{Ridge: 1e-5, Memory: 0.99, Every: 8},
				Features: kfd.Features{Number: 512, Scale: 0.6, Range: 1.5},
			},
			Discriminator: critic.Default(),
			Boundary:      reals.BoundaryConfig{Weight: 0, Sharpness: 1, Radius: 5, Center: []float64{}},
		},
	}}
	switch name {
	case "quick":
		c.Training.Steps, c.Training.EMA = 3000, 0.998
		c.Training.Optimizer.LearningRate = 1e-3
	case "paper": // the settings of the paper's Gaussian mixture
		c.Training.Steps, c.Training.EMA = 120_000, 0
		c.Training.Optimizer = optim.AdamW{LearningRate: 1e-4, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 1e-2}
		c.Training.Schedule = optim.Schedule{Kind: "step", Milestones: []int{20_000, 50_000, 100_000}, Factor: 0.71}
		c.Training.LogEvery, c.Training.CheckpointEvery = 500, 5000
		c.Transition = reals.TransitionConfig{Sigma: []float64{0.1}, Steps: 3}
		c.Loss.Kind, c.Loss.Boundary.Weight = "mmd", 1
	}
	c.fit()
	return c, nil
}

// fit chooses what the number of coordinates decides.
func (c *RealsConfig) fit() {
	d := float64(c.Target.Dim)
	if d < 2 { // couplings need two
		c.Generator.Kind = "residual"
	}
	if c.Preset == "paper" || d <= 2 {
		return
	}
	// Steps that are accepted as often, and features that see as far, as in the plane.
	ratio := math.Sqrt(2 / d)
	c.Transition.Sigma = []float64{rounded(0.3 * ratio), rounded(ratio), rounded(2 * ratio)}
	c.Loss.Witness.Features.Scale = rounded(0.6 * ratio)
}

// Adapt implements engine.Adapter: where the target's weight is, if that is not said;
// and for quick and best, the kit's recipe for what the target is like there.
func (c *RealsConfig) Adapt() (why string) {
	c.fit()
	if len(c.Target.Center)+len(c.Target.Scale) == 0 {
		if why = c.find(); c.verdict != nil {
			return ""
		}
	}
	p, err := c.problem(1)
	if err != nil || !p.recipe(c.Preset) {
		return why // validation says what is wrong
	}
	defer p.Close()
	chosen := c.Recipe(realsTarget{p.evaluation()}, 0, c.Preset == "quick")
	c.verdict = p.Err()
	return and(why, chosen)
}

// find sets centre and scale of the target by a pilot, and returns what they are.
func (c *RealsConfig) find() (why string) {
	p, err := c.problem(1)
	if err != nil {
		return ""
	}
	defer p.Close()
	found, err := p.pilot()
	if c.verdict = err; err != nil {
		return ""
	}
	c.Target.Center, c.Target.Scale = found[0].describe()
	return fmt.Sprintf("short chains found the weight about %s with a scale of %s", list(c.Target.Center), list(c.Target.Scale))
}

// Limits of what recipes look at: the numbers of Gaussians with all their correlations
// grow with the square of the coordinates, and each mode is looked at by itself.
const (
	mostLooked      = 64 // coordinates without modes
	mostLookedModes = 16 // modes, and coordinates with them
)

// recipe reports whether a preset is one for its target rather than as it stands.
func (p *problem) recipe(preset string) bool {
	if preset != "quick" && preset != "best" {
		return false
	}
	if p.modes > 0 {
		return p.modes <= mostLookedModes && p.dim <= mostLookedModes
	}
	return p.dim <= mostLooked
}

// and joins what was found and what was chosen.
func and(found, chosen string) string {
	if found == "" {
		return chosen
	}
	return found + "; " + chosen
}

// list writes some numbers.
func list(x []float64) string {
	const shown = 4
	switch {
	case len(x) == 0:
		return "0"
	case len(x) == 1:
		return fmt.Sprint(x[0])
	case len(x) > shown:
		return fmt.Sprintf("%v … %d numbers", x[:shown], len(x))
	}
	return fmt.Sprint(x)
}

// mixedPreset returns a fresh copy of a preset of a system with modes.
func mixedPreset(of *origin, target MixedTarget, name string) (*MixedConfig, error) {
	if err := conf.OneOf("preset", name, Presets); err != nil {
		return nil, err
	}
	c := &MixedConfig{of: of, Target: target, Config: mixed.Config{
		Common:     common(of, name),
		Transition: mixed.TransitionConfig{Order: "random", Across: 0.5, Sigma: []float64{0.1, 0.5}, Flip: 0.5, Steps: 10},
		Generator: mixed.GeneratorConfig{
			Kind: "perceptron", Components: 8, Scout: mixed.ScoutConfig{Population: 2048, Moves: 10},
			Latent: 32, Hidden: []int{128, 128, 128}, Slope: 0.01,
			Head: "branch", Branches: 2, Gain: 10,
		},
		Loss: mixed.LossConfig{
			Kind:      "stationarity",
			Kernel:    mmd.Kernel{Bandwidths: []float64{}, IMQ: []mmd.IMQ{{C: 0.1, Beta: 0.5, Weight: 1}}},
			Statistic: mmd.U,
			Witness: mixed.WitnessConfig{
				Config:   kfd.Config{Ridge: 1e-5, Memory: 0.99, Every: 4},
				Features: kfd.Features{Number: 64, Scale: 0.2, Range: 3},
			},
			Discriminator: critic.Default(), Gradient: "surrogate",
		},
	}}
	c.Training.Steps, c.Training.Optimizer.LearningRate = 12_000, 1e-3
	switch name {
	case "quick":
		c.Training.Steps, c.Training.EMA = 5000, 0.998
		c.Training.Optimizer.LearningRate = 3e-3
		c.Loss.Kernel.Bandwidths = []float64{3}
	case "paper": // the settings of the paper's hybrid system
		c.Training.Steps, c.Training.EMA, c.Training.ClipNorm = 100_000, 0, 1
		c.Training.Optimizer = optim.AdamW{LearningRate: 5e-4, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 1e-2}
		c.Training.Schedule.Final = 1e-6 / 5e-4
		c.Training.LogEvery, c.Training.CheckpointEvery = 500, 5000
		c.Transition = mixed.TransitionConfig{Order: "paper-order", Across: 0.5, Sigma: []float64{0.5}, Flip: 0.1, Steps: 3}
		c.Generator.Head, c.Generator.Branches, c.Generator.Gain = "split", 1, 1
		c.Loss.Kind, c.Loss.Kernel, c.Loss.Statistic = "mmd", mmd.Kernel{Bandwidths: []float64{1}}, mmd.V
	}
	return c, nil
}

// Adapt implements engine.Adapter: where the target's weight is in each mode, if that
// is not said; and for quick and best, the kit's recipe for what the target is like
// there.
func (c *MixedConfig) Adapt() (why string) {
	if len(c.Target.Center)+len(c.Target.Scale) == 0 {
		if why = c.find(); c.verdict != nil {
			return ""
		}
	}
	p, err := c.problem(1)
	if err != nil || !p.recipe(c.Preset) {
		return why // validation says what is wrong
	}
	defer p.Close()
	chosen := c.Recipe(mixedTarget{p.evaluation()}, mixed.Seen{}, c.Preset == "quick")
	c.verdict = p.Err()
	return and(why, chosen)
}

// find sets centre and scale of each mode by a pilot, and returns what the first are.
func (c *MixedConfig) find() (why string) {
	p, err := c.problem(1)
	if err != nil {
		return ""
	}
	defer p.Close()
	found, err := p.pilot()
	if c.verdict = err; err != nil {
		return ""
	}
	c.Target.Center, c.Target.Scale = nil, nil
	for _, f := range found {
		center, scale := f.describe()
		c.Target.Center, c.Target.Scale = append(c.Target.Center, center), append(c.Target.Scale, scale)
	}
	return fmt.Sprintf("short chains found the weight of mode 0 about %s with a scale of %s, and of the others likewise", list(c.Target.Center[0]), list(c.Target.Scale[0]))
}
