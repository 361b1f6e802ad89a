package graph

import (
	"context"
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/figure"
)

// Figures shows the laws of the energy and of the overlap of two configurations
// beside those of the reference.
func (s *evaluator) Figures(ctx context.Context, params []float32, samples int) ([]figure.Figure, error) {
	r, t, err := s.sample(ctx, params, samples)
	if err != nil {
		return nil, err
	}
	generated := figure.Samples(samples).Label
	panels := []figure.Panel{
		r.energies.Panel(r.energyLaw, t.energies, r.label, generated, "energy *E*", "probability of a bin"),
		overlapBins(s.graph.N()).Panel(r.overlapLaw, t.overlaps, "", "", "overlap *q* of two samples", ""),
	}
	title := fmt.Sprintf("%d spins, %d edges, *β* = %g", s.graph.N(), len(s.graph.Edges()), s.config.Target.Beta)
	return []figure.Figure{{Name: "distributions", Title: title, Rows: []figure.Row{{Panels: panels}}}}, nil
}

var _ engine.Illustrator = (*evaluator)(nil)
