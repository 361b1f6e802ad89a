package draw

import (
	"flag"
	"fmt"
	"image"
	"image/color"
	"math"
	"math/cmplx"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/palette/brewer"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"github.com/revgen/revgen/internal/figure"
)

// A canvas keeps what is drawn on it, in points from the lower left corner.
type canvas struct {
	vg.Canvas
	frame
	stack          []frame
	strokes, areas []shape
	texts, images  []box
	pictures       []image.Image
}

type frame struct {
	origin, turn complex128
	colour       color.Color
	width        vg.Length
	dashes       []vg.Length
}

type shape struct {
	points []vg.Point
	colour color.Color
	width  vg.Length
	dashes []vg.Length
}

type box struct{ lo, hi vg.Point }

func (b box) meets(o box) bool {
	return b.lo.X < o.hi.X && o.lo.X < b.hi.X && b.lo.Y < o.hi.Y && o.lo.Y < b.hi.Y
}

func (c *canvas) at(p vg.Point) vg.Point {
	z := c.origin + c.turn*complex(float64(p.X), float64(p.Y))
	return vg.Point{X: vg.Length(real(z)), Y: vg.Length(imag(z))}
}

func (c *canvas) Push() { c.stack = append(c.stack, c.frame) }
func (c *canvas) Pop()  { c.frame, c.stack = c.stack[len(c.stack)-1], c.stack[:len(c.stack)-1] }

func (c *canvas) Translate(p vg.Point)                   { c.origin += c.turn * complex(float64(p.X), float64(p.Y)) }
func (c *canvas) Rotate(a float64)                       { c.turn *= cmplx.Rect(1, a) }
func (c *canvas) SetColor(x color.Color)                 { c.colour = x }
func (c *canvas) SetLineWidth(w vg.Length)               { c.width = w }
func (c *canvas) SetLineDash(d []vg.Length, _ vg.Length) { c.dashes = d }

func (c *canvas) shape(p vg.Path) shape {
	s := shape{nil, c.colour, c.width, c.dashes}
	for _, part := range p {
		if part.Type == vg.ArcComp { // of a dot: its centre, and how far it reaches
			s.points, s.width = []vg.Point{c.at(part.Pos)}, part.Radius
		} else if part.Type != vg.CloseComp {
			s.points = append(s.points, c.at(part.Pos))
		}
	}
	return s
}

func (c *canvas) Stroke(p vg.Path) { c.strokes = append(c.strokes, c.shape(p)) }
func (c *canvas) Fill(p vg.Path) {
	s := c.shape(p)
	if c.colour != ink { // which is that of texts, as outlines
		c.areas = append(c.areas, s)
		return
	}
	if len(s.points) == 0 { // of no letters
		return
	}
	b := box{s.points[0], s.points[0]}
	for _, p := range s.points {
		b.lo.X, b.lo.Y = min(b.lo.X, p.X), min(b.lo.Y, p.Y)
		b.hi.X, b.hi.Y = max(b.hi.X, p.X), max(b.hi.Y, p.Y)
	}
	c.texts = append(c.texts, b)
}

func (c *canvas) DrawImage(r vg.Rectangle, img image.Image) {
	c.pictures = append(c.pictures, img)
	c.images = append(c.images, box{c.at(r.Min), c.at(r.Max)})
}

func drawn(f *figure.Figure) (*canvas, *layout) {
	l := newLayout(f)
	c := &canvas{frame: frame{turn: 1}}
	l.draw(vgdraw.NewCanvas(c, figureWidth, l.height))
	return c, l
}

// axes are the lines of axes that lie or stand, from left to right and the upper row first.
func (c *canvas) axes(lying bool) (all []shape) {
	for _, s := range c.strokes {
		if a, b := s.points[0], s.points[len(s.points)-1]; s.width == axisWidth && s.colour == ink && len(s.points) == 2 && (a.Y == b.Y) == lying && length(s) > 2*tickLength {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b shape) int {
		if a, b := math.Round(float64(a.points[0].Y)), math.Round(float64(b.points[0].Y)); a != b {
			return int(b - a)
		}
		return int(a.points[0].X - b.points[0].X)
	})
	return all
}

func length(s shape) vg.Length {
	a, b := s.points[0], s.points[len(s.points)-1]
	return max(b.X-a.X, b.Y-a.Y)
}

