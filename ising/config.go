package ising

import (
	"fmt"
	"math"
	"strings"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// Config determines a run of the Ising model.
type Config struct {
	engine.Common
	Target     TargetConfig     `json:"target"`
	Transition TransitionConfig `json:"transition"`
	Generator  GeneratorConfig  `json:"generator"`
	Loss       LossConfig       `json:"loss"`
}

// TargetConfig names the distribution π(s) ∝ exp(−βE(s)).
type TargetConfig struct {
	L    int     `json:"l"`    // side of the periodic lattice, at least 2
	Beta float64 `json:"beta"` // inverse temperature β ≥ 0
	J    float64 `json:"j"`    // coupling; positive is ferromagnetic
	H    float64 `json:"h"`    // external field
}

// TransitionConfig names the Metropolis–Hastings kernel p^m.
type TransitionConfig struct {
	// Proposal is "single", "mixture" or "multi-spin", of a Metropolis step; or
	// "sweep", with which a step is a heat-bath sweep through the colours of the
	// lattice and back, some thousand times faster than as many single-spin steps.
	Proposal string `json:"proposal"`
	// GlobalFlip is the mixture's probability p_g of proposing to flip all spins.
	GlobalFlip float64 `json:"global_flip"`
	Steps      int     `json:"steps"` // m
	// Anneal is the fraction of the training over which the kernel's inverse
	// temperature rises from 0 to target.beta. A generator that meets a cold
	// target at once rushes to its states of lowest energy.
	Anneal float64 `json:"anneal"`
}

// GeneratorConfig describes G_θ: z ∈ R^Latent → hidden layers → N logits h.
type GeneratorConfig struct {
	Latent int `json:"latent"`
	// Signs is the number of components of z that are −SignSize or +SignSize
	// instead of normal. A continuous map cannot jump between two sectors; a
	// sign can, if it is large enough not to drown among the normal components.
	Signs    int     `json:"signs"`
	SignSize float64 `json:"sign_size"`
	// SignWeights is "even" for signs that are + with probability ½, or
	// "learned" for probabilities that are parameters, where the sectors weigh
	// differently.
	SignWeights string  `json:"sign_weights"`
	Hidden      []int   `json:"hidden"`
	Slope       float64 `json:"slope"` // of LeakyReLU for negative values
	// Gain multiplies the initial weights of the last layer.
	Gain float64 `json:"gain"`
	// Head turns logits into spins: "sign" takes their signs; "bernoulli"
	// draws spin up with probability 1/(1+exp(−2h)), so that ⟨s⟩ = tanh h.
	Head string `json:"head"`
	// Width is the scale τ of the straight-through estimator that passes
	// gradients through the sign, ds/dh := (1 − tanh²(h/τ))/τ.
	Width float64 `json:"width"`
	// WidthUnit is "absolute", or "spread" for multiples of the standard
	// deviation of the batch's logits.
	WidthUnit string `json:"width_unit"`
	// FinalWidth is reached geometrically at the last step.
	FinalWidth float64 `json:"final_width"`
	// Symmetry is the group of which each sample is taken through a random
	// element: "none"; "z2", to flip all spins with probability ½, for targets
	// without a field; "lattice", the translations, rotations and reflections
	// of the periodic square; or "z2+lattice", both.
	Symmetry string `json:"symmetry"`
}

// LossConfig describes the estimator of the discrepancy and of its gradient.
type LossConfig struct {
	// Objective is "mmd", the paper's; "stationarity", the MMD between the laws
	// of s and s′, which tests invariance instead of detailed balance; "kfd", the
	// least-squares witness of package kfd: with an exact average in one feature
	// per configuration, or per orbit of the lattice's symmetry, and else in the
	// features that Witness names; or "discriminator", the learned one of package
	// critic.
	Objective string `json:"objective"`
	// Average over s′ is "sampled", one s′ for each s, or "exact": with the
	// transition matrix of all configurations of at most 12 spins, or of the
	// orbits of at most 16 spins under the lattice's symmetry, and else over the
	// moves of one step of at most 16.
	Average string `json:"average"`
	// RaoBlackwell makes an exact average use a bernoulli head's
	// probabilities instead of the spins drawn from them.
	RaoBlackwell  bool          `json:"rao_blackwell"`
	Witness       WitnessConfig `json:"witness"`
	Discriminator critic.Config `json:"discriminator"`
	Kernel        mmd.Kernel    `json:"kernel"`
	Statistic     mmd.Statistic `json:"statistic"`
	// Gradient is "surrogate", the derivative of the kernel continued to real
	// spins with s′ fixed (eq. (surrogate_grad)); "difference", half the change
	// of the loss between the two values of a spin with s′ fixed; "score", the
	// score function of the spins that a bernoulli head drew; or "full", the
	// surrogate's with s′ following s through the flips that were accepted.
	Gradient string `json:"gradient"`
}

// WitnessConfig describes the least-squares witness.
type WitnessConfig struct {
	kfd.Config
	// Bandwidth σ of the Gaussian kernel of single configurations whose norm
	// the ridge penalises; 0, the limit of the narrowest, penalises the plain
	// sum of squares.
	Bandwidth float64 `json:"bandwidth"`
	// Rank is the number of Walsh functions, where they are the features.
	Rank int `json:"rank"`
	// Features of a sampled average are "walsh", Walsh functions of at most 64
	// spins, or "invariant": pair correlations, counts of local patterns and
	// functions of energy and magnetisation, of which there are few on any
	// lattice, for generators with the lattice's symmetry.
	Features string `json:"features"`
}

var (
	proposals  = []string{"single", "mixture", "multi-spin", sweeping}
	objectives = []string{"mmd", "stationarity", "kfd", "discriminator"}
	averages   = []string{"sampled", "exact"}
	heads      = []string{"sign", "bernoulli"}
	gradients  = []string{"surrogate", "difference", "score", "full"}
	features   = []string{"walsh", "invariant"}
	units      = []string{"absolute", "spread"}
	signs      = []string{"even", "learned"}
)

// Limits that keep a batch's random numbers within their stream and its memory
// within reason.
const (
	maxSide   = 256
	maxSteps  = 1 << 16
	maxLatent = 4096
	maxRank   = 4096
)

// Validate reports the first value that cannot be used, by its key.
func (c *Config) Validate() error {
	if err := conf.First(c.ValidateNames("ising", Presets), c.Common.Validate()); err != nil {
		return err
	}
	t, p, g := &c.Target, &c.Transition, &c.Generator
	if err := conf.First(
		conf.Between("target.l", t.L, 2, maxSide),
		conf.NotNegative("target.beta", t.Beta),
		conf.Finite("target.j", t.J),
		conf.Finite("target.h", t.H),
		conf.OneOf("transition.proposal", p.Proposal, proposals)); err != nil {
		return err
	}
	if err := bitspin.CheckTemperature(t.L*t.L, t.J, t.H, t.Beta); err != nil {
		return fmt.Errorf("target.beta: %w", err)
	}
	if _, err := c.proposal(); err != nil && !c.sweeps() {
		return fmt.Errorf("transition.global_flip: %w", err)
	}
	if err := conf.First(
		conf.Between("transition.steps", p.Steps, 1, min(maxSteps, c.mostSteps())),
		conf.Between("generator.latent", g.Latent, 1, maxLatent),
		conf.Between("generator.signs", g.Signs, 0, g.Latent),
		conf.Positive("generator.sign_size", g.SignSize),
		conf.Slope("generator.slope", g.Slope),
		conf.Positive("generator.gain", g.Gain),
		conf.Positive("generator.width", g.Width),
		conf.Positive("generator.final_width", g.FinalWidth),
		conf.Widths("generator.hidden", g.Hidden),
		conf.OneOf("generator.head", g.Head, heads),
		conf.OneOf("generator.width_unit", g.WidthUnit, units),
		conf.OneOf("generator.sign_weights", g.SignWeights, signs)); err != nil {
		return err
	}
	switch {
	case !(p.Anneal >= 0 && p.Anneal <= 1):
		return fmt.Errorf("transition.anneal: %v is not between 0 and 1", p.Anneal)
	case g.SignWeights == "learned" && g.Signs == 0:
		return fmt.Errorf("generator.sign_weights: there are no signs to weigh; set generator.signs, or sign_weights to even")
	case g.Head == "bernoulli" && (g.Width != 1 || g.FinalWidth != 1 || g.WidthUnit != "absolute"):
		return fmt.Errorf("generator.width: a bernoulli head has no width of its own; leave width and final_width at 1 and width_unit at absolute")
	}
	if err := conf.OneOf("loss.gradient", c.Loss.Gradient, gradients); err != nil {
		return err
	}
	if err := c.Loss.Kernel.Validate(); err != nil {
		return fmt.Errorf("loss.kernel.%w", err)
	}
	if err := c.validateEstimator(); err != nil {
		return err
	}
	return engine.Afford(c.demands()...)
}

// validateEstimator refuses choices that do not go together, with the reason.
func (c *Config) validateEstimator() error {
	l, g := &c.Loss, &c.Generator
	if err := conf.OneOf("loss.objective", l.Objective, objectives); err != nil {
		return err
	}
	if err := conf.OneOf("loss.average", l.Average, averages); err != nil {
		return err
	}
	if err := conf.OneOf("generator.symmetry", g.Symmetry, symmetries); err != nil {
		return err
	}
	exact := l.Average == "exact"
	switch {
	case newSymmetry(g.Symmetry, c.Target.L).flip && c.Target.H != 0:
		return fmt.Errorf("generator.symmetry: a target with a field (target.h = %v) has no symmetry under flipping all spins", c.Target.H)
	case exact && c.sweeps():
		return fmt.Errorf("loss.average: exact averages over Metropolis steps, not over sweeps; set it to sampled, or transition.proposal to %s", strings.Join(proposals[:len(proposals)-1], ", "))
	case exact && c.Target.L*c.Target.L > enumerable:
		return fmt.Errorf("loss.average: exact lists all configurations, of at most %d spins; target.l = %d has %d", enumerable, c.Target.L, c.Target.L*c.Target.L)
	case exact && c.Target.L*c.Target.L > MaxMatrixSites && l.Objective != "kfd":
		return fmt.Errorf("loss.average: exact needs the transition matrix of all configurations for the objective %s, and at most %d spins; take kfd or sampled", l.Objective, MaxMatrixSites)
	case exact && !newSymmetry(g.Symmetry, c.Target.L).tabulable() && (c.Transition.Steps != 1 || c.Transition.Proposal == "multi-spin"):
		return fmt.Errorf("transition.steps: with more than %d spins and without the lattice's symmetry an exact average takes one step of the single or the mixture proposal; set transition.steps to 1", MaxMatrixSites)
	case exact && l.Objective == "kfd" && newSymmetry(g.Symmetry, c.Target.L).tabulable() && l.Witness.Bandwidth > 0 && gramCondition(c.Target.L, l.Witness.Bandwidth) > 1e9:
		return fmt.Errorf("loss.witness.bandwidth: %v makes the Gram matrix of configurations of %d spins singular in single precision; take a smaller one, 1 say", l.Witness.Bandwidth, c.Target.L*c.Target.L)
	case l.Gradient == "score" && g.Head != "bernoulli":
		return fmt.Errorf("loss.gradient: the sign has no score function, as its spins are not drawn; set generator.head to bernoulli")
	case l.Gradient == "score" && l.RaoBlackwell:
		return fmt.Errorf("loss.gradient: with loss.rao_blackwell the loss is a function of the probabilities, and no spins are drawn to have a score; set one of the two otherwise")
	case l.Gradient == "full" && (l.Objective == "kfd" || l.Objective == "discriminator"):
		return fmt.Errorf("loss.gradient: full differentiates the loss by s′ too, but a witness is descended in s alone; set it to difference, or loss.objective to mmd or stationarity")
	case exact && l.Objective == "stationarity":
		return fmt.Errorf("loss.average: exact averages over pairs of configurations, for mmd and kfd; the stationarity loss has none, so set it to sampled")
	case l.Gradient == "full" && exact:
		return fmt.Errorf("loss.gradient: full follows each s into its own s′, and an exact average has all s′ at once, whose full gradient is that of flipping spins; set it to difference or score")
	case exact && l.Objective == "discriminator":
		return fmt.Errorf("loss.average: a discriminator learns from pairs of configurations; set it to sampled")
	case l.Objective == "discriminator" && c.Target.L > maxJudged:
		return fmt.Errorf("loss.objective: a discriminator takes at most %d×%d spins; target.l is %d", maxJudged, maxJudged, c.Target.L)
	case exact && l.Gradient == "surrogate":
		return fmt.Errorf("loss.gradient: an exact average gives the change of the loss by flipping spins; set it to difference or score")
	case exact && l.Objective == "mmd" && (!l.Kernel.IsGaussian() || l.Statistic != mmd.V):
		return fmt.Errorf("loss.kernel: an exact average takes Gaussians and heat kernels alone, and the V statistic")
	case l.Objective == "kfd" && c.Target.L > 8 && l.Witness.Features != "invariant":
		return fmt.Errorf("loss.witness.features: %s takes at most 64 spins, and target.l = %d has %d; invariant is for larger lattices", l.Witness.Features, c.Target.L, c.Target.L*c.Target.L)
	case l.Objective == "kfd" && l.Gradient == "surrogate":
		return fmt.Errorf("loss.gradient: kfd gives the change of the witness by flipping spins; set it to difference or score")
	case l.RaoBlackwell && !(exact && g.Head == "bernoulli"):
		return fmt.Errorf("loss.rao_blackwell: needs loss.average exact and generator.head bernoulli")
	}
	if l.Objective == "discriminator" {
		if err := l.Discriminator.Validate(); err != nil {
			return fmt.Errorf("loss.discriminator.%w", err)
		}
	}
	if l.Objective == "kfd" {
		if err := conf.OneOf("loss.witness.features", l.Witness.Features, features); err != nil {
			return err
		}
		if err := c.validateInvariant(); err != nil {
			return err
		}
		if err := l.Witness.Validate(); err != nil {
			return fmt.Errorf("loss.witness.%w", err)
		}
		if err := conf.First(
			conf.NotNegative("loss.witness.bandwidth", l.Witness.Bandwidth),
			conf.Between("loss.witness.rank", l.Witness.Rank, 1, maxRank)); err != nil {
			return err
		}
		if exact && !newSymmetry(c.Generator.Symmetry, c.Target.L).tabulable() && l.Witness.Bandwidth != 0 {
			return fmt.Errorf("loss.witness.bandwidth: with more than %d spins and without the lattice's symmetry an exact average has a feature for each configuration and no matrix of their kernel; set it to 0", MaxMatrixSites)
		}
	}
	return nil
}

func (c *Config) validateInvariant() error {
	switch {
	case c.Loss.Witness.Features != "invariant":
		return nil
	case !newSymmetry(c.Generator.Symmetry, c.Target.L).lattice:
		return fmt.Errorf("loss.witness.features: invariant features cannot see what the lattice's symmetry would change; set generator.symmetry to lattice or z2+lattice")
	case c.Loss.Average != "sampled":
		return fmt.Errorf("loss.witness.features: an exact average has a feature for each of its states; invariant needs loss.average sampled")
	case c.Target.L < leastInvariant || c.Target.L > largestInvariant:
		return fmt.Errorf("loss.witness.features: invariant is for target.l between %d and %d, not %d", leastInvariant, largestInvariant, c.Target.L)
	}
	return nil
}

// gramCondition returns the ratio of the largest to the least eigenvalue of the
// Gaussian kernel's matrix of all configurations.
func gramCondition(l int, bandwidth float64) float64 {
	rho := math.Exp(-2 / (bandwidth * bandwidth))
	return math.Pow((1+rho)/(1-rho), float64(l*l))
}

// annealLevels is the number of inverse temperatures on the way to the target's.
const annealLevels = 32

// annealLevel returns the level, from 1 to annealLevels, of a step.
func (c *Config) annealLevel(step uint32) int {
	end := c.Transition.Anneal * float64(c.Training.Steps)
	if float64(step) >= end {
		return annealLevels
	}
	return 1 + int(float64(step)/end*(annealLevels-1))
}

// annealed returns the inverse temperature of a level on the way to beta.
func annealed(beta float64, level int) float64 {
	return beta * float64(level) / annealLevels
}

// sweeping is the proposal of transitions that are no Metropolis steps.
const sweeping = "sweep"

func (c *Config) sweeps() bool { return c.Transition.Proposal == sweeping }

// A transition takes configurations lo … hi−1 of a batch from s to s′, by a number
// of steps: a bitspin.Metropolis or a bitspin.Sweeper.
type transition interface {
	Run(dst, src []uint64, lo, hi, steps int, c *asm.Counter, firstSample uint64, st *bitspin.Stats)
}

// newTransition returns the transition of the target at an inverse temperature.
func (c *Config) newTransition(model bitspin.Model, beta float64) (transition, error) {
	if c.sweeps() {
		return bitspin.NewSweeper(model, beta)
	}
	proposal, err := c.proposal()
	if err != nil {
		return nil, err
	}
	return bitspin.NewMetropolis(model, beta, proposal)
}

// mostSteps returns the number of steps of the transition that have random numbers
// of their own.
func (c *Config) mostSteps() int {
	proposal, err := c.proposal()
	if err != nil {
		return math.MaxInt32 // sweeps: one generator for all
	}
	return bitspin.MaxSteps(c.Target.L*c.Target.L, proposal)
}

// transitionPiece returns how many samples a piece of a transition has.
func (c *Config) transitionPiece() int {
	if c.sweeps() {
		return bitspin.SweepBlock
	}
	return 128
}

// stepMatrix returns the transition matrix of one step.
func (c *Config) stepMatrix(t Target) (*TransitionMatrix, error) {
	if c.sweeps() {
		return NewSweepMatrix(t)
	}
	proposal, err := c.proposal()
	if err != nil {
		return nil, err
	}
	return NewTransitionMatrix(t, proposal)
}

func (c *Config) proposal() (bitspin.Proposal, error) {
	return bitspin.ParseProposal(c.Transition.Proposal, c.Transition.GlobalFlip)
}

func (c *Config) model() (bitspin.Model, error) {
	return bitspin.NewModel(c.Target.L, c.Target.J, c.Target.H)
}

// New builds the system.
func (c *Config) New(workers *pool.Pool) (engine.System, error) { return newSystem(c, workers) }
