package reals

import (
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/conf"
)

// Config is what a run on real vectors takes besides its target. A system's
// configuration embeds it.
type Config struct {
	engine.Common
	Transition TransitionConfig `json:"transition"`
	Generator  GeneratorConfig  `json:"generator"`
	Loss       LossConfig       `json:"loss"`
}

// TransitionConfig names the random-walk Metropolis kernel p^m.
type TransitionConfig struct {
	// Sigma lists the proposal's standard deviations σ_prop, one of which each
	// state draws at each step.
	Sigma []float64 `json:"sigma"`
	Steps int       `json:"steps"` // m
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
	Components int `json:"components" when:"kind=mixture"`
	// Bent says that each coordinate of the Gaussians is bent by a sinh-arcsinh map,
	// which makes its tails lighter or heavier and lets it lean, and what each
	// coupling changes by one that depends on the other coordinates.
	Bent  bool                `json:"bent" when:"kind=mixture"`
	Scout mixture.ScoutConfig `json:"scout" when:"kind=mixture"`
	// Depth is the number of couplings, of which a mixture may have none, or of
	// residual blocks.
	Depth int `json:"depth"`
	// Hidden lists the widths of the hidden layers: of the scale and of the
	// translation perceptron of each coupling, or of each residual block's.
	Hidden []int   `json:"hidden"`
	Slope  float64 `json:"slope"` // of LeakyReLU for negative values
	// Gain multiplies the initial weights and biases of each perceptron's last
	// layer; small values start G_θ near the identity.
	Gain float64 `json:"gain"`
	// Latent is the dimension of a residual generator's noise z, the first of
	// whose coordinates become the state; 0 means that of the states.
	Latent int `json:"latent" when:"kind=residual"`
	// Partition says which coordinates a flow's even couplings change, its odd
	// ones changing the others: "parity", those of even index, or "halves",
	// the first half, or "listed", those of Changed.
	Partition string `json:"partition" enum:"parity,halves,listed" when:"kind=realnvp,mixture"`
	// Changed lists coordinates, which are counted from 0.
	Changed []int `json:"changed" when:"partition=listed"`
	// Clamp bounds a flow's log-scales softly: c·tanh(s/c) for a perceptron's
	// output s.
	Clamp float64 `json:"clamp" when:"kind=realnvp,mixture"`
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
	// Gradient of the MMD is "surrogate", with s′ fixed (eq. (surrogate_grad)), or
	// "full", with s′ following s through the moves that were accepted: s′ = s + Σ σε.
	Gradient string         `json:"gradient" enum:"surrogate,full" when:"kind=mmd"`
	Boundary BoundaryConfig `json:"boundary" when:"kind=mmd,discriminator"`
	engine.Balancing
}

// BoundaryConfig describes the soft penalty of eq. (boundary_penalty),
// (1/N) Σ sigmoid(c(|s_i − x_0|² − r²)). The paper leaves its constants open.
type BoundaryConfig struct {
	Weight    float64   `json:"weight"`    // of the penalty in the loss; 0 leaves it out
	Sharpness float64   `json:"sharpness"` // c > 0
	Radius    float64   `json:"radius"`    // r > 0
	Center    []float64 `json:"center"`    // x_0; empty means the origin
}

// Limits that keep a batch's random numbers within their stream and its memory
// within reason.
const (
	maxSteps  = 1 << 16
	maxDepth  = 256
	maxLatent = 4096

	maxComponents = 1024
)

// Validate reports the first value that cannot be used for a target of the given
// dimension, by its key. The target's own demands for memory count beside the
// configuration's.
func (c *Config) Validate(dim int, target ...engine.Demand) error {
	c = conf.Chosen(c)
	p := &c.Transition
	if err := conf.First(
		conf.Enums(c), c.Common.Validate(),
		conf.Deviations("transition.sigma", p.Sigma),
		conf.Between("transition.steps", p.Steps, 1, maxSteps),
		conf.Under("transition", p.Annealing.Validate()),
		conf.Under("generator", c.Generator.validate(dim)),
		c.placed(),
		conf.Under("loss", c.Loss.validate(dim))); err != nil {
		return err
	}
	return engine.Afford(c.Demands(dim, target...)...)
}

// placed validates what a mixture that is placed asks for.
func (c *Config) placed() error {
	if g := &c.Generator; g.Kind == "mixture" {
		return g.Scout.Validate(g.Components, maxComponents, &c.Training)
	}
	return nil
}

// Moved says where keys of former layouts have gone.
func (*Config) Moved() map[string]string {
	return map[string]string{
		"loss.objective":         `loss.kind, which is "mmd" for what was "reversibility"`,
		"loss.kind=divergence":   `"balance" with loss.partners 1`,
		"loss.kind=kfd":          dense,
		"loss.kind=stationarity": dense,
		"loss.witness":           "none: " + dense,
		"loss.density_weight":    "none: " + dense,
		"loss.forward":           "none: local moves reach what the generator draws too seldom; see loss.partners",
	}
}

const dense = `loss.kind "balance" learns from moves what the witness of least squares and the stationarity loss did`

func (g *GeneratorConfig) validate(dim int) error {
	least := 1
	if g.Kind == "mixture" {
		least = 0
	}
	if err := conf.First(
		conf.Between("depth", g.Depth, least, maxDepth),
		conf.Widths("hidden", g.Hidden),
		conf.Slope("slope", g.Slope),
		conf.Positive("gain", g.Gain),
		conf.Between("latent", g.Latent, 0, maxLatent)); err != nil {
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
		seen := make([]bool, dim)
		for i, c := range g.Changed {
			if err := conf.Between(fmt.Sprintf("changed[%d]", i), c, 0, dim-1); err != nil {
				return err
			}
			if seen[c] {
				return fmt.Errorf("changed[%d]: coordinate %d is listed twice", i, c)
			}
			seen[c] = true
		}
		if n := len(g.Changed); n == 0 && dim > 1 || n >= dim {
			return fmt.Errorf("changed: %d of %d coordinates; list some, not all, for the others to depend on", n, dim)
		}
	}
	return conf.Positive("clamp", g.Clamp)
}

func (l *LossConfig) validate(dim int) error {
	how := conf.Under("kernel", l.Kernel.ValidateReal())
	switch l.Kind {
	case "balance":
		return l.Balancing.Validate()
	case "discriminator":
		how = conf.Under("discriminator", l.Discriminator.Validate())
	}
	b := &l.Boundary
	if err := conf.First(
		how, conf.NotNegative("boundary.weight", b.Weight)); err != nil {
		return err
	}
	if b.Weight > 0 {
		if err := conf.First(
			conf.Positive("boundary.sharpness", b.Sharpness),
			conf.Positive("boundary.radius", b.Radius)); err != nil {
			return err
		}
	}
	if len(b.Center) != 0 && len(b.Center) != dim {
		return fmt.Errorf("boundary.center: %d coordinates where a state has %d; give as many, or none for the origin", len(b.Center), dim)
	}
	for i, x := range b.Center {
		if err := conf.Finite(fmt.Sprintf("boundary.center[%d]", i), x); err != nil {
			return err
		}
	}
	return nil
}