// TestLayout: texts neither meet nor leave the picture, the axes of a row stand on one line and
// those of a column below each other, and panels have the sizes that they ask for.
func TestLayout(t *testing.T) {
	c, l := drawn(example())
	for i, a := range c.texts {
		require.True(t, a.lo.X >= 0 && a.lo.Y >= 0 && a.hi.X <= figureWidth && a.hi.Y <= l.height-margin, a)
		for _, b := range c.texts[:i] {
			require.False(t, a.meets(b), "%v and %v", a, b)
		}
	}
	for i, x := range c.axes(true) {
		require.GreaterOrEqual(t, x.points[0].X, vg.Length(margin))
		require.LessOrEqual(t, x.points[1].X, vg.Length(figureWidth-margin))
		for _, a := range c.texts {
			require.False(t, a.lo.Y < x.points[0].Y && x.points[0].Y < a.hi.Y && a.lo.X < x.points[1].X && x.points[0].X < a.hi.X, "axis %d is over a text", i)
		}
	}
	require.Greater(t, len(c.texts), 25)
	x, y := c.axes(true), c.axes(false)
	require.Len(t, x, 5)
	require.Equal(t, x[0].points[0].Y, x[1].points[0].Y)
	require.Equal(t, x[2].points[0].Y, x[4].points[0].Y)
	require.InDelta(t, float64(x[0].points[0].X), float64(x[2].points[0].X), 1e-9, "one below the other")
	require.InDelta(t, float64(length(x[0])), float64(length(x[1])), 1e-9, "of equal widths")
	require.GreaterOrEqual(t, x[1].points[0].X-x[0].points[1].X, vg.Length(joinedGap))
	require.Less(t, x[1].points[0].X-x[0].points[1].X, vg.Length(joinedGap)+10)
	square, bar, last := x[2], x[3], x[4]
	require.InDelta(t, 2, float64(length(square)/length(y[2])), 1e-9, "4 by 2, in the same unit")
	bars := figure.ColourBar(example().Rows[1].Panels[0].Layers[0].Grid, "")
	require.InDelta(t, bars.Width, float64(length(bar)/length(last)), 1e-3)
	require.Greater(t, x[1].points[1].X, vg.Length(figureWidth-margin-15), "the row is full")
	require.InDelta(t, float64(length(last)), float64(length(y[2])), 1, "beside a square a width of 1 is the height")
}

