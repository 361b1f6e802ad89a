package mixed

import (
	"github.com/revgen/revgen/engine"
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
			Latent: 32, Hidden: []int{128, 128, 128}, Slope: 0.01,
			Head: "split", Branches: 1, Gain: 1,
			Kind: "perceptron", Components: 8, Scout: mixture.ScoutConfig{Population: 2048, Moves: 10},
		},
		Loss: LossConfig{
			Kind:   "mmd",
			Kernel: mmd.Kernel{Bandwidths: []float64{1}}, Statistic: mmd.V,
		},
	}
}

// Moves returns the most accurate recipe known that sees the target by moves alone: a
// coordinate and a logit for each well, a kernel that is sharp at the wells' width,
// reversible moves, and the stationarity loss, which sees the wells' weights better
// than that of pairs.
func Moves(system string) Config {
	c := Paper(system)
	c.Preset = "moves"
	c.Training.Steps = 12_000
	c.Training.Optimizer = optim.AdamW{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-16}
	c.Training.EMA = 0.999
	c.Training.LogEvery, c.Training.CheckpointEvery = 50, 1000
	c.Transition = TransitionConfig{Order: "random", Across: 0.5, Sigma: []float64{0.1, 0.5}, Flip: 0.5, Steps: 10}
	c.Generator.Head, c.Generator.Branches, c.Generator.Gain = "branch", 2, 40
	c.Loss.Kind = "stationarity"
	c.Loss.Kernel = mmd.Kernel{Bandwidths: []float64{}, IMQ: []mmd.IMQ{{C: 0.1, Beta: 0.5, Weight: 1}}}
	c.Loss.Statistic = mmd.U
	return c
}
