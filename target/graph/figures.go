package graph

import (
	"context"
	"fmt"
	"github.com/revgen/revgen/engine/measure"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/figure"
)

// Figures shows the laws of the energy and of the overlap of two configurations
// beside those of the reference.
func (s *measured) Figures(ctx context.Context, params []float32, samples int) ([]figure.Figure, error) {
	r, err := s.reference(ctx)
	if err != nil {
		return nil, err
	}
	t, err := s.sample(ctx, r, params, samples)
	if err != nil {
		return nil, err
	}
	label := "exact"
	if r.sampled {
		label = "parallel tempering"
	}
	generated := figure.Samples(samples).Label
	panels := []figure.Panel{
		lawPanel(r.energies, r.energyLaw, t.energies, label, generated, figure.Axis{Label: "energy *E*"}, "probability of a bin"),
		lawPanel(overlapBins(s.graph.N()), r.overlapLaw, t.overlaps, "", "", figure.Axis{Label: "overlap *q* of two samples"}, ""),
	}
	title := fmt.Sprintf("%d spins, %d edges, *β* = %g", s.graph.N(), len(s.graph.Edges()), s.config.Target.Beta)
	return []figure.Figure{{Name: "distributions", Title: title, Rows: []figure.Row{{Panels: panels}}}}, nil
}

// lawPanel shows the law of a number in bins: that of the reference as bars, if
// there is one, and the generated one as points with their 95 % intervals.
func lawPanel(b measure.Bins, law []measure.Estimate, counts []float64, reference, generated string, x figure.Axis, y string) figure.Panel {
	panel := figure.Panel{X: x, Y: figure.Axis{Label: y}}
	bars := figure.Layer{Mark: figure.Bars, Role: figure.Target, Label: reference, Width: 0.8 * b.Width}
	points := figure.Layer{Mark: figure.Points, Role: figure.Generated, Label: generated}
	var samples float64
	for _, c := range counts {
		samples += c
	}
	for k, c := range counts {
		if law != nil {
			bars.X, bars.Y = append(bars.X, b.Centre(k)), append(bars.Y, law[k].Value)
		}
		if c == 0 {
			continue
		}
		points.AddFrequency(b.Centre(k), c/samples, samples)
	}
	if law != nil {
		panel.Layers = append(panel.Layers, bars)
	}
	panel.Layers = append(panel.Layers, points)
	return panel
}

var _ engine.Illustrator = (*measured)(nil)
