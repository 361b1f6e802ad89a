package ising

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/kfd"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/engine/spins/hierarchy"
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
	Proposal string `json:"proposal" enum:"single,mixture,multi-spin,sweep"`
	// GlobalFlip is the probability p_g of proposing to flip all spins.
	GlobalFlip float64 `json:"global_flip" when:"proposal=mixture"`
	Steps      int     `json:"steps"` // m
	// Anneal is the fraction of the training over which the kernel's inverse
	// temperature rises from AnnealFrom·target.beta to target.beta. A generator
	// that meets a cold target at once rushes to its states of lowest energy.
	Anneal     float64 `json:"anneal"`
	AnnealFrom float64 `json:"anneal_from"` // fraction of target.beta that annealing begins with
}

// GeneratorConfig describes G_θ.
type GeneratorConfig struct {
	// Kind is "perceptron", z ∈ R^Latent → hidden layers → N logits h → spins; or
	// "hierarchy", spins drawn one group after another from coarse to fine, each
	// given the nearest ones that are known, and the last ones exactly, so that
	// the density of a configuration is known (package hierarchy).
	Kind   string      `json:"kind" enum:"perceptron,hierarchy"`
	Latent int         `json:"latent" when:"kind=perceptron"` // dimension of z
	Signs  SignsConfig `json:"signs" when:"kind=perceptron"`
	Hidden []int       `json:"hidden" when:"kind=perceptron"` // widths of the hidden layers
	Slope  float64     `json:"slope" when:"kind=perceptron"`  // of LeakyReLU for negative values
	// Gain multiplies the initial weights of the last layer.
	Gain float64 `json:"gain" when:"kind=perceptron"`
	// Head turns logits into spins: "sign" takes their signs; "bernoulli"
	// draws spin up with probability 1/(1+exp(−2h)), so that ⟨s⟩ = tanh h.
	Head  string      `json:"head" when:"kind=perceptron" enum:"sign,bernoulli"`
	Width WidthConfig `json:"width" when:"kind=perceptron head=sign"`
	// Symmetry is the group of which each sample is taken through a random
	// element: "none"; "z2", to flip all spins with probability ½, for targets
	// without a field; "lattice", the translations, rotations and reflections
	// of the periodic square; or "z2+lattice", both.
	Symmetry string `json:"symmetry" enum:"none,z2,lattice,z2+lattice" when:"kind=perceptron"`
	// Neighbours is about how many known spins a spin is drawn given: whole
	// shells of equal distance, the nearest first.
	Neighbours int `json:"neighbours" when:"kind=hierarchy"`
	Units      int `json:"units" when:"kind=hierarchy"` // hidden ones of a group's perceptron
	// From is "scratch", or "half" to start from the generator of the lattice of
	// half the side, which is trained first by its own recipe.
	From string `json:"from" enum:"scratch,half" when:"kind=hierarchy"`
}

// SignsConfig describes components of z that are −Size or +Size instead of
// normal. A continuous map cannot jump between two sectors; a sign can, if it is
// large enough not to drown among the normal components.
type SignsConfig struct {
	Number int     `json:"number"` // of components
	Size   float64 `json:"size"`   // their absolute value
	// Weights is "even" for signs that are + with probability ½, or "learned"
	// for probabilities that are parameters, where the sectors weigh
	// differently.
	Weights string `json:"weights" enum:"even,learned"`
}

// WidthConfig describes the scale τ of the straight-through estimator that
// passes gradients through a sign, ds/dh := (1 − tanh²(h/τ))/τ.
type WidthConfig struct {
	Start float64 `json:"start"` // at the first step
	Final float64 `json:"final"` // reached geometrically at the last step
	// Unit is "absolute", or "spread" for multiples of the standard deviation
	// of the batch's logits.
	Unit string `json:"unit" enum:"absolute,spread"`
}

