package draw

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/long"
)

// example has every mark, scale and kind of panel.
func example() *figure.Figure {
	x, y := figure.Sample(-3, 3, 61, func(x float64) float64 { return math.Exp(-x * x / 2) })
	grid := figure.NewGrid(-2, 2, -1, 1, 40, 20, func(x, y float64) float64 { return math.Exp(-x*x - 4*y*y) })
	h := figure.NewHistogram(-3, 3, 12)
	for i := range 2000 {
		h.Add(6 * (math.Mod(float64(i)*0.6180339887, 1) - 0.5))
	}
	hx, hy, low, high := h.Density()
	return &figure.Figure{Name: "example", Title: "Every *mark* & <scale>", Rows: []figure.Row{
		{Panels: []figure.Panel{
			{Title: "*x*_{1} and 10^{−3}", X: figure.Axis{Label: "*x*"}, Y: figure.Axis{Label: "density"}, Layers: []figure.Layer{
				{Mark: figure.Area, Role: figure.Target, Label: "target", X: x, Y: y},
				{Mark: figure.Points, Role: figure.Generated, Label: "generated", X: hx, Y: hy, Low: low, High: high},
			}},
			{Joined: true, X: figure.Axis{Ticks: []float64{0, 1}}, Layers: []figure.Layer{
				{Mark: figure.Bars, Role: figure.Target, X: []float64{0, 1}, Y: []float64{0.2, 0.8}, Width: 0.8},
				{Mark: figure.Line, Role: figure.Series(1), Label: "line", X: []float64{0, 0.5, 1}, Y: []float64{0.1, math.NaN(), 0.5}},
			}},
		}},
		{Height: 0.8, Panels: []figure.Panel{
			{Square: true, Layers: []figure.Layer{{Mark: figure.Heat, Grid: grid}, {Mark: figure.Contour, Role: figure.Reference, Grid: grid, Y: []float64{0.5}}}},
			figure.ColourBar(grid, "density"),
			{X: figure.Axis{Scale: figure.Log}, Layers: []figure.Layer{
				{Mark: figure.Band, Role: figure.Target, Label: "band", X: []float64{1, 10, 100}, Low: []float64{-1, -0.1, -0.01}, High: []float64{1, 0.1, 0.01}},
				{Mark: figure.Stairs, Role: figure.Series(0), Label: "stairs", X: []float64{1, 2, 3}, Y: []float64{1, -2, 0}},
				{Mark: figure.Level, Role: figure.Reference, Label: "level", Y: []float64{0.5}},
			}},
		}},
	}}
}

func svg(t *testing.T, f *figure.Figure) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, SVG(&b, f))
	return b.String()
}

func TestSVG(t *testing.T) {
	long.SkipShort(t)
	text := svg(t, example())
	require.Equal(t, text, svg(t, example()), "the same figure gives the same bytes")
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	require.Contains(t, text, "<title>Every mark &amp; &lt;scale&gt;</title>")
	require.Contains(t, text, "<desc>x1 and 10−3, density against x from -3 to 3: target from 0.0111 to 1; generated from 0.166 to 0.168. "+
		"density from 0 to 1: target from 0.2 to 0.8; line begins at 0.1 and ends at 0.5, between 0.1 and 0.5. "+
		"values: target as colours from 0 to 0.988. values from 1 to 100: stairs from -2 to 1; level at 0.5.</desc>")
	require.NotContains(t, text, "<text", "text is drawn as outlines, whatever fonts there are")
	require.Equal(t, 2, strings.Count(text, "data:image/png;base64,"), "a grid and its colours")
	for _, wrong := range []string{"NaN", "Inf", "data:image/jpg", ">*", "_{"} {
		require.NotContains(t, text, wrong)
	}

	states := &figure.Grid{X1: 2, Y1: 1, NX: 2, NY: 1, Z: []float64{0, 1}, Max: 1}
	for _, states.States = range []int{3, 16} {
		first, other := gridColour(states, 0), gridColour(states, 1)
		require.NotEqual(t, first, other, "states have colours of their own")
		require.NotContains(t, []color.NRGBA{first, other}, gridColour(states, float64(states.States-1)), "of %d states", states.States)
	}

	for what, change := range map[string]func(*figure.Figure){
		"data":   func(f *figure.Figure) { f.Rows[0].Panels[0].Layers[1].Y[3] *= 1.1 },
		"colour": func(f *figure.Figure) { f.Rows[1].Panels[0].Layers[0].Grid.Z[7] *= 1.1 },
		"tick":   func(f *figure.Figure) { f.Rows[0].Panels[1].X.Ticks[0] = 0.25 },
	} {
		other := example()
		change(other)
		require.NotEqual(t, text, svg(t, other), "%s is shown", what)
	}
}

