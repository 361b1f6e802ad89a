package gmm

import (
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/reals"
	"github.com/revgen/revgen/internal/pool"
)

// Config determines a run of a Gaussian mixture.
type Config struct {
	reals.Config
	Target TargetConfig `json:"target"`
}

// Validate reports the first value that cannot be used, by its key.
func (c *Config) Validate() error {
	if err := c.ValidateNames("gmm", Presets); err != nil {
		return err
	}
	target, err := NewTarget(c.Target)
	if err != nil {
		return fmt.Errorf("target.%w", err)
	}
	d, components, samples := float64(target.Dim()), float64(target.Components()), float64(c.Evaluation.Samples)
	return c.Config.Validate(target.Dim(),
		engine.Demand{Key: "target.components", Bytes: 64*components*d*d + 4*components*float64(c.Training.Batch)},
		engine.Demand{Key: "evaluation.samples", Bytes: samples * (8*d + 48 + 4*components)})
}

// New builds the system.
func (c *Config) New(workers *pool.Pool) (engine.System, error) { return newSystem(c, workers) }

// Describe implements engine.Describer.
func (c *Config) Describe() string {
	return fmt.Sprintf("mixture of %d Gaussians in %d dimensions", len(c.Target.Components), len(c.Target.Components[0].Mean))
}