// LossConfig describes the estimator of the discrepancy and of its gradient.
type LossConfig struct {
	// Kind is "mmd", the paper's; "stationarity", the MMD between the laws of s
	// and s′, which tests invariance instead of detailed balance; "kfd", the
	// least-squares witness of package kfd; "discriminator", the learned one of
	// package critic; or "divergence", KL(q‖π) of a generator whose density q is
	// known, by the score function: it needs no moves.
	Kind string `json:"kind" enum:"mmd,stationarity,kfd,discriminator,divergence"`
	// Average over s′ is "sampled", one s′ for each s, or "exact": with the
	// transition matrix of all configurations of at most 12 spins, or of the
	// orbits of at most 16 spins under the lattice's symmetry, and else over the
	// moves of one step of at most 16.
	Average string `json:"average" when:"kind=mmd,kfd" enum:"sampled,exact"`
	// RaoBlackwell makes an exact average use a bernoulli head's
	// probabilities instead of the spins drawn from them.
	RaoBlackwell  bool          `json:"rao_blackwell" when:"kind=mmd,kfd average=exact"`
	Witness       WitnessConfig `json:"witness" when:"kind=kfd"`
	Discriminator critic.Config `json:"discriminator" when:"kind=discriminator"`
	// Kernel of both MMDs.
	Kernel mmd.Kernel `json:"kernel" when:"kind=mmd,stationarity"`
	// Statistic of both MMDs.
	Statistic mmd.Statistic `json:"statistic" when:"kind=mmd,stationarity" enum:"V,U"`
	// Gradient is "surrogate", the derivative of the kernel continued to real
	// spins with s′ fixed (eq. (surrogate_grad)); "difference", half the change
	// of the loss between the two values of a spin with s′ fixed; "score", the
	// score function of the spins that a bernoulli head drew; or "full", the
	// surrogate's with s′ following s through the flips that were accepted.
	Gradient string `json:"gradient" enum:"surrogate,difference,score,full" when:"kind=mmd,stationarity,kfd,discriminator"`
}

// WitnessConfig describes the least-squares witness. With an exact average it
// has a feature for each configuration, or for each orbit of the lattice's
// symmetry.
type WitnessConfig struct {
	kfd.Config
	// Bandwidth σ of the Gaussian kernel of single configurations whose norm
	// the ridge of an exact average penalises; 0, the limit of the narrowest,
	// penalises the plain sum of squares.
	Bandwidth float64 `json:"bandwidth"`
	// Features of a sampled average are "walsh", Walsh functions of at most 64
	// spins, or "invariant": pair correlations, counts of local patterns and
	// functions of energy and magnetisation, of which there are few on any
	// lattice, for generators with the lattice's symmetry.
	Features string `json:"features" enum:"walsh,invariant"`
	Rank     int    `json:"rank" when:"features=walsh"` // number of Walsh functions
}

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
	c = conf.Chosen(c)
	if err := conf.First(c.ValidateNames("ising", Presets), conf.Enums(c), c.Common.Validate()); err != nil {
		return err
	}
	t, p := &c.Target, &c.Transition
	if err := conf.First(
		conf.Between("target.l", t.L, 2, maxSide),
		conf.NotNegative("target.beta", t.Beta),
		conf.Finite("target.j", t.J),
		conf.Finite("target.h", t.H)); err != nil {
		return err
	}
	if err := bitspin.CheckTemperature(t.L*t.L, t.J, t.H, t.Beta); err != nil {
		return fmt.Errorf("target.beta: %w", err)
	}
	if _, err := c.proposal(); err != nil && !c.sweeps() {
		return fmt.Errorf("transition.global_flip: %w", err)
	}
	if err := conf.Between("transition.steps", p.Steps, 1, min(maxSteps, c.mostSteps())); err != nil {
		return err
	}
	if !(p.Anneal >= 0 && p.Anneal <= 1) {
		return fmt.Errorf("transition.anneal: %v is not between 0 and 1", p.Anneal)
	}
	if !(p.AnnealFrom >= 0 && p.AnnealFrom <= 1) {
		return fmt.Errorf("transition.anneal_from: %v is not between 0 and 1", p.AnnealFrom)
	}
	if err := c.Generator.validate(); err != nil {
		return fmt.Errorf("generator.%w", err)
	}
	if c.Generator.Kind == "hierarchy" {
		return conf.First(c.validateHierarchy(), engine.Afford(c.demands()...))
	}
	if newSymmetry(c.Generator.Symmetry, t.L).flip && t.H != 0 {
		return fmt.Errorf("generator.symmetry: a target with a field (target.h = %v) has no symmetry under flipping all spins", t.H)
	}
	if err := c.validateLoss(); err != nil {
		return fmt.Errorf("loss.%w", err)
	}
	return engine.Afford(c.demands()...)
}

