package vectors

import (
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/conf"
)

// Config is the configuration of a run on real vectors, without the target. A system's
// configuration embeds it. Fields without a key are of ModalConfig.
type Config struct {
	engine.Common
	Transition TransitionConfig `json:"transition"`
	Generator  GeneratorConfig  `json:"generator"`
	Loss       LossConfig       `json:"loss"`
}

// TransitionConfig names the random-walk Metropolis kernel p^m.
type TransitionConfig struct {
	Order  string  `json:"-"`
	Across float64 `json:"-"`
	// Sigma lists the proposal's standard deviations σ_prop. Each state draws one
	// of them at each step.
	Sigma []float64 `json:"sigma"`
	Flip  float64   `json:"-"`
	Steps int       `json:"steps" is:"1..65536"` // m
	engine.Annealing
}

// GeneratorConfig describes G_θ.
type GeneratorConfig struct {
	// Kind is "realnvp", affine couplings with an exact density; "residual",
	// perceptrons that are each added to their input; or "mixture", couplings
	// whose noise is a mixture of Gaussians, with an exact density and for targets
	// of many modes. It begins where a population of Metropolis chains has found
	// the target's weight.
	Kind string `json:"kind" enum:"realnvp,residual,mixture"`
	// Base is "joint", a mixture of Gaussians of all coordinates, or "product", a mixture
	// on the line for each coordinate by itself, for modes that are as many as there are
	// choices of one for each coordinate.
	Base string `json:"base" enum:"joint,product" when:"kind=mixture"`
	// Components is the number of Gaussians, of a product those of each coordinate.
	Components int `json:"components" when:"kind=mixture" is:"1..1024"`
	// Bent says that each coordinate of the Gaussians is bent by a sinh-arcsinh map,
	// which makes its tails lighter or heavier and lets it lean, and what each
	// coupling changes by one that depends on the other coordinates.
	Bent bool `json:"bent" when:"kind=mixture"`
	// Bend bounds the bends of couplings softly: ε = b·tanh(s/b) and ln δ = b·tanh(s/b) for
	// perceptrons' outputs s. 0 stands for the bounds 2 and 1, which models without this
	// key have.
	Bend  float64             `json:"bend" when:"kind=mixture" is:"not negative"`
	Scout mixture.ScoutConfig `json:"scout" when:"kind=mixture"`
	// Depth is the number of couplings, 0 if a mixture has none, or of residual
	// blocks.
	Depth int `json:"depth"`
	// Latent is the dimension of a residual generator's noise z, the first of
	// whose coordinates become the state; 0 means that of the states.
	Latent int `json:"latent" when:"kind=residual"`
	// Hidden lists the widths of the hidden layers: of the scale and of the
	// translation perceptron of each coupling, or of each residual block's.
	Hidden []int   `json:"hidden" is:"widths"`
	Slope  float64 `json:"slope" is:"slope"` // slope of LeakyReLU for negative values
	// Gain multiplies the initial weights and biases of each perceptron's last
	// layer; small values start G_θ near the identity.
	Gain float64 `json:"gain" is:"positive"`
	// Partition says which coordinates a flow's even couplings change, its odd
	// ones changing the others: "parity", those of even index, or "halves",
	// the first half, or "listed", those of Changed.
	Partition string `json:"partition" enum:"parity,halves,listed" when:"kind=realnvp,mixture"`
	// Changed lists coordinates, which are counted from 0.
	Changed []int `json:"changed" when:"partition=listed"`
	// Clamp bounds a flow's log-scales softly: c·tanh(s/c) for a perceptron's
	// output s.
	Clamp float64 `json:"clamp" when:"kind=realnvp,mixture" is:"positive"`
}

