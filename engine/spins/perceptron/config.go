package perceptron

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/conf"
)

// Config is what a run on spins takes besides its target.
type Config struct {
	engine.Common
	Transition spins.TransitionConfig `json:"transition"`
	Generator  GeneratorConfig        `json:"generator"`
	Loss       LossConfig             `json:"loss"`
}

// GeneratorConfig describes G_θ, z ∈ R^Latent → hidden layers → n logits h → spins.
type GeneratorConfig struct {
	Latent int         `json:"latent" is:"1..4096"` // dimension of z
	Signs  SignsConfig `json:"signs"`
	Hidden []int       `json:"hidden" is:"widths"` // widths of the hidden layers
	Slope  float64     `json:"slope" is:"slope"`   // slope of LeakyReLU for negative values
	// Gain multiplies the initial weights of the last layer.
	Gain float64 `json:"gain" is:"positive"`
	// Head turns logits into spins: "sign" takes their signs; "bernoulli"
	// draws spin up with probability 1/(1+exp(−2h)), so that ⟨s⟩ = tanh h.
	Head  string      `json:"head" enum:"sign,bernoulli"`
	Width WidthConfig `json:"width" when:"head=sign"`
}

// SignsConfig describes components of z that are −Size or +Size instead of
// normal. A continuous map cannot jump between two sectors; a sign can, if it is
// large enough not to drown among the normal components.
type SignsConfig struct {
	Number int     `json:"number"`             // of components
	Size   float64 `json:"size" is:"positive"` // their absolute value
}

// WidthConfig describes the scale τ of the straight-through estimator that
// passes gradients through a sign, ds/dh := (1 − tanh²(h/τ))/τ.
type WidthConfig struct {
	Start float64 `json:"start" is:"positive"` // at the first step
	Final float64 `json:"final" is:"positive"` // reached geometrically at the last step
	// Unit is "absolute", or "spread" for multiples of the standard deviation
	// of the batch's logits.
	Unit string `json:"unit" enum:"absolute,spread"`
}

// LossConfig describes the estimator of the discrepancy and of its gradient.
type LossConfig struct {
	// Kind is "mmd", the paper's; "discriminator", the witness that package critic
	// learns; or of a generator whose density q is known, "balance", how far it
	// violates detailed balance, E ½(R(s) − R(s′))² with R = ln q + βE (engine.Balance).
	Kind string `json:"kind" enum:"mmd,discriminator,balance" only:"mmd,discriminator generator.kind=perceptron,; balance generator.kind=hierarchy"`
	engine.Balancing
	Discriminator critic.Config `json:"discriminator" when:"kind=discriminator"`
	Kernel        mmd.Kernel    `json:"kernel" when:"kind=mmd"`
	// Statistic of the MMD.
	Statistic mmd.Statistic `json:"statistic" when:"kind=mmd" enum:"V,U"`
	// Gradient is "surrogate", the derivative of the kernel continued to real
	// spins with s′ fixed (eq. (3.5)); "difference", half the change
	// of the loss between the two values of a spin with s′ fixed; "score", the
	// score function of the spins that a bernoulli head drew; or "full", the
	// surrogate's with s′ following s through the flips that were accepted.
	Gradient string `json:"gradient" enum:"surrogate,difference,score,full" when:"kind=mmd,discriminator" only:"full kind=mmd; score generator.head=bernoulli"`
}

// ValidateChoices implements spins.Kind.
func (c *Config) ValidateChoices(t spins.Target) error {
	return conf.First(c.Transition.ValidateFor(t), c.Generator.Validate(), c.Loss.Validate())
}

// Validate reports the first value that cannot be used, by its key in the configuration.
func (g *GeneratorConfig) Validate() error {
	return conf.First(conf.Under("generator", conf.Check(g)), conf.Between("generator.signs.number", g.Signs.Number, 0, g.Latent))
}

// Validate reports the first value that cannot be used, by its key in the configuration.
func (l *LossConfig) Validate() error {
	return conf.Under("loss", losses[l.Kind].validate(l))
}

// Demands bounds the memory of a run on n spins with a configuration that is valid
// otherwise, but for what samples are measured with.
func (c *Config) Demands(n int) []engine.Demand {
	g := newGenerator(c.Generator, n)
	spins, words := float64(n), float64(g.words)
	width, widest := g.net.Widths()
	rows := float64(c.Training.Batch + nn.BlockRows())
	// Activations; ∂L/∂h, uniforms and odds of the head, s and s′; moves and F_i.
	perRow := 4*float64(width) + 4*5*spins + 8*4*words + 64
	if c.Loss.Gradient == "full" {
		perRow += 4 * spins
	}
	batch := rows*perRow + float64(nn.LanesOf(c.Training.Batch)*nn.BlockRows())*8*float64(widest)
	batch += losses[c.Loss.Kind].bytes(&c.Loss, c.Training.Batch, n)
	return append(c.Training.Demands(g.net.NumParams()), engine.Demand{Key: "training.batch", Bytes: batch})
}

// Explain implements engine.Explainer.
func (c *Config) Explain() string { return c.Drawing(c.Generator.Head + " layer draws spins") }

// Drawing is Explain for a generator whose last layer is described by a phrase.
func (c *Config) Drawing(layer string) string {
	return "a perceptron whose " + layer + ", " + engine.ByPairs(losses[c.Loss.Kind].name, c.Transition.Explain())
}

// Moved says where keys of former versions have gone.
func (*Config) Moved() map[string]string {
	return map[string]string{
		"loss.objective":          "loss.kind",
		"loss.kind=divergence":    `"balance" with loss.partners 1`,
		"loss.kind=stationarity":  `"mmd", which asks for detailed balance`,
		"loss.forward":            "none: moves reach what the generator draws too seldom; see loss.partners",
		"loss.witness":            witnessed,
		"loss.average":            "none: one s′ is drawn for each s; " + witnessed[len("none: "):],
		"loss.rao_blackwell":      witnessed,
		"generator.sign_size":     "generator.signs.size",
		"generator.sign_weights":  "none: the signs of noise are even; of sectors that weigh differently a hierarchy learns the weights",
		"generator.signs.weights": "none: the signs of noise are even; of sectors that weigh differently a hierarchy learns the weights",
		"generator.symmetry":      "none: of a target without a field a hierarchy is even",
		"generator.width_unit":    "generator.width.unit",
		"generator.final_width":   "generator.width.final",
	}
}

// Settled lists keys of former versions that are passed over if they have this value.
func (*Config) Settled() map[string]string {
	return map[string]string{"generator.signs.weights": `"even"`, "generator.symmetry": `"none"`, "loss.average": `"sampled"`}
}

const witnessed = `none: where a witness of least squares was, generator.kind "hierarchy" with loss.kind "balance" learns from moves alone what it solved for`
