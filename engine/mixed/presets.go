package mixed

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/search"
)

// Paper returns the settings of the paper's Section "Hybrid System" for a system. It
// states the network, the moves and their order, m, the batch, clipping, the schedule
// and the number of iterations; the kernel's bandwidth, the slope of LeakyReLU and
// AdamW's other constants are ours. Keys of other choices have values to start from.
func Paper(system string) Config {
	return Config{
		Common: engine.Common{
			Schema: engine.SchemaVersion, System: system, Preset: "paper",
			Training: engine.Training{
				Seed: 1, Steps: 100_000, Batch: 2048, Methods: search.ByGradient(),
				Optimizer:       optim.AdamW{LearningRate: 5e-4, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 1e-2},
				Schedule:        optim.Schedule{Kind: "cosine", Final: 1e-6 / 5e-4},
				ClipNorm:        1,
				CheckpointEvery: 5000, LogEvery: 500,
			},
			Evaluation: engine.Evaluating{Samples: 200_000},
		},
		Transition: TransitionConfig{Order: "paper-order", Across: 0.5, Sigma: []float64{0.5}, Flip: 0.1, Steps: 3},
		Generator: GeneratorConfig{
			Latent: 32, Hidden: []int{128, 128, 128}, Slope: 0.01, Gain: 1,
			Kind: "perceptron", Components: 8, Scout: mixture.ScoutConfig{Population: 2048, Moves: 10},
		},
		Loss: LossConfig{
			Kind: "mmd", Discriminator: critic.Default(), Balancing: engine.Balancing{Partners: 1},
			Kernel: mmd.Kernel{Bandwidths: []float64{1}}, Statistic: mmd.V,
		},
	}
}