func (g *GeneratorConfig) validate() error {
	if g.Kind == "hierarchy" {
		return conf.First(
			conf.Between("neighbours", g.Neighbours, hierarchy.LeastNeighbours, hierarchy.MostNeighbours),
			conf.Between("units", g.Units, 1, hierarchy.MostHidden))
	}
	if err := conf.First(
		conf.Between("latent", g.Latent, 1, maxLatent),
		conf.Between("signs.number", g.Signs.Number, 0, g.Latent),
		conf.Positive("signs.size", g.Signs.Size),
		conf.Widths("hidden", g.Hidden),
		conf.Slope("slope", g.Slope),
		conf.Positive("gain", g.Gain)); err != nil {
		return err
	}
	if g.Signs.Weights == "learned" && g.Signs.Number == 0 {
		return fmt.Errorf("signs.weights: there are no signs to weigh; set signs.number, or weights to even")
	}
	if g.Head == "bernoulli" {
		return nil
	}
	return conf.First(
		conf.Positive("width.start", g.Width.Start),
		conf.Positive("width.final", g.Width.Final))
}

func (c *Config) validateHierarchy() error {
	switch {
	case c.Loss.Kind != "divergence":
		return fmt.Errorf("loss.kind: a hierarchy's spins are drawn one after another, and only divergence knows how to differentiate that; set it to divergence, or generator.kind to perceptron")
	case c.Generator.From == "half" && c.Target.L%8 != 0:
		return fmt.Errorf("generator.from: half of target.l = %d is not a multiple of 4; set it to scratch", c.Target.L)
	case c.Target.L%4 != 0 && c.Target.L > largestIrregular:
		return fmt.Errorf("generator.kind: a hierarchy's groups halve the lattice, so that target.l = %d must be a multiple of 4, or at most %d", c.Target.L, largestIrregular)
	}
	return hierarchy.ValidateTraining(&c.Training)
}

// validateLoss refuses values, and choices that do not go together with the
// reason.
func (c *Config) validateLoss() error {
	l := &c.Loss
	if l.Kind == "divergence" {
		return fmt.Errorf("kind: the density of a perceptron's configurations is not known, and so is their divergence; set generator.kind to hierarchy, or loss.kind to another")
	}
	if l.Gradient == "score" && c.Generator.Head != "bernoulli" {
		return fmt.Errorf("gradient: the sign has no score function, as its spins are not drawn; set generator.head to bernoulli")
	}
	if l.Gradient == "full" && (l.Kind == "kfd" || l.Kind == "discriminator") {
		return fmt.Errorf("gradient: full differentiates the loss by s′ too, but a witness is descended in s alone; set it to difference, or loss.kind to mmd or stationarity")
	}
	switch l.Kind {
	case "discriminator":
		if c.Target.L > maxJudged {
			return fmt.Errorf("kind: a discriminator takes at most %d×%d spins; target.l is %d", maxJudged, maxJudged, c.Target.L)
		}
		if err := l.Discriminator.Validate(); err != nil {
			return fmt.Errorf("discriminator.%w", err)
		}
		return nil
	case "stationarity":
		return prefixed("kernel.", l.Kernel.Validate())
	}
	if l.Average == "exact" {
		if err := c.validateExact(); err != nil {
			return err
		}
	}
	if l.Kind == "mmd" {
		return prefixed("kernel.", l.Kernel.Validate())
	}
	if l.Gradient == "surrogate" {
		return fmt.Errorf("gradient: kfd gives the change of the witness by flipping spins; set it to difference or score")
	}
	return prefixed("witness.", c.validateWitness())
}

func prefixed(key string, err error) error {
	if err != nil {
		return fmt.Errorf("%s%w", key, err)
	}
	return nil
}

