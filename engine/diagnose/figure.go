package diagnose

import (
	"cmp"
	"math"
	"slices"

	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/report"
)

// drawn is how many curves can be told apart.
const drawn = 4

// Figure shows how the observables that drift most do so, with their 95 % intervals,
// in standard deviations of the samples as drawn.
func (r *Report) Figure() figure.Figure {
	most := func(o Observable) (z float64) {
		for _, d := range o.Drift {
			z = max(z, math.Abs(d.Z))
		}
		return z
	}
	order := slices.Clone(r.Observables)
	slices.SortStableFunc(order, func(a, b Observable) int { return cmp.Compare(most(b), most(a)) })
	p := figure.Panel{
		X: figure.Axis{Label: "Metropolis steps after generation", Scale: figure.Log},
		Y: figure.Axis{Label: "drift / standard deviation"},
	}
	for i, o := range order[:min(drawn, len(order))] {
		if o.Deviation == 0 || len(o.Drift) == 0 {
			continue
		}
		// They stand beside each other, so that no interval hides another.
		aside := math.Exp2(0.12 * (float64(i) - (drawn-1)/2.0))
		line := figure.Layer{Mark: figure.Line, Role: figure.Series(i)}
		points := figure.Layer{Mark: figure.Points, Role: figure.Series(i), Label: report.Label(o.Name)}
		for _, d := range o.Drift {
			points.Add(aside*float64(d.Steps), d.Change/o.Deviation, d.StandardError/o.Deviation)
		}
		line.X, line.Y = points.X, points.Y
		p.Layers = append(p.Layers, line, points)
	}
	p.Layers = append(p.Layers, figure.Layer{Mark: figure.Level, Role: figure.Reference, Label: "at rest", Y: []float64{0}})
	return figure.Figure{Name: "drift", Title: "Drift of fresh samples", Rows: []figure.Row{{Panels: []figure.Panel{p}}}}
}
