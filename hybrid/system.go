package hybrid

import (
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/internal/pool"
)

// system trains a generator of the double wells and measures it.
type system struct {
	*vectors.System
	target *Target
}

// New builds the system.
func (c *Config) New(workers *pool.Pool) (engine.System, error) {
	target, err := NewTarget(c.Target.Mu)
	if err != nil {
		return nil, fmt.Errorf("target.%w", err)
	}
	return &system{vectors.New(&c.ModalConfig, newDensity(target), workers), target}, nil
}

var _ engine.Evaluator = (*system)(nil)
