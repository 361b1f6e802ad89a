package hybrid

import (
	"context"
	"math"
	"slices"
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

// TestPanels: a shallow well has one panel, a deep one a panel on each side with marks beside its
// minimum, and few modes have ticks.
func TestPanels(t *testing.T) {
	for _, c := range []struct {
		mu     float64
		ranges [][2]float64
		ticks  [][]float64
		titles []string
	}{
		{3.5, [][2]float64{{-math.Sqrt(7), math.Sqrt(7)}}, [][]float64{nil}, []string{"*k* = 2, *μ* = 3.5"}},
		{25, [][2]float64{{-math.Sqrt(28.5), -math.Sqrt(21.5)}, {math.Sqrt(21.5), math.Sqrt(28.5)}}, [][]float64{{-5.2, -4.8}, {4.8, 5.2}}, []string{"*k* = 2", "*μ* = 25"}},
		{2500, [][2]float64{{-math.Sqrt(2503.5), -math.Sqrt(2496.5)}, {math.Sqrt(2496.5), math.Sqrt(2503.5)}}, [][]float64{nil, nil}, []string{"*k* = 2", "*μ* = 2500"}},
	} {
		w, err := NewWell(c.mu)
		require.NoError(t, err)
		panels := wellPanels(w, 2, []float64{math.Sqrt(c.mu)}, 1)
		require.Len(t, panels, len(c.ranges))
		for i, p := range panels {
			require.InDeltaSlice(t, c.ranges[i][:], []float64{p.X.Min, p.X.Max}, 1e-12)
			require.InDeltaSlice(t, c.ticks[i], p.X.Ticks, 1e-9)
			require.Len(t, p.X.Ticks, len(c.ticks[i]))
			require.Equal(t, c.titles[i], p.Title)
			require.Equal(t, []any{"*x*", 0.0, i == 1}, []any{p.X.Label, p.Y.Min, p.Joined})
			require.InDelta(t, 1.15*w.Density(math.Sqrt(c.mu)), p.Y.Max, 1e-12)
			require.Len(t, p.Layers[0].X, map[int]int{1: 401, 2: 201}[len(panels)])
			require.Len(t, p.Layers[1].X, map[int]int{1: 64, 2: 32}[len(panels)])
			for j, v := range p.Layers[1].Y {
				require.Equal(t, i != len(panels)-1 || math.Abs(p.Layers[1].X[j]-math.Sqrt(c.mu)) > (p.X.Max-p.X.Min)/64*1.001/float64(3-len(panels)), math.IsNaN(v))
			}
		}
	}
	for modes, ticks := range map[int]int{8: 8, 9: 0} {
		p := modePanel(slices.Repeat([][]float64{{1, 2}}, modes), 4*modes)
		require.Len(t, p.X.Ticks, ticks)
		require.Len(t, p.Layers[0].X, modes)
		require.InDelta(t, 1/float64(modes), p.Layers[0].Y[modes-1], 1e-12)
		require.InDelta(t, 0.5/float64(modes), p.Layers[1].Y[modes-1], 1e-12)
	}
}