// TestMarks: what a mark shows stands where the axes say, in the colours of its role.
func TestMarks(t *testing.T) {
	const left, right, low, high = 1, 5, -20, 80
	role := figure.Series(2)
	x, y := []float64{2, 3, 4}, []float64{10, 40, 30}
	from, to := []float64{5, 20, -10}, []float64{15, 50, 60}
	grid := figure.NewGrid(2, 4, 0, 50, 4, 5, func(x, y float64) float64 { return x + y })
	show := func(l figure.Layer) (*canvas, func(x, y float64) vg.Point) {
		l.Role = role
		c, _ := drawn(&figure.Figure{Rows: []figure.Row{{Panels: []figure.Panel{{X: figure.Axis{Min: left, Max: right}, Y: figure.Axis{Min: low, Max: high}, Layers: []figure.Layer{l}}}}}})
		h, v := c.axes(true)[0].points, c.axes(false)[0].points
		return c, func(x, y float64) vg.Point {
			return vg.Point{X: h[0].X + vg.Length((x-left)/(right-left))*(h[1].X-h[0].X), Y: v[0].Y + vg.Length((y-low)/(high-low))*(v[1].Y-v[0].Y)}
		}
	}
	has := func(all []shape, colour color.Color, at func(x, y float64) vg.Point, values ...float64) {
		t.Helper()
		require.True(t, slices.ContainsFunc(all, func(s shape) bool {
			if len(s.points) != len(values)/2 || s.colour != colour {
				return false
			}
			for i, p := range s.points {
				want := at(values[2*i], values[2*i+1])
				if math.Hypot(float64(p.X-want.X), float64(p.Y-want.Y)) > 1e-6 {
					return false
				}
			}
			return true
		}), "%v", values)
	}
	line, fill := lineColour(role), fillColour(role)

	c, at := show(figure.Layer{Mark: figure.Line, X: x, Y: y})
	has(c.strokes, line, at, 2, 10, 3, 40, 4, 30)
	c, at = show(figure.Layer{Mark: figure.Line, X: []float64{1, 2, 3, 4, 5}, Y: []float64{0, 10, math.NaN(), 30, 20}})
	has(c.strokes, line, at, 1, 0, 2, 10)
	has(c.strokes, line, at, 4, 30, 5, 20)
	c, at = show(figure.Layer{Mark: figure.Area, X: x, Y: y})
	has(c.areas, fill, at, 2, 0, 2, 10, 3, 40, 4, 30, 4, 0)
	has(c.strokes, line, at, 2, 10, 3, 40, 4, 30)
	c, at = show(figure.Layer{Mark: figure.Bars, X: x, Y: y, Width: 0.5})
	for i := range x {
		a, b := x[i]-0.25, x[i]+0.25
		has(c.areas, fill, at, a, 0, a, y[i], b, y[i], b, 0)
		has(c.strokes, line, at, a, 0, a, y[i], b, y[i], b, 0)
	}
	c, at = show(figure.Layer{Mark: figure.Stairs, X: x, Y: y})
	has(c.strokes, line, at, 1.5, 10, 2.5, 10, 2.5, 40, 3.5, 40, 3.5, 30, 4.5, 30)
	c, at = show(figure.Layer{Mark: figure.Points, X: x, Y: y, Low: from, High: to})
	for i := range x {
		has(c.areas, line, at, x[i], y[i])
		has(c.strokes, line, at, x[i], from[i], x[i], to[i])
	}
	c, at = show(figure.Layer{Mark: figure.Band, X: x, Low: from, High: to})
	has(c.areas, bandColour(role), at, 2, 15, 3, 50, 4, 60, 4, -10, 3, 20, 2, 5)
	c, at = show(figure.Layer{Mark: figure.Band, X: x[:1], Low: from[:1], High: to[:1], Width: 1})
	has(c.areas, bandColour(role), at, 1.5, 15, 2.5, 15, 2.5, 5, 1.5, 5)
	c, at = show(figure.Layer{Mark: figure.Level, Y: []float64{25}})
	has(c.strokes, line, at, 1, 25, 5, 25)
	c, at = show(figure.Layer{Mark: figure.Heat, Grid: grid})
	require.Len(t, c.images, 1)
	lo, hi := at(2, 0), at(4, 50)
	require.InDeltaSlice(t, []float64{float64(lo.X), float64(lo.Y), float64(hi.X), float64(hi.Y)},
		[]float64{float64(c.images[0].lo.X), float64(c.images[0].lo.Y), float64(c.images[0].hi.X), float64(c.images[0].hi.Y)}, 1e-6)
	// x + y is linear, and bilinear interpolation between the centres of cells exact.
	for _, p := range [][2]float64{{0, 0}, {0.5, 0.25}, {1.75, 3.5}, {3, 4}} {
		require.InDelta(t, 2+(p[0]+0.5)/2+(p[1]+0.5)*10, interpolate(grid, p[0], p[1]), 1e-9)
	}
	require.Equal(t, interpolate(grid, 0, 4), interpolate(grid, -1, 9), "beyond the centres it is theirs")
}

// TestPalettes: the colours are those of Okabe and Ito (2008) and of ColorBrewer, whose lightest
// are lighter here.
func TestPalettes(t *testing.T) {
	for i, c := range [][3]uint8{{0, 114, 178}, {213, 94, 0}, {0, 158, 115}, {204, 121, 167}, {230, 159, 0}, {86, 180, 233}} {
		require.Equal(t, color.NRGBA{c[0], c[1], c[2], 255}, seriesLines[i])
	}
	theirs, err := brewer.GetPalette(brewer.TypeAny, "YlGnBu", len(sequential))
	require.NoError(t, err)
	for i, want := range theirs.Colors() {
		if i > 1 {
			require.Equal(t, color.NRGBAModel.Convert(want), sequential[i], i)
		}
	}
	require.Equal(t, white, sequential[0])
	// The colours of a grid meet those of the palette at equal distances, and their mean between.
	g := &figure.Grid{Min: -3, Max: -3 + 2*float64(len(sequential)-1)}
	for i, c := range sequential {
		require.Equal(t, c, gridColour(g, g.Min+2*float64(i)))
		if i > 0 {
			half := gridColour(g, g.Min+2*float64(i)-1)
			require.InDelta(t, (float64(c.R)+float64(sequential[i-1].R))/2, float64(half.R), 0.5)
			require.InDelta(t, (float64(c.B)+float64(sequential[i-1].B))/2, float64(half.B), 0.5)
		}
	}
	require.Equal(t, sequential[0], gridColour(g, g.Min-1))
	require.Equal(t, sequential[len(sequential)-1], gridColour(g, g.Max+1))
	require.Equal(t, sequential[0], gridColour(g, math.NaN()))
}

var update = flag.Bool("update", false, "rewrite the files of testdata")

