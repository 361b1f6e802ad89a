package hybrid

import (
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// Config determines a run of the hybrid double wells.
type Config struct {
	engine.Common
	Target     TargetConfig     `json:"target"`
	Transition TransitionConfig `json:"transition"`
	Generator  GeneratorConfig  `json:"generator"`
	Loss       LossConfig       `json:"loss"`
}

// TargetConfig names the distribution p(x, k) = e^{−(x²−μ_k)²} / (M Z_k).
type TargetConfig struct {
	Mu []float64 `json:"mu"` // μ_k > 0 of each mode
}

// TransitionConfig names the Metropolis–Hastings kernel p^m. Each of its steps
// moves x within its mode, teleports to another mode, or both.
type TransitionConfig struct {
	// Order is "random" (either move, drawn anew at each step: reversible) or
	// "paper-order" (a move within the mode, then one across: it leaves the
	// target invariant but is not reversible, so that the loss of exact
	// samples is not zero).
	Order string `json:"order"`
	// Across is the probability of a teleport at a step of random order.
	Across float64 `json:"across" when:"order=random"`
	// Sigma lists the standard deviations of ε, one of which is drawn for
	// each move within a mode.
	Sigma []float64 `json:"sigma"`
	// Flip is the probability that a move within a mode proposes −x + ε
	// instead of x + ε.
	Flip  float64 `json:"flip"`
	Steps int     `json:"steps"` // m
}

// GeneratorConfig describes G_θ: z ∈ R^Latent → hidden layers → heads.
type GeneratorConfig struct {
	Latent int     `json:"latent"` // dimension of the noise z
	Hidden []int   `json:"hidden"` // widths of the hidden layers
	Slope  float64 `json:"slope"`  // of LeakyReLU for negative values
	// Head is "split", one coordinate x and a logit for each mode, of which
	// softmax draws k, with a straight-through gradient; or "branch", pairs
	// (x_r, logit_r) of which softmax draws one, branch r belonging to mode
	// r mod M, with the score-function gradient.
	Head string `json:"head"`
	// Branches is the number of branches of each mode.
	Branches int `json:"branches" when:"head=branch"`
	// Gain multiplies the initial weights of the coordinates' outputs, so that
	// the first samples reach all wells.
	Gain float64 `json:"gain"`
}

// LossConfig describes the estimator of the discrepancy.
type LossConfig struct {
	// Kind is "mmd", the paper's MMD between the laws of (s, s′) and (s′, s);
	// "stationarity", that between the laws of s and s′, which tests invariance
	// instead of detailed balance; "kfd", the least-squares witness of
	// irreversibility in random features of x for each mode (package kfd); or
	// "discriminator", the learned one of package critic.
	Kind string `json:"kind"`
	// Kernel of both MMDs is a function of the distance between pairs (x, x′),
	// times 1 where both modes k and both k′ agree and 0 elsewhere (eq.
	// (product_kernel)); between states, of that of x, times 1 where k agrees.
	Kernel mmd.Kernel `json:"kernel" when:"kind=mmd,stationarity"`
	// Statistic of both MMDs.
	Statistic     mmd.Statistic `json:"statistic" when:"kind=mmd,stationarity"`
	Witness       WitnessConfig `json:"witness" when:"kind=kfd"`
	Discriminator critic.Config `json:"discriminator" when:"kind=discriminator"`
	// Gradient through softmax's draw is "surrogate", with s′ fixed as each
	// loss has it, or "score", the score function of the choice that was
	// drawn with the mean of the other samples as baseline.
	Gradient string `json:"gradient"`
}

// WitnessConfig describes the least-squares witness.
type WitnessConfig struct {
	kfd.Config
	Features kfd.Features `json:"features"`
}

var (
	orders    = []string{"random", "paper-order"}
	heads     = []string{"split", "branch"}
	losses    = []string{"mmd", "stationarity", "kfd", "discriminator"}
	gradients = []string{"surrogate", "score"}
)

func probability(x float64) bool { return x >= 0 && x <= 1 }

// Limits that keep a batch's random numbers within their stream and its
// memory within reason.
const (
	maxSteps    = 1 << 16
	maxLatent   = 4096
	maxBranches = 16
)

// Validate reports the first value that cannot be used, by its key.
func (c *Config) Validate() error {
	c = conf.Chosen(c)
	if err := conf.First(c.ValidateNames("hybrid", Presets), c.Common.Validate()); err != nil {
		return err
	}
	p, g := &c.Transition, &c.Generator
	if _, err := NewTarget(c.Target.Mu); err != nil {
		return fmt.Errorf("target.%w", err)
	}
	if err := conf.First(
		conf.OneOf("transition.order", p.Order, orders),
		conf.Between("transition.steps", p.Steps, 1, maxSteps),
		conf.Between("generator.latent", g.Latent, 1, maxLatent),
		conf.Widths("generator.hidden", g.Hidden),
		conf.Slope("generator.slope", g.Slope),
		conf.OneOf("generator.head", g.Head, heads),
		conf.Positive("generator.gain", g.Gain)); err != nil {
		return err
	}
	for i, s := range p.Sigma {
		if err := conf.Positive(fmt.Sprintf("transition.sigma[%d]", i), s); err != nil {
			return err
		}
	}
	switch {
	case !probability(p.Across):
		return fmt.Errorf("transition.across: %v is not a probability", p.Across)
	case len(p.Sigma) == 0:
		return fmt.Errorf("transition.sigma: the list is empty; give at least one standard deviation")
	case !probability(p.Flip):
		return fmt.Errorf("transition.flip: %v is not a probability", p.Flip)
	}
	if g.Head == "branch" {
		if err := conf.Between("generator.branches", g.Branches, 1, maxBranches); err != nil {
			return err
		}
	}
	if err := c.Loss.validate(len(c.Target.Mu)); err != nil {
		return fmt.Errorf("loss.%w", err)
	}
	return engine.Afford(c.demands()...)
}

// Moved says where keys of former layouts have gone.
func (*Config) Moved() map[string]string {
	return map[string]string{
		"loss.objective":        `loss.kind, which is "mmd" for what was "reversibility"`,
		"loss.witness.own_half": "nothing: the witness is always cross-fitted",
	}
}

func (l *LossConfig) validate(modes int) error {
	if err := conf.First(conf.OneOf("kind", l.Kind, losses), conf.OneOf("gradient", l.Gradient, gradients)); err != nil {
		return err
	}
	switch l.Kind {
	case "kfd":
		if err := l.Witness.Validate(); err != nil {
			return fmt.Errorf("witness.%w", err)
		}
		if err := l.Witness.Features.ValidateModes(modes); err != nil {
			return fmt.Errorf("witness.features.%w", err)
		}
	case "discriminator":
		if err := l.Discriminator.Validate(); err != nil {
			return fmt.Errorf("discriminator.%w", err)
		}
	default:
		if err := l.Kernel.ValidateReal(); err != nil {
			return fmt.Errorf("kernel.%w", err)
		}
	}
	return nil
}

// New builds the system.
func (c *Config) New(workers *pool.Pool) (engine.System, error) { return newSystem(c, workers) }
