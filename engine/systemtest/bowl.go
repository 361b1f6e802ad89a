package systemtest

import (
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/internal/pool"
)

// Common returns the configuration of a short run, for a system made for a test.
func Common() engine.Common {
	var c engine.Common
	c.Schema, c.System = engine.SchemaVersion, "toy"
	c.Training = engine.Training{Steps: 60, Batch: 2, Methods: search.ByGradient(), LogEvery: 1, CheckpointEvery: 3,
		Optimizer: optim.AdamW{LearningRate: 1e-3, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-8},
		Schedule:  optim.Schedule{Kind: "constant"}}
	c.Evaluation.Samples = 1
	return c
}

// A Bowl is a system whose loss is Σ_i (i+1)/2 (θ_i − 1)².
type Bowl struct {
	engine.Common
	size   int
	OnLoss func() `json:"-"` // if not nil, called by each Loss
}

// NewBowl returns a Bowl with size parameters, trained by the named method.
func NewBowl(size int, method string) *Bowl {
	b := &Bowl{Common: Common(), size: size}
	b.Training.Method = method
	return b
}

// New implements engine.Config.
func (b *Bowl) New(*pool.Pool) (engine.System, error) { return b, nil }

// NumParams implements engine.System.
func (b *Bowl) NumParams() int { return b.size }

// Initialize implements engine.System: with zeros.
func (b *Bowl) Initialize(p []float32) { clear(p) }

// Acceptance implements engine.System.
func (b *Bowl) Acceptance() float64 { return 1 }

// Loss implements engine.System.
func (b *Bowl) Loss(params []float32, _ uint32) (loss float64, _ error) {
	if b.OnLoss != nil {
		b.OnLoss()
	}
	for i, p := range params {
		loss += float64(i+1) / 2 * math.Pow(float64(p)-1, 2)
	}
	return loss, nil
}

// Backward implements engine.System.
func (b *Bowl) Backward(p, g []float32) {
	for i, v := range p {
		g[i] = float32(i+1) * (v - 1)
	}
}
