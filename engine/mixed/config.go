package mixed

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/conf"
)

// Config is what a run on states of a real vector and a mode takes besides its
// target. A system's configuration embeds it.
type Config struct {
	engine.Common
	Transition TransitionConfig `json:"transition"`
	Generator  GeneratorConfig  `json:"generator"`
	Loss       LossConfig       `json:"loss"`
}

// TransitionConfig names the Metropolis–Hastings kernel p^m. Each of its steps
// moves x within its mode, teleports to another mode, or both.
type TransitionConfig struct {
	// Order is "random" (either move, drawn anew at each step: reversible) or
	// "paper-order" (a move within the mode, then one across: it leaves the
	// target invariant but is not reversible, so that the loss of exact
	// samples is not zero).
	Order string `json:"order" enum:"random,paper-order"`
	// Across is the probability of a teleport at a step of random order.
	Across float64 `json:"across" when:"order=random"`
	// Sigma lists the standard deviations of ε, one of which is drawn for
	// each move within a mode.
	Sigma []float64 `json:"sigma"`
	// Flip is the probability that a move within a mode proposes 2c − x + ε
	// instead of x + ε, reflected at the mode's centre c.
	Flip  float64 `json:"flip"`
	Steps int     `json:"steps"` // m
	engine.Annealing
}

// GeneratorConfig describes G_θ.
type GeneratorConfig struct {
	// Kind is "perceptron", z ∈ R^Latent → hidden layers → heads; or "mixture", a
	// mixture of Gaussians for each mode, with an exact density. It begins where
	// populations of Metropolis chains have found the modes' weight.
	Kind string `json:"kind" enum:"perceptron,mixture"`
	// Components is the number of Gaussians of each mode.
	Components int `json:"components" when:"kind=mixture"`
	// Bent says that each coordinate of the Gaussians is bent by a sinh-arcsinh map,
	// which makes its tails lighter or heavier and lets it lean.
	Bent   bool                `json:"bent" when:"kind=mixture"`
	Scout  mixture.ScoutConfig `json:"scout" when:"kind=mixture"`
	Latent int                 `json:"latent" when:"kind=perceptron"` // dimension of the noise z
	Hidden []int               `json:"hidden" when:"kind=perceptron"` // widths of the hidden layers
	Slope  float64             `json:"slope" when:"kind=perceptron"`  // of LeakyReLU for negative values
	// Head is "split", one point x and a logit for each mode, of which
	// softmax draws k, with a straight-through gradient; or "branch", pairs
	// (x_r, logit_r) of which softmax draws one, branch r belonging to mode
	// r mod M, with the score-function gradient.
	Head string `json:"head" enum:"split,branch" when:"kind=perceptron"`
	// Branches is the number of branches of each mode.
	Branches int `json:"branches" when:"kind=perceptron head=branch"`
	// Gain multiplies the initial weights of the coordinates' outputs, so that
	// the first samples reach all wells, and those of a split head's logits, so
	// that each z has a mode of its own while its x finds a well of that mode.
	Gain float64 `json:"gain" when:"kind=perceptron"`
}

// LossConfig describes the estimator of the discrepancy.
type LossConfig struct {
	// Kind is "mmd", the paper's MMD between the laws of (s, s′) and (s′, s);
	// "stationarity", that between the laws of s and s′, which tests invariance
	// instead of detailed balance; or "divergence", KL(q‖π) of a generator whose
	// density q is known, by the score function: it needs no moves.
	Kind string `json:"kind" enum:"mmd,stationarity,divergence" only:"mmd,stationarity generator.kind=perceptron; divergence generator.kind=mixture"`
	// Kernel of both MMDs is a function of the distance between pairs (x, x′),
	// times 1 where both modes k and both k′ agree and 0 elsewhere (eq.
	// (product_kernel)); between states, of that of x, times 1 where k agrees.
	Kernel mmd.Kernel `json:"kernel" when:"kind=mmd,stationarity"`
	// Statistic of both MMDs.
	Statistic mmd.Statistic `json:"statistic" when:"kind=mmd,stationarity" enum:"V,U"`
}

// Limits that keep a batch's random numbers within their stream and its
// memory within reason.
const (
	maxSteps    = 1 << 16
	maxLatent   = 4096
	maxBranches = 16

	maxComponents = 256

	maxDim = 1 << (63 - moveShift) * 4 / maxSteps // of d/4 blocks of normals a step
)

// Validate reports the first value that cannot be used for a target of the given
// dimension and number of modes, by its key. The target's own demands for memory
// count beside the configuration's.
func (c *Config) Validate(dim, modes int, target ...engine.Demand) error {
	c = conf.Chosen(c)
	p := &c.Transition
	if err := conf.First(
		conf.Enums(c), c.Common.Validate(),
		conf.Between("target's coordinates", dim, 1, maxDim),
		conf.Between("target's modes", modes, 1, MaxModes),
		conf.Between("transition.steps", p.Steps, 1, maxSteps),
		conf.Under("transition", p.Annealing.Validate()),
		c.validateGenerator(),
		conf.Probability("transition.across", p.Across),
		conf.Deviations("transition.sigma", p.Sigma),
		conf.Probability("transition.flip", p.Flip),
		conf.Under("loss", c.Loss.validate())); err != nil {
		return err
	}
	return engine.Afford(c.Demands(dim, modes, target...)...)
}

func (c *Config) validateGenerator() error {
	g := &c.Generator
	if g.Kind == "mixture" {
		return g.Scout.Validate(g.Components, maxComponents, &c.Training)
	}
	branches := g.Branches
	if g.Head != "branch" {
		branches = 1
	}
	return conf.First(
		conf.Between("generator.latent", g.Latent, 1, maxLatent),
		conf.Widths("generator.hidden", g.Hidden),
		conf.Slope("generator.slope", g.Slope),
		conf.Positive("generator.gain", g.Gain),
		conf.Between("generator.branches", branches, 1, maxBranches))
}

// Moved says where keys of former layouts have gone.
func (*Config) Moved() map[string]string {
	return map[string]string{
		"loss.objective":     `loss.kind, which is "mmd" for what was "reversibility"`,
		"loss.witness":       "none: " + stationary,
		"loss.discriminator": "none: " + stationary + "; the discriminator of spins is left",
		"loss.gradient":      "none: a branch head takes the score of its choices, a split head the gradient straight through them",
	}
}

// Settled says of what keys of former layouts the value goes without saying.
func (*Config) Settled() map[string]string {
	return map[string]string{"loss.gradient": `"surrogate"`}
}

const stationary = `where a witness was, loss.kind "stationarity" learns from moves alone, and "divergence" with a density`

func (l *LossConfig) validate() error {
	if l.Kind == "divergence" {
		return nil
	}
	return conf.Under("kernel", l.Kernel.ValidateReal())
}
