package draw

import (
	"image"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/revgen/revgen/internal/figure"
)

// finiteLayers returns the layers that have something to show, without points that are not finite.
// Lines keep such points, and are broken there.
func finiteLayers(layers []figure.Layer) []figure.Layer {
	var kept []figure.Layer
	for _, l := range layers {
		if l.Mark == figure.Level || l.Grid != nil {
			kept = append(kept, l)
			continue
		}
		columns := [4]*[]float64{&l.X, &l.Y, &l.Low, &l.High}
		var values [4][]float64
		for i := range l.X {
			defined := true
			for _, c := range columns {
				defined = defined && (len(*c) == 0 || (*c)[i]-(*c)[i] == 0)
			}
			for j, c := range columns {
				if len(*c) > 0 && (defined || l.Mark == figure.Line) {
					values[j] = append(values[j], (*c)[i])
				}
			}
		}
		for j, c := range columns {
			*c = values[j]
		}
		if len(l.X) > 0 {
			kept = append(kept, l)
		}
	}
	return kept
}

// A layer is one layer of a panel as a plot.Plotter.
type layer struct{ *figure.Layer }

func (l layer) line() draw.LineStyle {
	return draw.LineStyle{Color: lineColour(l.Role), Width: curveWidth}
}

// Plot implements plot.Plotter.
func (l layer) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	at := func(i int) vg.Point { return vg.Point{X: x(l.X[i]), Y: y(l.Y[i])} }
	base := math.Max(0, p.Y.Min)
	switch l.Mark {
	case figure.Line:
		c.StrokeLines(l.line(), c.ClipLinesXY(l.runs(at)...)...)
	case figure.Area:
		outline := make([]vg.Point, 0, len(l.X)+2)
		for i := range l.X {
			outline = append(outline, at(i))
		}
		area := append([]vg.Point{{X: x(l.X[0]), Y: y(base)}}, outline...)
		area = append(area, vg.Point{X: x(l.X[len(l.X)-1]), Y: y(base)})
		c.FillPolygon(fillColour(l.Role), c.ClipPolygonXY(area))
		c.StrokeLines(l.line(), c.ClipLinesXY(outline)...)
	case figure.Bars:
		for i := range l.X {
			left, right, bottom, top := x(l.X[i]-l.Width/2), x(l.X[i]+l.Width/2), y(base), y(l.Y[i])
			bar := []vg.Point{{X: left, Y: bottom}, {X: left, Y: top}, {X: right, Y: top}, {X: right, Y: bottom}}
			c.FillPolygon(fillColour(l.Role), c.ClipPolygonXY(bar))
			edge := l.line()
			edge.Width /= 2
			c.StrokeLines(edge, c.ClipLinesXY(bar)...)
		}
	case figure.Stairs:
		c.StrokeLines(l.line(), c.ClipLinesXY(l.stairs(x, y, l.Y))...)
	case figure.Points:
		l.points(c, x, y)
	case figure.Band:
		upper, lower := l.edge(x, y, l.High), l.edge(x, y, l.Low)
		slices.Reverse(lower)
		c.FillPolygon(bandColour(l.Role), c.ClipPolygonXY(append(upper, lower...)))
	case figure.Level:
		for _, v := range l.Y {
			c.StrokeLines(levelStyle(l.Role), c.ClipLinesXY([]vg.Point{{X: c.Min.X, Y: y(v)}, {X: c.Max.X, Y: y(v)}})...)
		}
	case figure.Heat:
		l.heat(c, p)
	case figure.Contour:
		contour := plotter.NewContour(plotterGrid{l.Grid}, l.Y, nil)
		style := l.line()
		style.Width *= 0.7
		contour.LineStyles = []draw.LineStyle{style}
		contour.Plot(c, p)
	}
}

func levelStyle(r figure.Role) draw.LineStyle {
	return draw.LineStyle{Color: lineColour(r), Width: 0.8 * curveWidth, Dashes: []vg.Length{4, 3}}
}

// runs returns the line in pieces, broken where a value is not finite.
func (l layer) runs(at func(int) vg.Point) [][]vg.Point {
	var runs [][]vg.Point
	var run []vg.Point
	for i := range l.X {
		if math.IsNaN(l.Y[i]) || math.IsInf(l.Y[i], 0) {
			runs, run = append(runs, run), nil
			continue
		}
		run = append(run, at(i))
	}
	return append(runs, run)
}

// stairs returns steps of height v[i] around each X, which meet half-way between the points.
func (l layer) stairs(x, y func(float64) vg.Length, v []float64) []vg.Point {
	half := 0.5
	if len(l.X) > 1 {
		half = (l.X[1] - l.X[0]) / 2
	}
	var steps []vg.Point
	for i, at := range l.X {
		steps = append(steps, vg.Point{X: x(at - half), Y: y(v[i])}, vg.Point{X: x(at + half), Y: y(v[i])})
	}
	return steps
}

// edge returns the upper or lower edge of a band: stairs if the layer has a width.
func (l layer) edge(x, y func(float64) vg.Length, v []float64) []vg.Point {
	if l.Width > 0 {
		return l.stairs(x, y, v)
	}
	var points []vg.Point
	for i := range l.X {
		points = append(points, vg.Point{X: x(l.X[i]), Y: y(v[i])})
	}
	return points
}

