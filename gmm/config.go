package gmm

import (
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
)

// Config determines a run of a Gaussian mixture.
type Config struct {
	vectors.Config
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
	return c.Config.Validate(target.Dim(), c.targetDemands()...)
}

// Demands implements engine.Explainer.
func (c *Config) Demands() []engine.Demand {
	return c.Config.Demands(c.Target.dim(), c.targetDemands()...)
}

// targetDemands returns the demands of the mixture and its evaluation, beside the kit's.
func (c *Config) targetDemands() []engine.Demand {
	d, components, samples := float64(c.Target.dim()), float64(len(c.Target.Components)), float64(c.Evaluation.Samples)
	return []engine.Demand{
		{Key: "target.components", Bytes: 64*components*d*d + 4*components*float64(c.Training.Batch)},
		{Key: "evaluation.samples", Bytes: samples * (8*d + 48 + 4*components)},
	}
}

// dim returns the dimension of a target that is valid.
func (t *TargetConfig) dim() int { return len(t.Components[0].Mean) }

// Describe implements engine.Explainer.
func (c *Config) Describe() string {
	return fmt.Sprintf("mixture of %d Gaussians in %d dimensions", len(c.Target.Components), c.Target.dim())
}
