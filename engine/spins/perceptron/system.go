package perceptron

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// A System is engine.System for packed spins, for systems to embed: Algorithm 1 by pairs.
type System struct {
	engine.Pairs[[]uint64, lossGradient]
	config  *Config
	learner *learner
}

// New builds the system that trains a generator of the target. If the target has a method States,
// its spins encode sites of several states: site k has States()[k] spins, one after another, and
// the one that is up says which state it is in. The generator's head is "sign" then.
func New(c *Config, t spins.Target, workers *pool.Pool) (*System, error) {
	c = conf.Chosen(c)
	l := newLearner(c, t.Spins(), workers)
	if t, ok := t.(interface{ States() []int }); ok {
		l.states = t.States()
	}
	rows, words := c.Training.Batch, l.words
	transition, err := spins.NewTransition(&c.Transition, &c.Training, rows, t, words, workers)
	if err != nil {
		return nil, err
	}
	s := &System{config: c, learner: l}
	s.Generator, s.Transition, s.Discrepancy = l, transition, newLoss(c, l.batch)
	s.S, s.Next = make([]uint64, rows*words), make([]uint64, rows*words)
	s.DS.bySpin = make([]float32, rows*l.spins)
	if c.Loss.Gradient == "score" {
		s.DS.bySample = make([]float32, rows)
	}
	return s, nil
}

// Build implements spins.Kind.
func (c *Config) Build(t spins.Target, e *spins.Ensemble, workers *pool.Pool) (engine.System, error) {
	s, err := New(c, t, workers)
	if err != nil {
		return nil, err
	}
	e.Draws = s.NewDraws
	return s, nil
}

// Logits returns the logits of the last batch. Backward overwrites them.
func (s *System) Logits() []float32 { return s.learner.logits }

func (s *System) NumParams() int              { return s.learner.net.NumParams() }
func (s *System) TensorName(i int) string     { return s.learner.net.TensorName(i) }
func (s *System) Initialize(params []float32) { s.learner.initialize(params, s.config.Training.Seed) }

var (
	_ engine.Differentiable = (*System)(nil)
	_ engine.Stateful       = (*System)(nil)
	_ engine.TensorNamer    = (*System)(nil)
)