func (l layer) points(c draw.Canvas, x, y func(float64) vg.Length) {
	interval := draw.LineStyle{Color: lineColour(l.Role), Width: intervalLine}
	dot := l.dot()
	for i := range l.X {
		if l.Low != nil {
			c.StrokeLines(interval, c.ClipLinesXY([]vg.Point{{X: x(l.X[i]), Y: y(l.Low[i])}, {X: x(l.X[i]), Y: y(l.High[i])}})...)
		}
		c.DrawGlyph(dot, vg.Point{X: x(l.X[i]), Y: y(l.Y[i])})
	}
}

// dot returns the mark of a point, which is smaller if there are many.
func (l layer) dot() draw.GlyphStyle {
	radius := pointRadius
	if len(l.X) > 60 {
		radius *= 0.7
	}
	return draw.GlyphStyle{Color: lineColour(l.Role), Radius: radius, Shape: draw.CircleGlyph{}}
}

// heat draws a grid as one image. It interpolates between the centres of cells, unless they hold
// states.
func (l layer) heat(c draw.Canvas, p *plot.Plot) {
	const minPixels = 360 // in each direction
	g := l.Grid
	width, height := g.NX*((minPixels+g.NX-1)/g.NX), g.NY*((minPixels+g.NY-1)/g.NY)
	if g.NX == 1 {
		width = 1
	}
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for j := range height {
		for i := range width {
			x := (float64(i)+0.5)*float64(g.NX)/float64(width) - 0.5
			y := (float64(j)+0.5)*float64(g.NY)/float64(height) - 0.5
			if g.States > 0 {
				x, y = math.Round(x), math.Round(y)
			}
			img.SetNRGBA(i, height-1-j, gridColour(g, interpolate(g, x, y)))
		}
	}
	plotter.NewImage(img, g.X0, g.Y0, g.X1, g.Y1).Plot(c, p)
}

// interpolate returns the value at column x and row y, bilinearly.
func interpolate(g *figure.Grid, x, y float64) float64 {
	x, y = math.Min(math.Max(x, 0), float64(g.NX-1)), math.Min(math.Max(y, 0), float64(g.NY-1))
	i, j := min(int(x), max(0, g.NX-2)), min(int(y), max(0, g.NY-2))
	right, up := min(i+1, g.NX-1), min(j+1, g.NY-1)
	u, v := x-float64(i), y-float64(j)
	return (1-v)*((1-u)*g.Z[j*g.NX+i]+u*g.Z[j*g.NX+right]) + v*((1-u)*g.Z[up*g.NX+i]+u*g.Z[up*g.NX+right])
}

// A plotterGrid is a grid as plotter.GridXYZ.
type plotterGrid struct{ *figure.Grid }

func (g plotterGrid) Dims() (c, r int)   { return g.NX, g.NY }
func (g plotterGrid) Z(c, r int) float64 { return g.Grid.Z[r*g.NX+c] }

// An extent is the smallest range that holds all values.
type extent struct{ low, high float64 }

func (e *extent) extend(logScale bool, values ...float64) {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) || logScale && v <= 0 {
			continue
		}
		e.low, e.high = math.Min(e.low, v), math.Max(e.high, v)
	}
}

// extents returns the extents of a panel's layers.
func extents(p *figure.Panel, layers []figure.Layer) (x, y extent) {
	x, y = extent{math.Inf(1), math.Inf(-1)}, extent{math.Inf(1), math.Inf(-1)}
	logX, logY := p.X.Scale == figure.Log, p.Y.Scale == figure.Log
	for i := range layers {
		l := &layers[i]
		switch l.Mark {
		case figure.Heat, figure.Contour:
			x.extend(logX, l.Grid.X0, l.Grid.X1)
			y.extend(logY, l.Grid.Y0, l.Grid.Y1)
			continue
		case figure.Area, figure.Bars:
			y.extend(logY, 0)
		}
		for _, v := range l.X {
			x.extend(logX, v-l.Width/2, v+l.Width/2)
		}
		y.extend(logY, l.Y...)
		y.extend(logY, l.High...)
		if l.Mark == figure.Band || !logY { // on a logarithmic axis, an interval may reach down to nearly 0
			y.extend(logY, l.Low...)
		}
	}
	return x, y
}

// drawThumbnail draws a layer's sample for the legend.
func (l layer) drawThumbnail(c draw.Canvas) {
	middle := c.Center()
	across := []vg.Point{{X: c.Min.X, Y: middle.Y}, {X: c.Max.X, Y: middle.Y}}
	switch l.Mark {
	case figure.Line, figure.Stairs, figure.Contour:
		c.StrokeLines(l.line(), across)
	case figure.Level:
		c.StrokeLines(levelStyle(l.Role), across)
	case figure.Points:
		if l.Low != nil {
			c.StrokeLine2(draw.LineStyle{Color: lineColour(l.Role), Width: intervalLine}, middle.X, c.Min.Y, middle.X, c.Max.Y)
		}
		c.DrawGlyph(l.dot(), middle)
	case figure.Area, figure.Bars, figure.Band:
		box := []vg.Point{c.Min, {X: c.Min.X, Y: c.Max.Y}, c.Max, {X: c.Max.X, Y: c.Min.Y}}
		c.FillPolygon(fillColour(l.Role), box)
		if l.Mark != figure.Band {
			edge := l.line()
			edge.Width /= 2
			c.StrokeLines(edge, append(box, box[0]))
		}
	}
}