// LossConfig describes the estimator of the discrepancy.
type LossConfig struct {
	// Kind is "mmd", the paper's MMD between the laws of (s, s′) and (s′, s), by samples
	// of any generator; "discriminator", by the witness of both that package critic learns,
	// with s′ fixed; or "balance", ½ E (R(s) − R(s′))², R = ln q − ln π, of a generator
	// whose density q is known: R(s) − R(s′) is the logarithm of
	// q(s) p(s, s′) / q(s′) p(s′, s).
	Kind          string        `json:"kind" enum:"mmd,discriminator,balance" only:"mmd,discriminator generator.kind=realnvp,residual; balance generator.kind=realnvp,mixture"`
	Discriminator critic.Config `json:"discriminator" when:"kind=discriminator"`
	Kernel        mmd.Kernel    `json:"kernel" when:"kind=mmd"`
	// Statistic of the MMD.
	Statistic mmd.Statistic `json:"statistic" when:"kind=mmd" enum:"V,U"`
	// Gradient of the MMD is "surrogate", with s′ fixed (eq. (3.5)), or
	// "full", with s′ following s through the moves that were accepted: s′ = s + Σ σε.
	Gradient string         `json:"gradient" enum:"surrogate,full" when:"kind=mmd"`
	Boundary BoundaryConfig `json:"boundary" when:"kind=mmd,discriminator"`
	engine.Balancing
	Economy
}

// Economy limits how often the loss of detailed balance evaluates ln π.
type Economy struct {
	// Reuse is how many steps more a batch of states serves. ln π of the states is evaluated
	// once: each step compares their ln q as it is by then.
	Reuse int `json:"reuse" when:"kind=balance" is:"0..1024"`
	// Enough is the effective sample size, as a fraction, from which on more steps would
	// gain nothing: training ends before its steps do when the weights of 16,384 samples as they were
	// drawn on the way have it, and no tail that would make it a matter of luck. Where batches serve
	// more than eight steps the samples are so many fewer. 0 takes all steps.
	Enough float64 `json:"enough" when:"kind=balance" is:"fraction"`
}

// Thrift spares evaluations: training ends at the given effective sample size, and each batch serves
// four steps.
func (e *Economy) Thrift(enough float64) { e.Reuse, e.Enough = 3, enough }

// fresh reports whether a step draws a batch.
func (e *Economy) fresh(step uint32) bool { return (step-1)%uint32(e.Reuse+1) == 0 }

// BoundaryConfig describes the soft penalty of eq. (5.2),
// (1/N) Σ sigmoid(c(|s_i − x_0|² − r²)). The paper leaves its constants open.
type BoundaryConfig struct {
	Weight    float64   `json:"weight" is:"not negative"` // of the penalty in the loss; 0 leaves it out
	Sharpness float64   `json:"sharpness"`                // c > 0
	Radius    float64   `json:"radius"`                   // r > 0
	Center    []float64 `json:"center" is:"finite"`       // x_0; empty means the origin
}

// ModalConfig is the configuration of a run on vectors with modes, without the target: a Config with other
// keys. Its parts convert to the parts of Config.
type ModalConfig struct {
	engine.Common
	Transition ModalTransition `json:"transition"`
	Generator  ModalGenerator  `json:"generator"`
	Loss       ModalLoss       `json:"loss"`
}

// ModalTransition names the Metropolis–Hastings kernel p^m. Each of its steps
// moves x within its mode, teleports to another mode, or both.
type ModalTransition struct {
	// Order is "random" (either move, drawn anew at each step: reversible) or
	// "paper-order" (a move within the mode, then one across: it leaves the
	// target invariant but is not reversible, so that the loss of exact
	// samples is not zero).
	Order string `json:"order" enum:"random,paper-order"`
	// Across is the probability of a teleport at a step of random order.
	Across float64 `json:"across" when:"order=random" is:"probability"`
	// Sigma lists the standard deviations of ε. Each move within a mode draws
	// one of them.
	Sigma []float64 `json:"sigma"`
	// Flip is the probability that a move within a mode proposes 2c − x + ε
	// instead of x + ε, reflected at the mode's centre c.
	Flip  float64 `json:"flip" is:"probability"`
	Steps int     `json:"steps" is:"1..65536"` // m
	engine.Annealing
}