// validateExact is for an exact average over s′.
func (c *Config) validateExact() error {
	l, n := &c.Loss, c.Target.L*c.Target.L
	tabulable := newSymmetry(c.Generator.Symmetry, c.Target.L).tabulable()
	switch {
	case c.sweeps():
		return fmt.Errorf("average: exact averages over Metropolis steps, not over sweeps; set it to sampled, or transition.proposal to single, mixture, multi-spin")
	case n > enumerable:
		return fmt.Errorf("average: exact lists all configurations, of at most %d spins, and target.l = %d has %d; there are recipes for sides up to %d and multiples of 4", enumerable, c.Target.L, n, largestIrregular)
	case n > MaxMatrixSites && l.Kind == "mmd":
		return fmt.Errorf("average: exact needs the transition matrix of all configurations for loss.kind mmd, and at most %d spins; take kfd or sampled", MaxMatrixSites)
	case !tabulable && (c.Transition.Steps != 1 || c.Transition.Proposal == "multi-spin"):
		return fmt.Errorf("average: with more than %d spins and without the lattice's symmetry exact takes one step of the single or the mixture proposal; set transition.steps to 1", MaxMatrixSites)
	case l.Gradient == "score" && l.RaoBlackwell:
		return fmt.Errorf("gradient: with loss.rao_blackwell the loss is a function of the probabilities, and no spins are drawn to have a score; set one of the two otherwise")
	case l.Gradient == "full" || l.Gradient == "surrogate":
		return fmt.Errorf("gradient: an exact average has all s′ at once and gives the change of the loss by flipping spins; set it to difference or score")
	case l.Kind == "mmd" && (!l.Kernel.IsGaussian() || l.Statistic != mmd.V):
		return fmt.Errorf("kernel: an exact average takes Gaussians and heat kernels alone, and the V statistic")
	case l.RaoBlackwell && c.Generator.Head != "bernoulli":
		return fmt.Errorf("rao_blackwell: a sign head has no probabilities; set it to false, or generator.head to bernoulli")
	}
	return nil
}

func (c *Config) validateWitness() error {
	w, l, symmetry := &c.Loss.Witness, c.Target.L, newSymmetry(c.Generator.Symmetry, c.Target.L)
	if err := conf.First(w.Validate(), conf.NotNegative("bandwidth", w.Bandwidth)); err != nil {
		return err
	}
	if c.Loss.Average == "exact" {
		switch {
		case symmetry.tabulable() && w.Bandwidth > 0 && gramCondition(l, w.Bandwidth) > 1e9:
			return fmt.Errorf("bandwidth: %v makes the Gram matrix of configurations of %d spins singular in single precision; take a smaller one, 1 say", w.Bandwidth, l*l)
		case !symmetry.tabulable() && w.Bandwidth != 0:
			return fmt.Errorf("bandwidth: with more than %d spins and without the lattice's symmetry an exact average has a feature for each configuration and no matrix of their kernel; set it to 0", MaxMatrixSites)
		}
		return nil
	}
	if w.Features == "walsh" {
		if l > 8 {
			return fmt.Errorf("features: walsh takes at most 64 spins, and target.l = %d has %d; invariant is for larger lattices", l, l*l)
		}
		return conf.Between("rank", w.Rank, 1, maxRank)
	}
	switch {
	case !symmetry.lattice:
		return fmt.Errorf("features: invariant ones cannot see what the lattice's symmetry would change; set generator.symmetry to lattice or z2+lattice")
	case l < leastInvariant || l > largestInvariant:
		return fmt.Errorf("features: invariant is for target.l between %d and %d, not %d", leastInvariant, largestInvariant, l)
	}
	return nil
}

// Moved says where keys of former layouts have gone.
func (*Config) Moved() map[string]string {
	return map[string]string{
		"loss.objective":         "loss.kind",
		"loss.witness.own_half":  "none: the witness is always cross-fitted",
		"generator.sign_size":    "generator.signs.size",
		"generator.sign_weights": "generator.signs.weights",
		"generator.width_unit":   "generator.width.unit",
		"generator.final_width":  "generator.width.final",
	}
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

// annealed returns the inverse temperature of a level on the way to the target's.
func (c *Config) annealed(level int) float64 {
	from := c.Transition.AnnealFrom
	return c.Target.Beta * (from + (1-from)*float64(level)/annealLevels)
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
func (c *Config) New(workers *pool.Pool) (engine.System, error) {
	if c.Generator.Kind == "hierarchy" {
		return newHierarchical(c, workers)
	}
	return newSystem(c, workers)
}
