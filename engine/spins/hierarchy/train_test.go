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
			Steps: 400, Batch: 512, LearningRate: 0.02, Warmup: 20, Final: 0.01, Seed: 1,
		}, workers)
		r := make([]float64, 32768)
		require.NoError(t, m.NewSampler(params, workers).Sample(nil, r, 2, 0))
		e := measure.NewImportance(r)
		exact, err := ising.Kaufman(c.Side, c.J, c.Beta)
		require.NoError(t, err)
		require.Greater(t, e.ESS, 0.95, "%+v", c)
		require.InDelta(t, exact.LogZ, e.LogZ, 5*e.Error)
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
	stages := hierarchy.Recipe(hierarchy.Square{Side: 8, J: 1, Beta: 0.4407, Neighbours: 12, Hidden: 4}, 1)
	stages[0].Training.Steps, stages[0].Training.Partners = 500, 0
	m, params := hierarchy.Follow(t, stages, workers)
	r := make([]float64, 32768)
	require.NoError(t, m.NewSampler(params, workers).Sample(nil, r, 2, 0))
	e := measure.NewImportance(r)
	exact, err := ising.Kaufman(8, 1, 0.4407)
	require.NoError(t, err)
	require.Greater(t, e.ESS, 0.98)
	require.InDelta(t, exact.LogZ, e.LogZ, 5*e.Error)
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
		Steps: 400, Batch: 512, LearningRate: 0.02, Warmup: 20, Final: 0.01, Anneal: 0.5, Seed: 1,
	}, workers)
	r := make([]float64, 32768)
	require.NoError(t, m.NewSampler(params, workers).Sample(nil, r, 2, 0))
	e := measure.NewImportance(r)
	require.Greater(t, e.ESS, 0.95)
	require.InDelta(t, hierarchy.TransferLogZ(6, g), e.LogZ, 5*e.Error)
}

// TestRecipe: sizes double, and what the recipe trains below the critical
// temperature misses nothing.
func TestRecipe(t *testing.T) {
	for side, want := range map[int][]int{4: {4}, 8: {8}, 12: {12}, 16: {16}, 24: {12, 24}, 64: {16, 32, 64}, 40: {20, 40}} {
		var sides []int
		for _, s := range hierarchy.Recipe(hierarchy.Square{Side: side, J: 1, Beta: 0.4, Neighbours: 24, Hidden: 6}, 1) {
			_, err := hierarchy.NewSquare(s.Square)
			require.NoError(t, err)
			sides = append(sides, s.Square.Side)
		}
		require.Equal(t, want, sides)
	}
	// 24 has a level whose weights are new, 32 none.
	for side, again := range map[int]bool{24: true, 32: false, 40: true, 48: false} {
		stages := hierarchy.Recipe(hierarchy.Square{Side: side, J: 1, Beta: 0.6, Neighbours: 24, Hidden: 6}, 1)
		require.Positive(t, stages[0].Training.Anneal)
		require.Equal(t, again, stages[len(stages)-1].Training.Anneal > 0, side)
	}
	stages := hierarchy.Recipe(hierarchy.Square{Side: 8, J: -1, Beta: 0.6, Neighbours: 12, Hidden: 2}, 1)
	stages[0].Training.Steps = 300
	workers := pool.New(2)
	defer workers.Close()
	m, params := hierarchy.Follow(t, stages, workers)
	r := make([]float64, 32768)
	require.NoError(t, m.NewSampler(params, workers).Sample(nil, r, 2, 0))
	e := measure.NewImportance(r)
	exact, err := ising.Kaufman(8, -1, 0.6)
	require.NoError(t, err)
	require.Greater(t, e.ESS, 0.98)
	require.InDelta(t, exact.LogZ, e.LogZ, 5*e.Error)
}

// train takes the steps of a training.
func train(t *testing.T, m *hierarchy.Model, training hierarchy.Training, workers *pool.Pool) []float32 {
	t.Helper()
	trainer := hierarchy.NewTrainer(t, m, training, nil, workers)
	for range training.Steps {
		require.NoError(t, trainer.Step())
	}
	return trainer.Params()
}
