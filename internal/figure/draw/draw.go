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

// resolution of PNG files in dots per inch: a figure as wide as a page is sharp on a screen of high
// density.
const resolution = 220

// SVG writes a figure as a self-contained SVG document that follows the reader's colour scheme.
func SVG(w io.Writer, f *figure.Figure) error {
	l := newLayout(f)
	canvas := vgsvg.NewWith(vgsvg.UseWH(figureWidth, l.height))
	l.draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	// vgsvg calls its PNG images JPEG. They fill their rectangles, whatever the shape of a pixel.
	data := bytes.ReplaceAll(b.Bytes(), []byte("data:image/jpg;"), []byte("data:image/png;"))
	data = bytes.ReplaceAll(data, []byte("<image "), []byte(`<image preserveAspectRatio="none" `))
	end := bytes.Index(data, []byte("<svg"))
	end += bytes.IndexByte(data[end:], '>') + 1
	_, err := fmt.Fprintf(w, "%s\n<title>%s</title>\n<desc>%s</desc>\n<style>%s</style>%s",
		data[:end], html.EscapeString(plain(f.Title)), html.EscapeString(describeFigure(f)), darkStyle, data[end:])
	return err
}

// describeFigure says in words what the panels of a figure show: the axes and the ranges of the data.
// It is for readers who cannot see it and for searches, since the figure's text is outlines.
func describeFigure(f *figure.Figure) string {
	var sentences []string
	for _, row := range f.Rows {
		label := "values"
		for i := range row.Panels {
			if cmp.Or(row.Panels[i].Width, 1) < maxColourBarWidth {
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

// describePanel describes a panel. text begins as the label of the vertical axis.
func describePanel(p *figure.Panel, text string) string {
	layers := finiteLayers(p.Layers)
	var clauses []string
	xExtent := extent{math.Inf(1), math.Inf(-1)}
	for i := range layers {
		l, yExtent := &layers[i], extent{math.Inf(1), math.Inf(-1)}
		name := plain(cmp.Or(l.Label, [...]string{"target", "generated", "reference", "the curve"}[min(l.Role, figure.Series(0))]))
		values := slices.DeleteFunc(slices.Clone(l.Y), func(v float64) bool { return v-v != 0 })
		xExtent.extend(false, l.X...)
		yExtent.extend(false, values...)
		switch {
		case l.Mark == figure.Heat:
			clauses = append(clauses, fmt.Sprintf("%s as colours from %s to %s", name, shortNumber(l.Grid.Min), shortNumber(l.Grid.Max)))
		case len(values) == 0 || l.Mark == figure.Contour:
		case l.Mark == figure.Line && len(values) > 1:
			clauses = append(clauses, fmt.Sprintf("%s begins at %s and ends at %s, between %s and %s", name, shortNumber(values[0]), shortNumber(values[len(values)-1]), shortNumber(yExtent.low), shortNumber(yExtent.high)))
		case yExtent.low < yExtent.high:
			clauses = append(clauses, fmt.Sprintf("%s from %s to %s", name, shortNumber(yExtent.low), shortNumber(yExtent.high)))
		default:
			clauses = append(clauses, fmt.Sprintf("%s at %s", name, shortNumber(yExtent.low)))
		}
	}
	if len(clauses) == 0 {
		return ""
	}
	if p.X.Label != "" {
		text += " against " + plain(p.X.Label)
	}
	if p.Title != "" {
		text = plain(p.Title) + ", " + text
	}
	if xExtent.low < xExtent.high {
		text += fmt.Sprintf(" from %s to %s", shortNumber(xExtent.low), shortNumber(xExtent.high))
	}
	return text + ": " + strings.Join(clauses, "; ")
}

// shortNumber writes three digits.
func shortNumber(x float64) string { return fmt.Sprintf("%.3g", x) }

// PNG writes a figure as a PNG image.
func PNG(w io.Writer, f *figure.Figure) error {
	l := newLayout(f)
	canvas := vgimg.NewWith(vgimg.UseWH(figureWidth, l.height), vgimg.UseDPI(resolution), vgimg.UseBackgroundColor(color.White))
	l.draw(draw.New(canvas))
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// A Format is a file format of figures.
type Format struct {
	suffix string // of names
	write  func(w io.Writer, f *figure.Figure) error
}

// The formats.
var (
	Vector = Format{".svg", SVG}
	Raster = Format{".png", PNG}
)

// Write writes the figures to dir, which it makes if there is none, in each format. A file appears
// whole or not at all.
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
			disk.RemoveTemporary(dir, name)
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