// Titles and labels of axes are broken into lines that the figure is wide enough for.
func TestLongTitles(t *testing.T) {
	long.SkipShort(t)
	f := example()
	for words := 7; words < 40; words++ { // some of which just fill a line
		f.Title = strings.Repeat("a title that is long ", words)
		f.Rows[0].Panels[0].X.Label = f.Title
		l := newLayout(f)
		require.Equal(t, strings.Fields(f.Title), strings.Fields(strings.Join(l.title, " ")))
		require.Greater(t, len(l.title), 1)
		room := float64(figureWidth - 2*margin)
		for i, line := range l.title {
			of := func(text string) float64 { return float64(l.style(titleSize).Width(text)) }
			require.LessOrEqual(t, of(line), room)
			if i > 0 {
				next, _, _ := strings.Cut(line, " ")
				require.Greater(t, of(l.title[i-1]+" "+next), room, "a line is full")
			}
		}
		header := margin + 15*len(l.legend) + 4 // in points
		require.InDelta(t, float64(header)+float64(len(l.title))*(float64(l.style(titleSize).Height("a"))+3), float64(l.header), 1e-9)
		rows := 0.0 // that are as high as they ask for, with half a gap below each
		for _, r := range f.Rows {
			rows += rowHeight*map[float64]float64{0: 1}[r.Height] + rowHeight*r.Height + gap/2
		}
		require.InDelta(t, float64(l.header)+rows+margin/2, float64(l.height), 1e-9)
		for _, line := range l.xLabelLines(f.Title) {
			require.LessOrEqual(t, float64(l.style(labelSize).Width(line)), room-40)
		}
		require.InDelta(t, float64(len(l.xLabelLines(f.Title)))*float64(l.labelHeight("a", false)), float64(l.xLabelHeight(f.Title)), 1e-9)
	}
	require.NotRegexp(t, "NaN|Inf", svg(t, f))
}

// In a dark scheme every colour of a picture is another.
func TestDark(t *testing.T) {
	text := svg(t, example())
	for _, c := range regexp.MustCompile("(fill|stroke):(#[0-9A-F]{6})").FindAllString(text[strings.Index(text, "</style>"):], -1) {
		require.True(t, strings.Contains(darkStyle, `[style*="`+c+`"]`), c)
	}
	for c := range darkLine {
		require.Greater(t, luminance(darkLine[c]), 0.3, "%v is seen on the ground", c)
	}
}

// luminance is that of WCAG 2, of which .3 on the ground of cards is a contrast of 6 and more.
func luminance(c color.NRGBA) (sum float64) {
	for i, v := range []uint8{c.R, c.G, c.B} {
		x := float64(v) / 255
		if x = x / 12.92; v > 10 {
			x = math.Pow((float64(v)/255+0.055)/1.055, 2.4)
		}
		sum += []float64{0.2126, 0.7152, 0.0722}[i] * x
	}
	return sum
}

