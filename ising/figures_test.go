package ising

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

func figuresOf(t *testing.T, l int) figure.Figure {
	t.Helper()
	cfg, err := Preset("paper")
	require.NoError(t, err)
	cfg.Target.L, cfg.Training.Batch, cfg.Generator.Hidden = l, 16, []int{8}
	workers := pool.New(1)
	defer workers.Close()
	s, err := cfg.New(workers)
	require.NoError(t, err)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	figures, err := s.(engine.Illustrator).Figures(context.Background(), params, 2000)
	require.NoError(t, err)
	require.Len(t, figures, 1)
	return figures[0]
}

func layerSum(y []float64) (sum float64) {
	for _, v := range y {
		sum += v
	}
	return sum
}

// What is shown as a distribution is one, and what is known exactly is shown.
func TestFigures(t *testing.T) {
	long.SkipShort(t)
	f := figuresOf(t, 3)
	require.Len(t, f.Rows, 2)
	for _, p := range f.Rows[0].Panels {
		require.Len(t, p.Layers, 2, p.X.Label)
		exact, generated := p.Layers[0], p.Layers[1]
		require.Equal(t, []figure.Role{figure.Target, figure.Generated}, []figure.Role{exact.Role, generated.Role})
		require.InDelta(t, 1, layerSum(exact.Y), 1e-12)
		require.InDelta(t, 1, layerSum(generated.Y), 1e-12)
	}
	magnetisation, energy := f.Rows[0].Panels[0].Layers[0], f.Rows[0].Panels[1].Layers[0]
	require.Len(t, magnetisation.X, 10)
	require.InDelta(t, magnetisation.Y[0], magnetisation.Y[9], 1e-15)
	require.Equal(t, []float64{-18, -10, -6, -2, 2, 6}, energy.X)
	var mean float64
	for i, e := range energy.X {
		mean += e * energy.Y[i]
	}
	require.InDelta(t, -4.842892000871, mean, 1e-10)

	band, stairs, points := f.Rows[1].Panels[0].Layers[0], f.Rows[1].Panels[0].Layers[1], f.Rows[1].Panels[0].Layers[2]
	require.Len(t, stairs.Y, 100)
	require.IsNonIncreasing(t, stairs.Y)
	require.LessOrEqual(t, len(points.Y), 100)
	for i, p := range stairs.Y {
		require.Less(t, band.Low[i], p)
		require.Less(t, p, band.High[i])
	}

	require.Len(t, figuresOf(t, 5).Rows, 1, "too many configurations to list")
	counted := figuresOf(t, 6)
	require.Equal(t, "exact", counted.Rows[0].Panels[1].Layers[0].Label)
	require.Len(t, counted.Rows, 2)
	require.Len(t, counted.Rows[1].Panels[0].Layers, 2, "no band about exact correlations")
	require.Equal(t, []float64{1, 2, 3}, counted.Rows[1].Panels[0].Layers[1].X)
	approximate := figuresOf(t, 9)
	require.Equal(t, "heat bath", approximate.Rows[0].Panels[1].Layers[0].Label)
	require.Equal(t, []float64{1, 2, 3, 4}, approximate.Rows[1].Panels[0].Layers[2].X)
	unknown := figuresOf(t, 33)
	for _, p := range unknown.Rows[0].Panels {
		require.Len(t, p.Layers, 1)
		require.Equal(t, figure.Generated, p.Layers[0].Role)
	}
}
