package hierarchy

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// A System is engine.System for a generator with a density, for systems to embed.
type System struct {
	Steps[uint64]
	net *Model
}

// A Config is what a run with a hierarchy takes besides its target.
type Config struct {
	Training    *engine.Training
	Transition  *spins.TransitionConfig
	Loss        engine.Balancing
	Check       func() error // reports the first value of the network's keys that cannot be used
	Network     func(workers *pool.Pool) (*Model, error)
	Params      float64 // the most parameters that the network has
	Description string  // a phrase that names the network
}

// ValidateChoices implements spins.Kind.
func (c *Config) ValidateChoices(t spins.Target) error {
	return conf.First(c.Transition.ValidateFor(t), c.Check(), Validate(c.Training, c.Loss))
}

// Explain implements spins.Kind.
func (c *Config) Explain() string {
	return c.Description + ", " + c.Loss.Explain(c.Transition.Explain())
}

// Build implements spins.Kind.
func (c *Config) Build(t spins.Target, e *spins.Ensemble, workers *pool.Pool) (engine.System, error) {
	m, err := c.Network(workers)
	if err != nil {
		return nil, fmt.Errorf("generator.%w", err)
	}
	s, err := c.system(m, t, workers)
	if err != nil {
		return nil, err
	}
	e.Draws, e.Weigher = s.NewDraws, s.Weigher
	return s, nil
}

// system returns the system of a model, with the transition of the target.
func (c *Config) system(m *Model, t spins.Target, workers *pool.Pool) (*System, error) {
	steps, err := NewSteps(m, m.target.Beta, c.Training, c.Loss, c.Transition, func(sites.Workspace[uint64]) spins.Kernels[uint64] { return t }, workers)
	return &System{steps, m}, err
}

// Demands implements spins.Kind.
func (c *Config) Demands(n int) []engine.Demand {
	// The batch, its s′ and a sampler's 64 blocks take a bit and a residual for each spin;
	// s and s′ are packed, too.
	spins, batch := float64(n), float64(c.Training.Batch)
	moved := math.Ceil((1-c.Loss.Partners)*batch/block+0.5) * block
	rows := (batch+moved+64*64)*(spins/8+4*spins) + moved*(spins/4+64)
	return append(c.Training.Demands(int(c.Params)), engine.Demand{Key: "training.batch", Bytes: rows})
}

// Validate reports the first value of a run's training and loss that a system cannot
// use, by its key.
func Validate(t *engine.Training, b engine.Balancing) error {
	switch {
	case t.Method != "gradient":
		return fmt.Errorf("training.method: a hierarchy is trained by the gradient; set it to gradient")
	case t.Batch%block != 0 || t.Batch > sites.MaxBatch:
		return fmt.Errorf("training.batch: a hierarchy draws %d samples at once; %d is not a multiple of %d up to %d", block, t.Batch, block, sites.MaxBatch)
	}
	return conf.Under("loss", b.Validate())
}

// Model returns the architecture.
func (s *System) Model() *Model { return s.net }

func (s *System) hierarchy() *System { return s }

// Inherit sets params to weights of another hierarchy, of the same or of half the size.
func (s *System) Inherit(params []float32, from engine.System, theirs []float32) error {
	h, ok := from.(interface{ hierarchy() *System })
	if !ok {
		return fmt.Errorf("generator.kind: a hierarchy cannot start from a perceptron")
	}
	other := h.hierarchy()
	if unmatched := s.net.Transfer(params, other.net, theirs); unmatched == len(s.net.Units) {
		return fmt.Errorf("generator: nothing of a hierarchy of %d parameters on %d spins fits this one", other.NumParams(), other.net.Spins())
	}
	return nil
}

var (
	_ engine.Differentiable = (*System)(nil)
	_ engine.TensorNamer    = (*System)(nil)
)
