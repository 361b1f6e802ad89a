package hierarchy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/ising"
)

// TestTrainingReachesKaufman trains on a small lattice and compares ln Z with
// the closed form, at five standard errors.
func TestTrainingReachesKaufman(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for long")
	}
	workers := pool.New(2)
	defer workers.Close()
	for _, c := range []hierarchy.Square{
		{Side: 8, J: 1, Beta: 0.4407, Neighbours: 12, Hidden: 4},
		{Side: 8, J: -1, Beta: 0.28, Neighbours: 12, Hidden: 4},
		{Side: 12, J: 1, Beta: 0.4407, Neighbours: 12, Hidden: 4},
	} {
		m, err := hierarchy.NewSquare(c)
		require.NoError(t, err)
		params := train(t, m, hierarchy.Training{
			Steps: 400, Batch: 512, LearningRate: 0.02, Warmup: 20, Final: 0.01,
		}, workers)
		r := make([]float64, 32768)
		require.NoError(t, m.NewSampler(params, workers).Sample(nil, r, 2, 0))
		e := measure.Weigh(r)
		exact, err := ising.Kaufman(c.Side, c.J, c.Beta)
		require.NoError(t, err)
		require.Greater(t, e.EffectiveSize, 0.95, "%+v", c)
		require.InDelta(t, exact.LogZ, e.LogZ, 5*e.LogZError)
		require.Less(t, e.KL, 0.03)
	}
}

// TestTrainingByMoves trains from nothing but pairs of configurations that sweeps lie
// between.
func TestTrainingByMoves(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for long")
	}
	workers := pool.New(2)
	defer workers.Close()
	m, params := hierarchy.Follow(t, hierarchy.Square{Side: 8, J: 1, Beta: 0.4407, Neighbours: 12, Hidden: 4}, 1,
		func(t *hierarchy.Training) { t.Steps, t.Partners = 500, 0 }, workers)
	r := make([]float64, 32768)
	require.NoError(t, m.NewSampler(params, workers).Sample(nil, r, 2, 0))
	e := measure.Weigh(r)
	exact, err := ising.Kaufman(8, 1, 0.4407)
	require.NoError(t, err)
	require.Greater(t, e.EffectiveSize, 0.98)
	require.InDelta(t, exact.LogZ, e.LogZ, 5*e.LogZError)
}

// TestTrainingOnAGlass compares ln Z with the transfer matrix.
func TestTrainingOnAGlass(t *testing.T) {
	workers := pool.New(2)
	defer workers.Close()
	g := hierarchy.Glass(6, 3, 1)
	m, err := hierarchy.NewGraph(hierarchy.Graph{Target: g, Neighbours: 16, Hidden: 8}, workers)
	require.NoError(t, err)
	require.Less(t, m.Learned(), 18)
	params := train(t, m, hierarchy.Training{
		Steps: 400, Batch: 512, LearningRate: 0.02, Warmup: 20, Final: 0.01, Anneal: 0.5,
	}, workers)
	r := make([]float64, 32768)
	require.NoError(t, m.NewSampler(params, workers).Sample(nil, r, 2, 0))
	e := measure.Weigh(r)
	require.Greater(t, e.EffectiveSize, 0.95)
	require.InDelta(t, hierarchy.TransferLogZ(6, g), e.LogZ, 5*e.LogZError)
}

// TestRecipe: sizes double, and what the recipe trains below the critical
// temperature misses nothing.
func TestRecipe(t *testing.T) {
	for side, want := range map[int]bool{4: false, 8: false, 12: false, 16: false, 20: false, 24: true, 32: true, 40: true, 64: true} {
		_, half := hierarchy.Recipe(hierarchy.Square{Side: side, J: 1, Beta: 0.4, Neighbours: 24, Hidden: 6})
		require.Equal(t, want, half, side)
	}
	// 24 has a level whose weights are new, 32 none.
	for side, anneals := range map[int]bool{12: true, 16: true, 20: true, 24: true, 32: false, 40: true, 48: false} {
		training, _ := hierarchy.Recipe(hierarchy.Square{Side: side, J: 1, Beta: 0.6, Neighbours: 24, Hidden: 6})
		require.Equal(t, anneals, training.Anneal > 0, side)
	}
	workers := pool.New(2)
	defer workers.Close()
	m, params := hierarchy.Follow(t, hierarchy.Square{Side: 8, J: -1, Beta: 0.6, Neighbours: 12, Hidden: 2}, 1,
		func(t *hierarchy.Training) { t.Steps = 300 }, workers)
	r := make([]float64, 32768)
	require.NoError(t, m.NewSampler(params, workers).Sample(nil, r, 2, 0))
	e := measure.Weigh(r)
	exact, err := ising.Kaufman(8, -1, 0.6)
	require.NoError(t, err)
	require.Greater(t, e.EffectiveSize, 0.98)
	require.InDelta(t, exact.LogZ, e.LogZ, 5*e.LogZError)
}

// train takes the steps of a training.
func train(t *testing.T, m *hierarchy.Model, training hierarchy.Training, workers *pool.Pool) []float32 {
	t.Helper()
	trainer := hierarchy.NewTrainer(t, m, training, 1, nil, workers)
	for range training.Steps {
		require.NoError(t, trainer.Step())
	}
	return trainer.Params()
}
