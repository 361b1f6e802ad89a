package hierarchy

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/pool"
)

// A testConfig trains a model of any target.
type testConfig struct {
	engine.Common
	model      *Model
	balancing  engine.Balancing
	transition spins.TransitionConfig
}

func (c *testConfig) Validate() error { return Validate(&c.Training, c.balancing) }

func (c *testConfig) New(workers *pool.Pool) (engine.System, error) {
	target := &c.model.target
	h := spins.Hamiltonian{Spins: target.Spins, Fields: target.Fields, Offset: target.Offset}
	couplings := map[[2]int]float64{} // bonds may repeat
	for _, b := range target.Bonds {
		couplings[[2]int{min(b.I, b.J), max(b.I, b.J)}] += b.Coupling
	}
	for ends, j := range couplings {
		h.Edges = append(h.Edges, spins.Edge{I: ends[0], J: ends[1], Coupling: j})
	}
	slices.SortFunc(h.Edges, func(a, b spins.Edge) int { return cmp.Or(a.I-b.I, a.J-b.J) })
	g, err := spins.NewGraph(h)
	if err != nil {
		return nil, err
	}
	kind := Config{Training: &c.Training, Transition: &c.transition, Loss: c.balancing}
	return kind.system(c.model, spins.Boltzmann{Graph: g, Beta: target.Beta}, workers)
}

// NewTrainer returns the trainer of a model by a recipe's training, with heat-bath sweeps
// for a transition. from, if not nil, are parameters to start with.
func NewTrainer(t testing.TB, m *Model, training Training, seed uint64, from []float32, workers *pool.Pool) *engine.Trainer {
	t.Helper()
	c := &testConfig{Common: engine.Common{
		Schema: engine.SchemaVersion, System: "test", Preset: "test",
		Training: engine.Training{Seed: seed, Methods: search.ByGradient()},
	}, model: m}
	training.Configure(&c.Training, &c.transition, &c.balancing)
	trainer, err := engine.NewTrainer(c, workers)
	require.NoError(t, err)
	if from != nil {
		copy(trainer.Params(), from)
	}
	return trainer
}

// Follow trains by the recipe, as it has been changed, the sizes that it starts from first,
// and returns the last one's model and its parameters.
func Follow(t testing.TB, c Square, seed uint64, change func(*Training), workers *pool.Pool) (*Model, []float32) {
	t.Helper()
	training, half := Recipe(c)
	change(&training)
	m, err := NewSquare(c)
	require.NoError(t, err)
	start := make([]float32, m.NumParams())
	m.Initialize(start, seed)
	if half {
		c.Side /= 2
		from, params := Follow(t, c, seed, change, workers)
		m.Transfer(start, from, params)
	}
	trainer := NewTrainer(t, m, training, seed, start, workers)
	for range training.Steps {
		require.NoError(t, trainer.Step())
	}
	return m, trainer.Params()
}

// logDensity sets logq to ln q = R − βE of configurations.
func logDensity(s *sites.Sampler[uint64], m *Model, logq []float64, configs []uint64) {
	s.R(logq, configs)
	for i := range logq {
		logq[i] -= m.target.Beta * naiveEnergy(&m.target, configs[i*s.Words():][:s.Words()])
	}
}

// Target returns the target.
func (m *Model) Target() *Target { return &m.target }
