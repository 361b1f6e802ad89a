// Package draw draws figures as SVG and PNG. The same figure gives the same
// bytes.
package draw

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"io"
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

// SVG writes a figure as a self-contained SVG document.
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
	_, err := fmt.Fprintf(w, "%s\n<title>%s</title>\n<desc>%s</desc>%s",
		data[:end], html.EscapeString(plain(f.Title)), html.EscapeString(describe(f)), data[end:])
	return err
}

// describe lists what is written in a figure, for those who cannot see it and
// for searches, because its text is drawn as outlines.
func describe(f *figure.Figure) string {
	var words []string
	add := func(label string) {
		if label = plain(label); label != "" && !slices.Contains(words, label) {
			words = append(words, label)
		}
	}
	for _, row := range f.Rows {
		for _, p := range row.Panels {
			add(p.Title)
			add(p.X.Label)
			add(p.Y.Label)
			for _, l := range p.Layers {
				add(l.Label)
			}
		}
	}
	return strings.Join(words, "; ")
}

// PNG writes a figure as a PNG image.
func PNG(w io.Writer, f *figure.Figure) error {
	l := newLayout(f)
	canvas := vgimg.NewWith(vgimg.UseWH(figureWidth, l.height), vgimg.UseDPI(resolution), vgimg.UseBackgroundColor(color.White))
	l.draw(draw.New(canvas))
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// Write writes the figures to dir, made if need be, as NAME.svg and NAME.png,
// and returns the names of the files. A file appears whole or not at all.
func Write(dir string, figures []figure.Figure) ([]string, error) {
	if len(figures) == 0 {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var names []string
	for i := range figures {
		for _, format := range []struct {
			extension string
			write     func(io.Writer, *figure.Figure) error
		}{{".svg", SVG}, {".png", PNG}} {
			var b bytes.Buffer
			if err := format.write(&b, &figures[i]); err != nil {
				return names, fmt.Errorf("figure %s: %w", figures[i].Name, err)
			}
			name := figures[i].Name + format.extension
			disk.Sweep(dir, name)
			if err := disk.Write(filepath.Join(dir, name), b.Bytes()); err != nil {
				return names, err
			}
			names = append(names, name)
		}
	}
	return names, nil
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
