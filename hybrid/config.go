package hybrid

import (
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
)

// Config determines a run of the hybrid double wells.
type Config struct {
	vectors.ModalConfig
	Target TargetConfig `json:"target"`
}

// TargetConfig names the distribution p(x, k) = e^{−(x²−μ_k)²} / (M Z_k).
type TargetConfig struct {
	Mu []float64 `json:"mu"` // μ_k > 0 of each mode
}

// Validate reports the first value that cannot be used, by its key.
func (c *Config) Validate() error {
	if err := c.ValidateNames("hybrid", Presets); err != nil {
		return err
	}
	if _, err := NewTarget(c.Target.Mu); err != nil {
		return fmt.Errorf("target.%w", err)
	}
	return c.ModalConfig.Validate(1, len(c.Target.Mu), c.targetDemands()...)
}

// Demands implements engine.Explainer.
func (c *Config) Demands() []engine.Demand {
	return c.ModalConfig.Demands(1, len(c.Target.Mu), c.targetDemands()...)
}

// targetDemands returns the demands of the evaluation, beside the kit's.
func (c *Config) targetDemands() []engine.Demand {
	return []engine.Demand{{Key: "evaluation.samples", Bytes: 48 * float64(c.Evaluation.Samples)}}
}

// Describe implements engine.Explainer.
func (c *Config) Describe() string {
	return fmt.Sprintf("%d double wells exp(−(x² − μ)²) of equal weight, μ = %v", len(c.Target.Mu), c.Target.Mu)
}
