package ising

import (
	"fmt"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/engine/spins/perceptron"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// Config determines a run of the Ising model.
type Config struct {
	engine.Common
	Target     TargetConfig           `json:"target"`
	Transition spins.TransitionConfig `json:"transition"`
	Generator  GeneratorConfig        `json:"generator"`
	Loss       perceptron.LossConfig  `json:"loss"`
}

// TargetConfig names the distribution π(s) ∝ exp(−βE(s)).
type TargetConfig struct {
	L    int     `json:"l"`                      // side of the periodic lattice, at least 2
	Beta float64 `json:"beta" is:"not negative"` // inverse temperature β ≥ 0
	J    float64 `json:"j" is:"finite"`          // coupling; positive is ferromagnetic
	H    float64 `json:"h" is:"finite"`          // external field
}

// GeneratorConfig describes G_θ.
type GeneratorConfig struct {
	// Kind is "perceptron", z ∈ R^Latent → hidden layers → N logits h → spins; or "hierarchy",
	// which draws spins one group after another from coarse to fine, each given the nearest drawn
	// ones, and the last group exactly. Its density is known (package hierarchy).
	Kind                       string `json:"kind" enum:"perceptron,hierarchy"`
	perceptron.GeneratorConfig `when:"kind=perceptron"`
	// Neighbours is the approximate number of drawn spins that a spin is drawn given: whole
	// shells of equal distance, the nearest first.
	Neighbours int `json:"neighbours" when:"kind=hierarchy"`
	Units      int `json:"units" when:"kind=hierarchy"` // number of hidden units of a group's perceptron
	// Symmetries are the symmetries of the square under which a hidden unit has images: "all"
	// eight, or the four "rotations". If the side is not a multiple of four, there are none.
	Symmetries string `json:"symmetries" enum:"all,rotations" when:"kind=hierarchy"`
	// From is "scratch", or "half" to start from the generator for half the side, which is
	// trained first by its own recipe.
	From string `json:"from" enum:"scratch,half" when:"kind=hierarchy"`
}

const maxSide = 256

// Validate reports the first value that cannot be used, by its key.
func (c *Config) Validate() error {
	c = conf.Chosen(c)
	if err := conf.First(c.ValidateNames("ising", Presets), conf.Check(c), c.Common.Validate()); err != nil {
		return err
	}
	t := &c.Target
	if err := conf.Between("target.l", t.L, 2, maxSide); err != nil {
		return err
	}
	target, err := c.target()
	if err != nil {
		return fmt.Errorf("target: %w", err)
	}
	if err := c.kind().ValidateChoices(target); err != nil {
		return err
	}
	return engine.Afford(c.Demands()...)
}

// Moved implements conf.Mover.
func (*Config) Moved() map[string]string { return new(perceptron.Config).Moved() }

// Settled implements conf.Settler.
func (*Config) Settled() map[string]string { return new(perceptron.Config).Settled() }

// stepMatrix returns the transition matrix of one step.
func (c *Config) stepMatrix(t Target) (*TransitionMatrix, error) {
	if c.Transition.Proposal == spins.Sweeping {
		return NewSweepMatrix(t)
	}
	proposal, err := bitspin.ParseProposal(c.Transition.Proposal, c.Transition.GlobalFlip)
	if err != nil {
		return nil, err
	}
	return NewTransitionMatrix(t, proposal)
}

func (c *Config) target() (Target, error) {
	return NewTarget(c.Target.L, c.Target.J, c.Target.H, c.Target.Beta)
}

// kind returns the kind of generator that the configuration chooses.
func (c *Config) kind() spins.Kind {
	if c.Generator.Kind == "hierarchy" {
		return c.hierarchy()
	}
	return &perceptron.Config{Common: c.Common, Transition: c.Transition, Generator: c.Generator.GeneratorConfig, Loss: c.Loss}
}

// New builds the system.
func (c *Config) New(workers *pool.Pool) (engine.System, error) {
	c = conf.Chosen(c)
	e, err := newEvaluator(c, workers)
	if err != nil {
		return nil, err
	}
	built, err := c.kind().Build(e.target, e.Ensemble, workers)
	switch s := built.(type) {
	case *perceptron.System:
		return &system{e, s}, nil
	case *hierarchy.System:
		return &hierarchical{e, s}, nil
	}
	return nil, err
}

// Demands implements engine.Explainer: it bounds the memory of a run. Everything else about the
// configuration must be valid.
func (c *Config) Demands() []engine.Demand {
	n := c.Target.L * c.Target.L
	return append(c.kind().Demands(n), engine.Demand{Key: "target.l", Bytes: batchSamples / 8 * float64(n)})
}

// Describe implements engine.Explainer.
func (c *Config) Describe() string {
	t := &c.Target
	text := fmt.Sprintf("Ising model on the periodic %d×%d lattice, J = %v, β = %v", t.L, t.L, t.J, t.Beta)
	if t.H != 0 {
		text += fmt.Sprintf(", in a field h = %v", t.H)
	}
	return text
}

// Explain implements engine.Explainer.
func (c *Config) Explain() string { return c.kind().Explain() }
