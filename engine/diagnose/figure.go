package diagnose

import (
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
	slices.SortStableFunc(order, func(a, b Observable) int {
		switch x, y := most(a), most(b); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	p := figure.Panel{
		X: figure.Axis{Label: "Metropolis steps after generation", Scale: figure.Log},
		Y: figure.Axis{Label: "drift / standard deviation"},
	}
	var lines []figure.Layer // above all bands
	for i, o := range order[:min(drawn, len(order))] {
		if o.Deviation == 0 || len(o.Drift) == 0 {
			continue
		}
		line := figure.Layer{Mark: figure.Line, Role: figure.Series(i), Label: report.Label(o.Name)}
		band := figure.Layer{Mark: figure.Band, Role: figure.Series(i)}
		for _, d := range o.Drift {
			y, half := d.Change/o.Deviation, 1.96*d.StandardError/o.Deviation
			line.X, line.Y = append(line.X, float64(d.Steps)), append(line.Y, y)
			band.Low, band.High = append(band.Low, y-half), append(band.High, y+half)
		}
		band.X = line.X
		p.Layers, lines = append(p.Layers, band), append(lines, line)
	}
	p.Layers = append(append(p.Layers, lines...), figure.Layer{Mark: figure.Level, Role: figure.Reference, Label: "at rest", Y: []float64{0}})
	return figure.Figure{Name: "drift", Title: "Drift of fresh samples", Rows: []figure.Row{{Panels: []figure.Panel{p}}}}
}
