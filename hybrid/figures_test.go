package hybrid

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/pool"
)

// Exact samples lie where the target is drawn, in every panel.
func TestFiguresOfExactSamples(t *testing.T) {
	const n = 100_000
	target, err := NewTarget([]float64{1, 9, 25, 4})
	require.NoError(t, err)
	byMode := make([][]float64, target.Modes())
	for k := range byMode {
		for i := range n / target.Modes() {
			byMode[k] = append(byMode[k], target.Well(k).Quantile((float64(i)+0.5)/float64(n/target.Modes())))
		}
	}
	f := illustrate(target, byMode, n)
	require.Len(t, f.Rows, 2)
	conditional := f.Rows[0].Panels
	require.Len(t, conditional, 5, "one panel for μ = 1, two each for μ = 9 and 25, none for the fourth mode")
	require.Equal(t, []bool{false, false, true, false, true},
		[]bool{conditional[0].Joined, conditional[1].Joined, conditional[2].Joined, conditional[3].Joined, conditional[4].Joined})
	for i, p := range append(conditional, f.Rows[1].Panels[0]) {
		area, points := p.Layers[0], p.Layers[1]
		require.Equal(t, []figure.Role{figure.Target, figure.Generated}, []figure.Role{area.Role, points.Role})
		peak := 0.0
		for _, y := range area.Y {
			peak = max(peak, y)
		}
		require.Less(t, peak, p.Y.Max)
		spacing := area.X[1] - area.X[0]
		seen := 0
		for j, x := range points.X {
			if !math.IsNaN(points.Y[j]) {
				seen++
				at := area.Y[int((x-area.X[0])/spacing)]
				require.InDelta(t, at, points.Y[j], 0.12*peak, "panel %d, x = %v", i, x)
			}
		}
		require.Greater(t, seen, len(area.X)/20, "panel %d: %d points of %d", i, seen, len(points.X))
	}
	modes := f.Rows[1].Panels[1].Layers
	require.Equal(t, []float64{0.25, 0.25, 0.25, 0.25}, modes[0].Y)
	require.Equal(t, []float64{0.25, 0.25, 0.25, 0.25}, modes[1].Y)
}

func TestFigures(t *testing.T) {
	cfg, err := Preset("paper")
	require.NoError(t, err)
	cfg.Training.Batch, cfg.Generator.Hidden = 16, []int{8}
	workers := pool.New(1)
	defer workers.Close()
	s, err := cfg.New(workers)
	require.NoError(t, err)
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	figures, err := s.(engine.Illustrator).Figures(context.Background(), params, 2000)
	require.NoError(t, err)
	require.Len(t, figures, 1)
	var sum float64
	for _, p := range figures[0].Rows[1].Panels[1].Layers[1].Y {
		sum += p
	}
	require.InDelta(t, 1, sum, 1e-12)
	params[0] = float32(math.NaN())
	_, err = s.(engine.Illustrator).Figures(context.Background(), params, 2000)
	require.Error(t, err)
}

// TestModePanelHasBinomialIntervals: of 25 samples in a mode of 100, ±1.96 √(¼·¾/100).
func TestModePanelHasBinomialIntervals(t *testing.T) {
	panel := modePanel([][]float64{make([]float64, 25), make([]float64, 75)}, 100)
	var points *figure.Layer
	for i := range panel.Layers {
		if panel.Layers[i].Mark == figure.Points {
			points = &panel.Layers[i]
		}
	}
	require.NotNil(t, points)
	require.InDelta(t, 0.1651, points.Low[0], 1e-4)
	require.InDelta(t, 0.3349, points.High[0], 1e-4)
}
