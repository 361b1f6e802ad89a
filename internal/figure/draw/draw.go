// Package draw draws figures as SVG and PNG. The same figure gives the same
// bytes.
package draw

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/figure"
)

// resolution of PNG files in dots per inch, such that a figure is sharp at the
// width of a page on a screen of high density.
const resolution = 220

// SVG writes a figure as a self-contained SVG document, which follows the colour scheme of
// the reader.
func SVG(w io.Writer, f *figure.Figure) error {
	l := newLayout(f)
	canvas := vgsvg.NewWith(vgsvg.UseWH(figureWidth, l.height))
	l.draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	// Images are PNG, and fill their rectangles whatever their pixels' shape.
	data := bytes.ReplaceAll(b.Bytes(), []byte("data:image/jpg;"), []byte("data:image/png;"))
	data = bytes.ReplaceAll(data, []byte("<image "), []byte(`<image preserveAspectRatio="none" `))
	end := bytes.Index(data, []byte("<svg"))
	end += bytes.IndexByte(data[end:], '>') + 1
	_, err := fmt.Fprintf(w, "%s\n<title>%s</title>\n<desc>%s</desc>\n<style>%s</style>%s",
		data[:end], html.EscapeString(plain(f.Title)), html.EscapeString(describe(f)), inTheDark, data[end:])
	return err
}

// describe says what is seen in a figure, for those who cannot see it and for searches,
// because its text is drawn as outlines: of each panel the axes, and how far its data reach.
func describe(f *figure.Figure) string {
	var sentences []string
	for _, row := range f.Rows {
		label := "values"
		for i := range row.Panels {
			if cmp.Or(row.Panels[i].Width, 1) < explains {
				continue
			}
			label = cmp.Or(row.Panels[i].Y.Label, label)
			if s := describePanel(&row.Panels[i], plain(label)); s != "" {
				sentences = append(sentences, s+".")
			}
		}
	}
	return strings.Join(sentences, " ")
}

func describePanel(p *figure.Panel, axes string) string {
	layers := finite(p.Layers)
	var seen []string
	x := extent{math.Inf(1), math.Inf(-1)}
	for i := range layers {
		l, y := &layers[i], extent{math.Inf(1), math.Inf(-1)}
		name := plain(cmp.Or(l.Label, [...]string{"target", "generated", "reference"}[min(l.Role, figure.Reference)]))
		if l.Label == "" && l.Role > figure.Reference {
			name = "the curve"
		}
		values := slices.DeleteFunc(slices.Clone(l.Y), func(v float64) bool { return v-v != 0 })
		x.add(false, l.X...)
		y.add(false, values...)
		switch {
		case l.Mark == figure.Heat:
			seen = append(seen, fmt.Sprintf("%s as colours from %s to %s", name, short(l.Grid.Min), short(l.Grid.Max)))
		case len(values) == 0 || l.Mark == figure.Contour:
		case l.Mark == figure.Line && len(values) > 1:
			seen = append(seen, fmt.Sprintf("%s begins at %s and ends at %s, between %s and %s", name, short(values[0]), short(values[len(values)-1]), short(y.low), short(y.high)))
		case y.low < y.high:
			seen = append(seen, fmt.Sprintf("%s from %s to %s", name, short(y.low), short(y.high)))
		default:
			seen = append(seen, fmt.Sprintf("%s at %s", name, short(y.low)))
		}
	}
	if len(seen) == 0 {
		return ""
	}
	if p.X.Label != "" {
		axes += " against " + plain(p.X.Label)
	}
	if p.Title != "" {
		axes = plain(p.Title) + ", " + axes
	}
	if x.low < x.high {
		axes += fmt.Sprintf(" from %s to %s", short(x.low), short(x.high))
	}
	return axes + ": " + strings.Join(seen, "; ")
}

func short(x float64) string { return fmt.Sprintf("%.3g", x) }

// PNG writes a figure as a PNG image.
func PNG(w io.Writer, f *figure.Figure) error {
	l := newLayout(f)
	canvas := vgimg.NewWith(vgimg.UseWH(figureWidth, l.height), vgimg.UseDPI(resolution), vgimg.UseBackgroundColor(color.White))
	l.draw(draw.New(canvas))
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// A Format is a kind of file.
type Format struct {
	suffix string // of names
	write  func(w io.Writer, f *figure.Figure) error
}

// The formats.
var (
	Vector = Format{".svg", SVG}
	Raster = Format{".png", PNG}
)

// Write writes the figures to dir, made if need be, in each format. A file appears whole or
// not at all.
func Write(dir string, figures []figure.Figure, formats ...Format) error {
	if len(figures) == 0 {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range figures {
		for _, format := range formats {
			var b bytes.Buffer
			if err := format.write(&b, &figures[i]); err != nil {
				return fmt.Errorf("figure %s: %w", figures[i].Name, err)
			}
			name := figures[i].Name + format.suffix
			disk.Sweep(dir, name)
			if err := disk.Write(filepath.Join(dir, name), b.Bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Sizes in points.
const (
	figureWidth  = 560
	rowHeight    = 172 // of the axes and their labels
	margin       = 8
	gap          = 16 // between panels
	joinedGap    = 7
	titleSize    = vg.Length(12)
	labelSize    = vg.Length(10.5)
	tickSize     = vg.Length(9.5)
	thumbnail    = vg.Length(18)
	legendLine   = vg.Length(15)
	tickLength   = vg.Length(3)
	axisWidth    = vg.Length(0.6)
	curveWidth   = vg.Length(1.3)
	pointRadius  = vg.Length(1.9)
	intervalLine = vg.Length(0.8)
)