// ModalGenerator describes G_θ.
type ModalGenerator struct {
	// Kind is "perceptron", z ∈ R^Latent → hidden layers → x and a logit for each mode,
	// from which softmax draws k; or "mixture", a mixture of Gaussians for each mode, with
	// an exact density. It begins where populations of Metropolis chains have found the
	// modes' weight.
	Kind string `json:"kind" enum:"perceptron,mixture"`
	Base string `json:"-"`
	// Components is the number of Gaussians of each mode.
	Components int `json:"components" when:"kind=mixture" is:"1..256"`
	// Bent says that each coordinate of the Gaussians is bent by a sinh-arcsinh map,
	// which makes its tails lighter or heavier and lets it lean.
	Bent   bool                `json:"bent" when:"kind=mixture"`
	Bend   float64             `json:"-"`
	Scout  mixture.ScoutConfig `json:"scout" when:"kind=mixture"`
	Depth  int                 `json:"-"`
	Latent int                 `json:"latent" when:"kind=perceptron"`             // dimension of the noise z
	Hidden []int               `json:"hidden" when:"kind=perceptron" is:"widths"` // widths of the hidden layers
	Slope  float64             `json:"slope" when:"kind=perceptron" is:"slope"`   // slope of LeakyReLU for negative values
	// Gain multiplies the initial weights of the coordinates' outputs, so that
	// the first samples reach all wells, and those of a split head's logits, so
	// that each z has a mode of its own while its x finds a well of that mode.
	Gain      float64 `json:"gain" when:"kind=perceptron" is:"positive"`
	Partition string  `json:"-"`
	Changed   []int   `json:"-"`
	Clamp     float64 `json:"-"`
}

// ModalLoss describes the loss.
type ModalLoss struct {
	// Kind is "mmd", the paper's MMD between the laws of (s, s′) and (s′, s);
	// "discriminator", the witness of both that package critic learns; or, of a generator whose density q is known, "balance", ½E(R(s) − R(s′))² with R = ln q − ln π:
	// how far detailed balance is violated between states that moves connect, or
	// independent samples.
	Kind          string        `json:"kind" enum:"mmd,discriminator,balance" only:"mmd,discriminator generator.kind=perceptron; balance generator.kind=mixture"`
	Discriminator critic.Config `json:"discriminator" when:"kind=discriminator"`
	// Kernel of the MMD is a function of the distance between pairs (x, x′), times 1
	// where both modes k and both k′ agree and 0 elsewhere (eq. (5.5)).
	Kernel mmd.Kernel `json:"kernel" when:"kind=mmd"`
	// Statistic of the MMD.
	Statistic mmd.Statistic  `json:"statistic" when:"kind=mmd" enum:"V,U"`
	Gradient  string         `json:"-"`
	Boundary  BoundaryConfig `json:"-"`
	engine.Balancing
	Economy
}

// A Configuration is *Config or *ModalConfig.
type Configuration interface {
	// settings returns a copy in which settings of choices that are not taken are zero.
	settings() *Config
}

func (c *Config) settings() *Config { return conf.Chosen(c) }

func (c *ModalConfig) settings() *Config { return conf.Chosen(c).converted() }

func (c *ModalConfig) converted() *Config {
	return &Config{c.Common, TransitionConfig(c.Transition), GeneratorConfig(c.Generator), LossConfig(c.Loss)}
}

// Limits that keep a batch's random numbers within their streams, and its memory reasonable.
const (
	maxSteps  = 1 << 16 // of refinement and of a transition
	maxDepth  = 256
	maxLatent = 4096

	maxModalDim = 1 << (63 - moveShift) * 4 / maxSteps // a step takes d/4 blocks of normals in half of a stream
)

// Validate reports the first value that cannot be used for a target of the given
// dimension, by its key. The target's own demands for memory count beside the
// configuration's.
func (c *Config) Validate(dim int, target ...engine.Demand) error {
	return validate(c, conf.Check(conf.Chosen(c)), dim, 0, target)
}

// Validate is Config.Validate for a target with modes.
func (c *ModalConfig) Validate(dim, modes int, target ...engine.Demand) error {
	return validate(c, conf.First(
		conf.Check(conf.Chosen(c)),
		conf.Between("target's coordinates", dim, 1, maxModalDim),
		conf.Between("target's modes", modes, 1, MaxModes)), dim, modes, target)
}

// validate reports invalid, or the first value that cannot be used.
func validate(configuration Configuration, invalid error, dim, modes int, target []engine.Demand) error {
	c := configuration.settings()
	p, g := &c.Transition, &c.Generator
	if err := conf.First(
		invalid, c.Common.Validate(),
		conf.Deviations("transition.sigma", p.Sigma),
		conf.Under("transition", p.Annealing.Validate()),
		conf.Under("generator", g.validate(dim, modes))); err != nil {
		return err
	}
	if g.Kind == "mixture" {
		if err := mixture.ValidateTraining(&c.Training); err != nil {
			return err
		}
	}
	if err := conf.Under("loss", losses[c.Loss.Kind].validate(&c.Loss, dim)); err != nil {
		return err
	}
	return engine.Afford(c.demands(dim, modes, target)...)
}

