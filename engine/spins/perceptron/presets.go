package perceptron

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/engine/spins"
)

// Paper returns the settings of the paper's Section 5.3 for a system. It states
// the network, the batch, AdamW at 10⁻³ with step decay and the proposals; the
// kernel, m, p_g, the number of iterations and the milestones it leaves open are
// ours. Keys of other choices have values to start from.
func Paper(system string) Config {
	return Config{
		Common: engine.Common{
			Schema: engine.SchemaVersion, System: system, Preset: "paper",
			Training: engine.Training{
				Seed: 1, Steps: 6000, Batch: 2048, Methods: search.ByGradient(),
				Optimizer:       optim.AdamW{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, WeightDecay: 1e-2},
				Schedule:        optim.Schedule{Kind: "step", Milestones: []int{3000, 4800, 5500}, Factor: 0.2},
				CheckpointEvery: 1000, LogEvery: 50,
			},
			Evaluation: engine.Evaluating{Samples: 200_000},
		},
		Transition: spins.TransitionConfig{Proposal: "mixture", GlobalFlip: 0.1, Steps: 1},
		Generator: GeneratorConfig{
			Latent: 32, Signs: SignsConfig{Size: 6}, Hidden: []int{256, 256}, Slope: 0.01, Gain: 1,
			Head: "sign", Width: WidthConfig{Start: 1, Final: 1, Unit: "absolute"},
		},
		Loss: LossConfig{
			Kind: "mmd", Balancing: engine.Balancing{Partners: 0.5}, Discriminator: critic.Default(),
			Kernel: mmd.Kernel{Bandwidths: []float64{2}}, Statistic: mmd.V, Gradient: "surrogate",
		},
	}
}
