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
	if c.System != "gmm" {
		return fmt.Errorf("system: %q is not gmm", c.System)
	}
	target, err := NewTarget(c.Target)
	if err != nil {
		return fmt.Errorf("target.%w", err)
	}
	return c.Config.Validate(target.Dim())
}

// New builds the system.
func (c *Config) New(workers *pool.Pool) (engine.System, error) { return newSystem(c, workers) }