// Moved maps each key of former layouts to what replaces it.
func (*Config) Moved() map[string]string {
	const balanceInstead = `loss.kind "balance" learns from moves what the witness of least squares and the stationarity loss did`
	return map[string]string{
		"loss.objective":         `loss.kind, which is "mmd" for what was "reversibility"`,
		"loss.kind=divergence":   `"balance" with loss.partners 1`,
		"loss.kind=kfd":          balanceInstead,
		"loss.kind=stationarity": balanceInstead,
		"loss.witness":           "none: " + balanceInstead,
		"loss.density_weight":    "none: " + balanceInstead,
		"loss.forward":           "none: local moves reach what the generator draws too seldom; see loss.partners",
	}
}

// Moved maps each key of former layouts to what replaces it.
func (*ModalConfig) Moved() map[string]string {
	return map[string]string{
		"loss.objective":         `loss.kind, which is "mmd" for what was "reversibility"`,
		"loss.witness":           `none: where a witness was, loss.kind "balance" learns by a density`,
		"loss.kind=divergence":   `"balance" with loss.partners 1`,
		"loss.kind=stationarity": `"balance", of generator.kind "mixture"; or "mmd"`,
		"loss.gradient":          "none: the gradient goes straight through the draw of a mode",
		"generator.head":         "none: a perceptron has one point x and a logit for each mode, which was \"split\"",
		"generator.branches":     "none: a perceptron has one point x",
	}
}

// Settled maps each key of former layouts that may still be given to its only value.
func (*ModalConfig) Settled() map[string]string {
	return map[string]string{"loss.gradient": `"surrogate"`, "generator.head": `"split"`}
}

func (g *GeneratorConfig) validate(dim, modes int) error {
	minDepth, minLatent := 0, 0
	switch {
	case g.Kind == "mixture" && modes > 0:
		return nil
	case g.Kind == "perceptron":
		minLatent = 1
	case g.Kind != "mixture":
		minDepth = 1
	}
	if err := conf.First(
		conf.Between("depth", g.Depth, minDepth, maxDepth),
		conf.Between("latent", g.Latent, minLatent, maxLatent)); err != nil || g.Kind == "perceptron" {
		return err
	}
	if g.Kind == "residual" {
		if g.Latent != 0 && g.Latent < dim {
			return fmt.Errorf("latent: %d is less than the %d coordinates of a state; set it to 0, for as many, or to more", g.Latent, dim)
		}
		return nil
	}
	if dim < 2 && g.Kind == "mixture" && g.Depth > 0 {
		return fmt.Errorf("depth: couplings need two coordinates or more; set it to 0")
	}
	if dim < 2 && g.Kind == "realnvp" {
		return fmt.Errorf("kind: couplings need two coordinates or more: in one, a realnvp is an affine map, and its states are Gaussian; use residual or mixture")
	}
	if g.Partition == "listed" {
		listed := make([]bool, dim)
		for i, c := range g.Changed {
			if err := conf.Between(fmt.Sprintf("changed[%d]", i), c, 0, dim-1); err != nil {
				return err
			}
			if listed[c] {
				return fmt.Errorf("changed[%d]: coordinate %d is listed twice", i, c)
			}
			listed[c] = true
		}
		if n := len(g.Changed); n == 0 && dim > 1 || n >= dim {
			return fmt.Errorf("changed: %d of %d coordinates; list some, not all, for the others to depend on", n, dim)
		}
	}
	return nil
}

func (b *BoundaryConfig) validate(dim int) error {
	if b.Weight > 0 {
		if err := conf.First(conf.Positive("sharpness", b.Sharpness), conf.Positive("radius", b.Radius)); err != nil {
			return err
		}
	}
	if len(b.Center) != 0 && len(b.Center) != dim {
		return fmt.Errorf("center: %d coordinates where a state has %d; give as many, or none for the origin", len(b.Center), dim)
	}
	return nil
}
