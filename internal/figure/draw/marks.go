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

// finite returns the layers that have something to show, without the points at
// which a value is undefined; lines keep those and are broken there.
func finite(layers []figure.Layer) []figure.Layer {
	var all []figure.Layer
	for _, l := range layers {
		if l.Mark == figure.Level || l.Grid != nil {
			all = append(all, l)
			continue
		}
		columns := [4]*[]float64{&l.X, &l.Y, &l.Low, &l.High}
		var kept [4][]float64
		for i := range l.X {
			defined := true
			for _, c := range columns {
				defined = defined && (len(*c) == 0 || (*c)[i]-(*c)[i] == 0)
			}
			for j, c := range columns {
				if len(*c) > 0 && (defined || l.Mark == figure.Line) {
					kept[j] = append(kept[j], (*c)[i])
				}
			}
		}
		for j, c := range columns {
			*c = kept[j]
		}
		if len(l.X) > 0 {
			all = append(all, l)
		}
	}
	return all
}

// layer is a plot.Plotter for one layer of a panel.
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
		contour := plotter.NewContour(gridXYZ{l.Grid}, l.Y, nil)
		style := l.line()
		style.Width *= 0.7
		contour.LineStyles = []draw.LineStyle{style}
		contour.Plot(c, p)
	}
}

func levelStyle(r figure.Role) draw.LineStyle {
	return draw.LineStyle{Color: lineColour(r), Width: 0.8 * curveWidth, Dashes: []vg.Length{4, 3}}
}

// runs returns the line in pieces, broken where a value is undefined.
func (l layer) runs(at func(int) vg.Point) [][]vg.Point {
	var all [][]vg.Point
	var run []vg.Point
	for i := range l.X {
		if math.IsNaN(l.Y[i]) || math.IsInf(l.Y[i], 0) {
			all, run = append(all, run), nil
			continue
		}
		run = append(run, at(i))
	}
	return append(all, run)
}

// stairs returns steps whose edges are half-way between the points.
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

// edge returns an edge of a band: stairs if the layer has a width.
func (l layer) edge(x, y func(float64) vg.Length, v []float64) []vg.Point {
	if l.Width > 0 {
		return l.stairs(x, y, v)
	}
	var all []vg.Point
	for i := range l.X {
		all = append(all, vg.Point{X: x(l.X[i]), Y: y(v[i])})
	}
	return all
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

// dot is smaller where points are many.
func (l layer) dot() draw.GlyphStyle {
	radius := pointRadius
	if len(l.X) > 60 {
		radius *= 0.7
	}
	return draw.GlyphStyle{Color: lineColour(l.Role), Radius: radius, Shape: draw.CircleGlyph{}}
}

// heat draws a grid as one image, interpolated between the cells' centres unless these are
// of states.
func (l layer) heat(c draw.Canvas, p *plot.Plot) {
	const pixels = 360 // at least, each way
	g := l.Grid
	width, height := g.NX*((pixels+g.NX-1)/g.NX), g.NY*((pixels+g.NY-1)/g.NY)
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
			img.SetNRGBA(i, height-1-j, colourOf(g, interpolate(g, x, y)))
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

// gridXYZ is a grid as package plotter takes it.
type gridXYZ struct{ *figure.Grid }

func (g gridXYZ) Dims() (c, r int)   { return g.NX, g.NY }
func (g gridXYZ) Z(c, r int) float64 { return g.Grid.Z[r*g.NX+c] }

// extent is the smallest range that holds all values shown.
type extent struct{ low, high float64 }

func (e *extent) add(positive bool, all ...float64) {
	for _, v := range all {
		if math.IsNaN(v) || math.IsInf(v, 0) || positive && v <= 0 {
			continue
		}
		e.low, e.high = math.Min(e.low, v), math.Max(e.high, v)
	}
}

// extents returns the ranges that a panel's layers need.
func extents(p *figure.Panel, layers []figure.Layer) (x, y extent) {
	x, y = extent{math.Inf(1), math.Inf(-1)}, extent{math.Inf(1), math.Inf(-1)}
	logX, logY := p.X.Scale == figure.Log, p.Y.Scale == figure.Log
	for i := range layers {
		l := &layers[i]
		switch l.Mark {
		case figure.Heat, figure.Contour:
			x.add(logX, l.Grid.X0, l.Grid.X1)
			y.add(logY, l.Grid.Y0, l.Grid.Y1)
			continue
		case figure.Area, figure.Bars:
			y.add(logY, 0)
		}
		for _, v := range l.X {
			x.add(logX, v-l.Width/2, v+l.Width/2)
		}
		y.add(logY, l.Y...)
		y.add(logY, l.High...)
		if l.Mark == figure.Band || !logY { // where intervals can reach down to nothing
			y.add(logY, l.Low...)
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
