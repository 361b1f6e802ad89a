package perceptron

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/engine/spins"
)

// Coupled is the mean over spins i of Σ_j tanh |βJ_ij| at the critical temperature of
// the square lattice, 4(√2 − 1). A target with as much coupling counts as ordered in Paper.
const Coupled = 4 * (math.Sqrt2 - 1)

// maxProposals bounds the time that the paper's transition takes.
const maxProposals = 1 << 10

// Paper returns the settings of the paper's Section 5.3 for a system of n spins. coupling is
// the mean that Coupled defines. The paper states the network, the noise, the spin layer, the
// batch, AdamW at 10⁻³ with step decay and two proposals, and tunes the number of
// iterations and the milestones to β. It leaves open the kernel, m, p_g, the width of the
// straight-through estimator and the rest of AdamW; docs/paper.md says why these values were
// chosen. Keys that other choices would use have values to start from.
func Paper(system string, n int, coupling float64) Config {
	side := math.Sqrt(float64(n)) // distances of configurations grow as √n
	steps, milestones, bandwidths := 20_000, []int{6000, 12_000, 17_000}, []float64{side / 2}
	if coupling >= Coupled {
		steps, milestones, bandwidths = 30_000, []int{15_000, 22_500, 27_500}, append(bandwidths, side)
	}
	return Config{
		Common: engine.Common{
			Schema: engine.SchemaVersion, System: system, Preset: "paper",
			Training: engine.Training{
				Seed: 1, Steps: steps, Batch: 2048, Methods: search.ByGradient(),
				Optimizer:       optim.AdamW{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-16},
				Schedule:        optim.Schedule{Kind: "step", Milestones: milestones, Factor: 0.2},
				CheckpointEvery: 1000, LogEvery: 50,
			},
			Evaluation: engine.Evaluating{Samples: 200_000},
		},
		Transition: spins.TransitionConfig{Proposal: "mixture", GlobalFlip: 0.1, Steps: min(4*n, maxProposals)},
		Generator: GeneratorConfig{
			Latent: 32, Signs: SignsConfig{Size: 6}, Hidden: []int{256, 256}, Slope: 0.01, Gain: 1,
			Head: "sign", Width: WidthConfig{Start: 0.3, Final: 0.03, Unit: "spread"},
		},
		Loss: LossConfig{
			Kind: "mmd", Balancing: engine.Balancing{Partners: 0.5}, Discriminator: critic.Default(),
			Kernel: mmd.Kernel{Bandwidths: bandwidths}, Statistic: mmd.V, Gradient: "surrogate",
		},
	}
}

// Adapt copies the settings of Paper that depend on the target to the parts of another
// configuration, and says which they are.
func (c *Config) Adapt(t *engine.Training, m *spins.TransitionConfig, l *LossConfig) (why string) {
	t.Steps, t.Schedule.Milestones = c.Training.Steps, c.Training.Schedule.Milestones
	m.Steps, l.Kernel.Bandwidths = c.Transition.Steps, c.Loss.Kernel.Bandwidths
	return fmt.Sprintf("the paper's method in %d steps, with %d proposals between s and s′ and Gaussians of bandwidth %.3g", t.Steps, m.Steps, l.Kernel.Bandwidths)
}