func TestPNG(t *testing.T) {
	long.SkipShort(t)
	var b bytes.Buffer
	require.NoError(t, PNG(&b, example()))
	img, err := png.Decode(bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	require.InDelta(t, float64(figureWidth)*resolution/72, float64(img.Bounds().Dx()), 1)
	colours := map[[3]uint32]bool{}
	for y := 0; y < img.Bounds().Dy(); y += 3 {
		for x := 0; x < img.Bounds().Dx(); x += 3 {
			r, g, b, _ := img.At(x, y).RGBA()
			colours[[3]uint32{r >> 8, g >> 8, b >> 8}] = true
		}
	}
	require.True(t, colours[[3]uint32{uint32(targetFill.R), uint32(targetFill.G), uint32(targetFill.B)}], "areas")
	require.True(t, colours[[3]uint32{uint32(generated.R), uint32(generated.G), uint32(generated.B)}], "points")
}

func TestWrite(t *testing.T) {
	long.SkipShort(t)
	dir := filepath.Join(t.TempDir(), "figures")
	require.NoError(t, Write(dir, []figure.Figure{*example()}, Vector, Raster))
	require.FileExists(t, filepath.Join(dir, "example.png"))
	data, err := os.ReadFile(filepath.Join(dir, "example.svg"))
	require.NoError(t, err)
	require.Equal(t, svg(t, example()), string(data))
	require.Error(t, Write(filepath.Join(dir, "example.svg", "below"), []figure.Figure{*example()}, Vector))
}

// Whatever a run leaves can be drawn: no values, one value, equal values and
// values that a scale cannot show.
func TestDegenerate(t *testing.T) {
	long.SkipShort(t)
	for _, scale := range []figure.Scale{figure.Linear, figure.Log} {
		for _, values := range [][]float64{nil, {0}, {2}, {3, 3}, {-1, 0}, {math.NaN(), math.Inf(1)}, {1e-320, 1e308}, {-1e308, 1e308}} {
			f := &figure.Figure{Rows: []figure.Row{{}}}
			for _, mark := range []figure.Mark{figure.Line, figure.Area, figure.Bars, figure.Stairs, figure.Points, figure.Band} {
				f.Rows[0].Panels = append(f.Rows[0].Panels, figure.Panel{
					Y:      figure.Axis{Scale: scale},
					Layers: []figure.Layer{{Mark: mark, X: values, Y: values, Low: values, High: values}},
				})
			}
			require.NotRegexp(t, "NaN|Inf", svg(t, f), "%v %v", scale, values)
		}
	}
}

func TestTicks(t *testing.T) {
	labels := func(a figure.Axis, low, high float64) string {
		var all []string
		for _, tick := range (ticker{a}).Ticks(low, high) {
			if tick.Label != "" {
				all = append(all, tick.Label)
			}
		}
		return strings.Join(all, " ")
	}
	log := figure.Axis{Scale: figure.Log}
	require.Equal(t, "−1.0 −0.5 0 0.5 1.0", labels(figure.Axis{}, -1.2, 1.2))
	require.Equal(t, "0 0.05 0.10", labels(figure.Axis{}, 0, 0.147))
	require.Equal(t, []string{"1", "10^{−5}", "1.5·10^{−5}"}, []string{scientific(0.99999), scientific(9.99999e-6), scientific(1.5e-5)})
	require.Equal(t, "0 20000 40000 60000 80000 100000", labels(figure.Axis{}, 0, 1e5))
	require.Equal(t, "0 5·10^{5} 10^{6} 1.5·10^{6} 2·10^{6} 2.5·10^{6}", labels(figure.Axis{}, 0, 2.5e6))
	require.Equal(t, "0.002 0.005 0.01 0.02 0.05", labels(log, 0.0018, 0.06))
	require.Equal(t, "0.010 0.015 0.020 0.025", labels(log, 0.0098, 0.026))
	require.Equal(t, "10^{−4} 10^{−3} 10^{−2} 10^{−1} 1", labels(log, 5e-5, 1))
	require.Equal(t, "10^{−12} 10^{−9} 10^{−6} 10^{−3} 1", labels(log, 1e-13, 5))
}

func TestMarkup(t *testing.T) {
	require.Equal(t, []fragment{{"x", true, 0}, {"1", false, -1}, {" = 10", false, 0}, {"−3", false, 1}, {" and ", false, 0}, {"β", true, 0}},
		parse("*x*_{1} = 10^{−3} and *β*"))
	require.Equal(t, "a_b ^ c * d", plain("a_b ^ c * d"), "a mark without its end is text")
	require.Equal(t, "unfinished_{x", plain("unfinished_{x"))
}
