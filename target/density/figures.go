package density

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/lists"
)

// Figures shows the marginal laws of the first coordinates, and the law of ln π, beside
// those of the chains.
func (s *system) Figures(ctx context.Context, params []float32, samples int) ([]figure.Figure, error) {
	const shownCoordinates = 5
	if s.reference == nil || !slices.Equal(s.params, params) || len(s.values) != samples*len(s.names) {
		if _, err := s.Evaluate(ctx, params, samples); err != nil {
			return nil, err
		}
	}
	f := figure.Figure{Name: "distributions", Title: fmt.Sprintf("Target of one's own, *d* = %d", s.dim)}
	if s.modes > 0 {
		f.Title += fmt.Sprintf(", %d modes", s.modes)
	}
	var panels []figure.Panel
	for i := range min(s.dim, shownCoordinates) {
		panels = append(panels, s.panel(fmt.Sprintf("x%d", i), fmt.Sprintf("*x*_{%d}", i)))
	}
	panels = append(panels, s.panel("log_density", "ln *π*"))
	for row := range slices.Chunk(panels, 3) {
		row[0].Y.Label = "density"
		f.Rows = append(f.Rows, figure.Row{Panels: row})
	}
	return []figure.Figure{f}, nil
}

// panel shows the law of an observable, of the generator and of the reference chains.
func (s *system) panel(name, label string) figure.Panel {
	const bins, tail = 64, 2e-3
	column := s.column(name)
	generated, reference := finite(lists.Column(s.values, column, len(s.names))), finite(lists.Column(s.reference.values, column, s.reference.width))
	pooled := slices.Sorted(slices.Values(append(slices.Clone(reference), generated...)))
	low, high := -1.0, 1.0
	if len(pooled) > 0 {
		cut := int(tail * float64(len(pooled)))
		low, high = pooled[cut], pooled[len(pooled)-1-cut]
	}
	margin := max((high-low)/20, 1e-9*max(1, math.Abs(low)))
	low, high = low-margin, high+margin
	panel := figure.Panel{X: figure.Axis{Label: label, Min: low, Max: high}}
	if len(reference) > 0 {
		h := figure.NewHistogram(low, high, bins)
		h.Add(reference...)
		area := figure.Layer{Mark: figure.Area, Role: figure.Target, Label: fmt.Sprintf("%d chains", s.reference.chains)}
		area.X, area.Y, _, _ = h.Density()
		panel.Layers = append(panel.Layers, area)
	}
	if len(generated) > 0 {
		h := figure.NewHistogram(low, high, bins)
		h.Add(generated...)
		points := figure.Samples(len(s.values) / len(s.names))
		points.X, points.Y, points.Low, points.High = h.Density()
		panel.Layers = append(panel.Layers, points)
	}
	return panel
}

// finite returns the finite values, in the same slice.
func finite(values []float64) []float64 {
	return slices.DeleteFunc(values, func(v float64) bool { return math.IsInf(v, 0) })
}
