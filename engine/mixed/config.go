package mixed

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
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
	// Kind is "perceptron", z ∈ R^Latent → hidden layers → x and a logit for each mode,
	// of which softmax draws k; or "mixture", a mixture of Gaussians for each mode, with
	// an exact density. It begins where populations of Metropolis chains have found the
	// modes' weight.
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
	// Gain multiplies the initial weights of the coordinates' outputs, so that
	// the first samples reach all wells, and those of a split head's logits, so
	// that each z has a mode of its own while its x finds a well of that mode.
	Gain float64 `json:"gain" when:"kind=perceptron"`
}

// LossConfig describes the loss.
type LossConfig struct {
	// Kind is "mmd", the paper's MMD between the laws of (s, s′) and (s′, s);
	// "discriminator", the witness of both that package critic learns; or, of a generator whose density q is known, "balance", ½E(R(s) − R(s′))² with R = ln q − ln π:
	// how far detailed balance is violated between states that moves connect, or
	// independent samples.
	Kind          string        `json:"kind" enum:"mmd,discriminator,balance" only:"mmd,discriminator generator.kind=perceptron; balance generator.kind=mixture"`
	Discriminator critic.Config `json:"discriminator" when:"kind=discriminator"`
	engine.Balancing
	// Kernel of the MMD is a function of the distance between pairs (x, x′), times 1
	// where both modes k and both k′ agree and 0 elsewhere (eq. (product_kernel)).
	Kernel mmd.Kernel `json:"kernel" when:"kind=mmd"`
	// Statistic of the MMD.
	Statistic mmd.Statistic `json:"statistic" when:"kind=mmd" enum:"V,U"`
}

// Limits that keep a batch's random numbers within their stream and its
// memory within reason.
const (
	maxSteps      = 1 << 16
	maxLatent     = 4096
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
	return conf.First(
		conf.Between("generator.latent", g.Latent, 1, maxLatent),
		conf.Widths("generator.hidden", g.Hidden),
		conf.Slope("generator.slope", g.Slope),
		conf.Positive("generator.gain", g.Gain))
}

// Moved says where keys of former layouts have gone.
func (*Config) Moved() map[string]string {
	return map[string]string{
		"loss.objective":         `loss.kind, which is "mmd" for what was "reversibility"`,
		"loss.witness":           witness,
		"loss.kind=divergence":   `"balance" with loss.partners 1`,
		"loss.kind=stationarity": `"balance", of generator.kind "mixture"; or "mmd"`,
		"loss.gradient":          "none: the gradient goes straight through the draw of a mode",
		"generator.head":         "none: a perceptron has one point x and a logit for each mode, which was \"split\"",
		"generator.branches":     "none: a perceptron has one point x",
	}
}

// Settled says of what keys of former layouts the value goes without saying.
func (*Config) Settled() map[string]string {
	return map[string]string{"loss.gradient": `"surrogate"`, "generator.head": `"split"`}
}

const witness = `none: where a witness was, loss.kind "balance" learns by a density`

func (l *LossConfig) validate() error {
	switch l.Kind {
	case "balance":
		return l.Balancing.Validate()
	case "discriminator":
		return conf.Under("discriminator", l.Discriminator.Validate())
	}
	return conf.Under("kernel", l.Kernel.ValidateReal())
}