// text lists what was drawn, to hundredths of a point.
func (c *canvas) text() string {
	var b strings.Builder
	at := func(points ...vg.Point) {
		for _, p := range points {
			for _, v := range []vg.Length{p.X, p.Y} { // away from ties, which another order of operations may decide
				fmt.Fprintf(&b, " %.2f", math.Round((float64(v)+1e-5)*100)/100)
			}
		}
		b.WriteString("\n")
	}
	for _, kind := range []string{"stroke", "area"} {
		for _, s := range map[string][]shape{"stroke": c.strokes, "area": c.areas}[kind] {
			r := color.NRGBAModel.Convert(s.colour).(color.NRGBA)
			fmt.Fprintf(&b, "%s %02x%02x%02x %02x %.2f %v:", kind, r.R, r.G, r.B, r.A, s.width, s.dashes)
			at(s.points...)
		}
	}
	for _, x := range c.texts {
		b.WriteString("text")
		at(x.lo, x.hi)
	}
	for i, x := range c.images {
		size := c.pictures[i].Bounds().Size()
		fmt.Fprintf(&b, "image %v", size)
		for k := range 16 {
			r := color.NRGBAModel.Convert(c.pictures[i].At(k*(size.X-1)/15, (k*k+3)*(size.Y-1)/228)).(color.NRGBA)
			fmt.Fprintf(&b, " %02x%02x%02x", r.R, r.G, r.B)
		}
		at(x.lo, x.hi)
	}
	return b.String()
}

// crowded has what the example has not: a legend of two lines, a title of two, a square that is
// too wide for its row, a row of another height, states, dots that are many, and axes without
// data.
func crowded() *figure.Figure {
	f := &figure.Figure{Title: strings.Repeat("a title that is long ", 6), Rows: []figure.Row{{Height: 0.7}, {}, {}}}
	x, y := figure.Sample(0, 9, 61, math.Sin)
	grid := figure.NewGrid(0, 6, -1, 1, 6, 2, func(x, y float64) float64 { return math.Floor(x) })
	grid.States = 6
	difference := figure.NewGrid(0, 1, 0, 1, 3, 3, func(x, y float64) float64 { return x - y })
	difference.Min = -difference.Max
	for i := range 9 {
		n := 12
		if figure.Mark(i) == figure.Points {
			n = 61
		}
		f.Rows[0].Panels = append(f.Rows[0].Panels, figure.Panel{Title: "*t*", Joined: i%2 == 1, Width: float64(i % 3), Layers: []figure.Layer{
			{Mark: figure.Mark(i), Role: figure.Role(i), Label: fmt.Sprintf("a label that is long %d", i), X: x[:n], Y: y[:n], Low: y[:n], High: y[:n], Width: 0.1, Grid: grid}}})
	}
	f.Rows[1].Panels = []figure.Panel{
		{Square: true, X: figure.Axis{Label: strings.Repeat("long ", 40)}, Y: figure.Axis{Label: "*y*_{1}"}, Layers: []figure.Layer{{Mark: figure.Heat, Grid: grid}}},
		{Square: true, Y: figure.Axis{Label: "y"}, Layers: []figure.Layer{{Mark: figure.Contour, Grid: difference, Y: []float64{0.1}}}},
		{Width: 2, Layers: []figure.Layer{{Mark: figure.Heat, Grid: difference}}},
	}
	for scale := range figure.Log + 1 {
		f.Rows[2].Panels = append(f.Rows[2].Panels,
			figure.Panel{X: figure.Axis{Label: "empty", Scale: scale}, Y: figure.Axis{Label: "one", Scale: scale}, Layers: []figure.Layer{{Mark: figure.Points, X: []float64{3}, Y: []float64{2}}}},
			figure.Panel{Y: figure.Axis{Scale: scale}, Layers: []figure.Layer{{Mark: figure.Line, X: []float64{1, 2, 3}, Y: []float64{0, 2, 30}}}})
	}
	return f
}

// TestDrawing: a picture changes on purpose only. TestLayout and TestMarks say what is right
// about it.
func TestDrawing(t *testing.T) {
	var b strings.Builder
	for _, f := range []*figure.Figure{example(), crowded()} {
		c, l := drawn(f)
		fmt.Fprintf(&b, "──── %s, %.2f by %.2f\n%s", f.Title, float64(figureWidth), l.height, c.text())
	}
	for i := range 9 {
		fmt.Fprintln(&b, gridColour(&figure.Grid{States: 9}, float64(i)), gridColour(&figure.Grid{States: 7}, float64(i%7)))
	}
	fmt.Fprintf(&b, "──── in the dark\n%s\n──── %s\n", strings.ReplaceAll(darkStyle, "}", "}\n"), describeFigure(crowded()))
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile("testdata/drawing.txt", []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile("testdata/drawing.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "go test ./internal/figure/draw -run TestDrawing -update writes it")
}
