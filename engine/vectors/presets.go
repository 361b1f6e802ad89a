package vectors

import (
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/internal/number"
)

// Paper returns the settings of the paper's Section "Continuous Validation: 2D
// Gaussian Mixture" for a system. It states the network, the kernel, the moves,
// the batch, the learning rate and its decay. The number of iterations (beyond
// the last milestone, at 100,000), the weights of the kernel's terms, the
// clamp of the couplings' scales, the slope of LeakyReLU, AdamW's other
// constants and those of the boundary penalty are ours. Keys of other choices
// have values to start from.
func Paper(system string) Config {
	return Config{
		Common: engine.Common{
			Schema: engine.SchemaVersion, System: system, Preset: "paper",
			Training: engine.Training{
				Seed: 1, Steps: 120_000, Batch: 2048, Methods: search.ByGradient(),
				Optimizer:       optim.AdamW{LearningRate: 1e-4, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 1e-2},
				Schedule:        optim.Schedule{Kind: "step", Milestones: []int{20_000, 50_000, 100_000}, Factor: 0.71},
				CheckpointEvery: 5000, LogEvery: 500,
			},
			Evaluation: engine.Evaluating{Samples: 200_000},
		},
		Transition: TransitionConfig{Sigma: []float64{0.1}, Steps: 3},
		Generator: GeneratorConfig{
			Kind: "realnvp", Depth: 8, Hidden: []int{64, 64}, Slope: 0.01, Gain: 1,
			Partition: "parity", Clamp: 1,
			Base: "joint", Components: 8, Scout: mixture.ScoutConfig{Population: 2048, Moves: 10},
		},
		Loss: LossConfig{
			Kind: "mmd", Discriminator: critic.Default(),
			Kernel: mmd.Kernel{
				Bandwidths: []float64{0.1, 0.5, 1, 2, 5},
				IMQ:        []mmd.IMQ{{C: 1.4, Beta: 0.5, Weight: 1}},
			},
			Statistic: mmd.V, Gradient: "surrogate",
			Boundary:  BoundaryConfig{Weight: 1, Sharpness: 1, Radius: 5, Center: []float64{}},
			Balancing: engine.Balancing{Partners: 0.5},
		},
	}
}

// ModalPaper returns the settings of the paper's Section "Hybrid System" for a system. It
// states the network, the moves and their order, m, the batch, clipping, the schedule
// and the number of iterations; the kernel's bandwidth, the slope of LeakyReLU and
// AdamW's other constants are ours. Keys of other choices have values to start from.
func ModalPaper(system string) ModalConfig {
	p := Paper(system)
	p.Training.Steps, p.Training.ClipNorm, p.Training.Optimizer.LearningRate = 100_000, 1, 5e-4
	p.Training.Schedule = optim.Schedule{Kind: "cosine", Final: 1e-6 / 5e-4}
	return ModalConfig{
		Common:     p.Common,
		Transition: ModalTransition{Order: "paper-order", Across: 0.5, Sigma: []float64{0.5}, Flip: 0.1, Steps: 3},
		Generator: ModalGenerator{
			Latent: 32, Hidden: []int{128, 128, 128}, Slope: 0.01, Gain: 1,
			Kind: "perceptron", Components: 8, Scout: p.Generator.Scout,
		},
		Loss: ModalLoss{
			Kind: "mmd", Discriminator: critic.Default(), Balancing: engine.Balancing{Partners: 1},
			Kernel: mmd.Kernel{Bandwidths: []float64{1}}, Statistic: mmd.V,
		},
	}
}

// Ours returns the settings of the presets quick and best before a recipe adapts them to the target: a
// mixture of Gaussians, trained on the loss of detailed balance.
func Ours(system, preset string) Config {
	c := Paper(system)
	c.Preset, c.Generator.Kind, c.Generator.Depth, c.Loss.Kind = preset, "mixture", 0, "balance"
	mixture.Train(&c.Training, 0.02, 1500)
	return c
}

// Flow sets all but seed and evaluation to a recipe for the paper's generator, trained on the loss of
// detailed balance, for any target of d ≥ 2 coordinates. It does not scout the target. For quick it
// takes fewer steps.
func (c *Config) Flow(d int, quick bool) {
	c.Generator = Paper(c.System).Generator
	mixture.Train(&c.Training, 0.004, 3000)
	c.Training.Batch = 512
	if quick {
		c.Training.Steps = 1000
	}
	ratio := math.Sqrt(2 / float64(d)) // so that steps are accepted as often as in the plane
	c.Transition.Sigma = []float64{number.Rounded(0.3*ratio, 3), number.Rounded(ratio, 3), number.Rounded(2*ratio, 3)}
	c.Transition.Steps = 10
	c.Loss.Kind, c.Loss.Partners = "balance", 0.25
}
