package gmm

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
)

// Sizes of the figure.
const (
	shownCoordinates = 6 // coordinates whose marginal laws are shown
	marginalBins     = 64
	curvePoints      = 201
	planeCells       = 160  // of a density in the plane, along each axis
	binnedCells      = 64   // of a histogram in the plane, along each axis
	shownTail        = 2e-4 // probability of a coordinate beyond either end of its axis
)

// Figures shows the density of a target in the plane beside the generator's,
// exact if it is known and binned otherwise, and the marginal laws of coordinates.
func (s *system) Figures(ctx context.Context, params []float32, samples int) ([]figure.Figure, error) {
	d := s.newSampler(params)
	x := make([]float32, samples*s.target.dim)
	if err := d.DrawAll(ctx, s.states(x), nil); err != nil {
		return nil, err
	}
	f := figure.Figure{
		Name:  "distributions",
		Title: fmt.Sprintf("Gaussian mixture, %d components, *d* = %d", s.target.Components(), s.target.dim),
	}
	if s.target.dim == 2 {
		f.Rows = append(f.Rows, figure.Row{Height: 1.3, Panels: d.planes(x)})
	}
	for panels := range slices.Chunk(marginalPanels(s.target, x), 3) {
		f.Rows = append(f.Rows, figure.Row{Panels: panels})
	}
	return []figure.Figure{f}, nil
}

// shownRange returns the ends of the axis of a coordinate.
func shownRange(law *Marginal) (low, high float64) {
	low, high = law.Quantile(shownTail), law.Quantile(1-shownTail)
	margin := (high - low) / 20
	return low - margin, high + margin
}

// planes shows both densities with the same colours, and the target's contours
// on each.
func (d *sampler) planes(x []float32) []figure.Panel {
	t := d.system.target
	var low, high [2]float64
	for axis := range 2 {
		low[axis], high[axis] = shownRange(t.Marginal(axis))
	}
	target := figure.NewGrid(low[0], high[0], low[1], high[1], planeCells, planeCells, func(x, y float64) float64 {
		return t.Density([]float64{x, y})
	})
	generated := d.generatedPlane(target, x)
	generated.Max = max(slices.Max(generated.Z), target.Max)
	target.Max = generated.Max

	var levels []float64
	for _, share := range []float64{0.02, 0.1, 0.3, 0.6, 0.9} {
		levels = append(levels, share*slices.Max(target.Z))
	}
	panel := func(title string, g *figure.Grid) figure.Panel {
		return figure.Panel{
			Title: title, Square: true,
			X: figure.Axis{Label: "*x*_{1}", Min: low[0], Max: high[0]},
			Y: figure.Axis{Label: "*x*_{2}", Min: low[1], Max: high[1]},
			Layers: []figure.Layer{
				{Mark: figure.Heat, Grid: g},
				{Mark: figure.Contour, Role: figure.Reference, Label: "target's lines of equal density", Grid: target, Y: levels},
			},
		}
	}
	return []figure.Panel{panel("target", target), panel("generated", generated), figure.ColourBar(generated, "density")}
}

// generatedPlane returns the generator's density on the rectangle of the target's grid.
func (d *sampler) generatedPlane(target *figure.Grid, x []float32) *figure.Grid {
	g := *target
	if d.system.Dense {
		points := make([]float32, 0, 2*len(target.Z))
		for j := range g.NY {
			for i := range g.NX {
				points = append(points, float32(g.X(i)), float32(g.Y(j)))
			}
		}
		g.Z = make([]float64, len(target.Z))
		d.Density(g.Z, d.system.states(points))
		for i, v := range g.Z {
			g.Z[i] = math.Exp(v)
		}
		return &g
	}
	g.NX, g.NY = binnedCells, binnedCells
	g.Z = make([]float64, g.NX*g.NY)
	width, height := (g.X1-g.X0)/float64(g.NX), (g.Y1-g.Y0)/float64(g.NY)
	share := 2 / float64(len(x)) / (width * height)
	for ; len(x) > 0; x = x[2:] {
		i, j := math.Floor((float64(x[0])-g.X0)/width), math.Floor((float64(x[1])-g.Y0)/height)
		if i >= 0 && i < float64(g.NX) && j >= 0 && j < float64(g.NY) {
			g.Z[int(j)*g.NX+int(i)] += share
		}
	}
	return &g
}

// marginalPanels shows the laws of the first coordinates.
func marginalPanels(t *Target, x []float32) []figure.Panel {
	var panels []figure.Panel
	for axis := range min(t.dim, shownCoordinates) {
		law := t.Marginal(axis)
		low, high := shownRange(law)
		h := figure.NewHistogram(low, high, marginalBins)
		h.Add(number.Widen(lists.Column(x, axis, t.dim))...)
		area := figure.Layer{Mark: figure.Area, Role: figure.Target, Label: "target"}
		area.X, area.Y = figure.Sample(low, high, curvePoints, law.Density)
		points := figure.Samples(len(x) / t.dim)
		points.X, points.Y, points.Low, points.High = h.Density()
		panel := figure.Panel{
			X: figure.Axis{Label: fmt.Sprintf("*x*_{%d}", axis+1), Min: low, Max: high}, Layers: []figure.Layer{area, points},
		}
		if axis == 0 {
			panel.Y.Label = "density"
		}
		panels = append(panels, panel)
	}
	return panels
}

var _ engine.Illustrator = (*system)(nil)
