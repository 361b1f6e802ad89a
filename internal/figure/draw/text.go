package draw

import (
	"strings"

	stdfont "golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// markup is the text.Handler of the labels of package figure.
type markup struct{ text.Plain }

// A fragment is a piece of a line in one font.
type fragment struct {
	text   string
	italic bool
	shift  int // +1 superscript, −1 subscript
}

// Scripts are smaller and shifted by these multiples of the font's size.
const (
	scriptSize = 0.72
	scriptUp   = 0.36
	scriptDown = -0.16
)

// parse splits a line at its marks. A mark that is not closed is ordinary text.
func parse(line string) []fragment {
	var fragments []fragment
	add := func(s string, italic bool, shift int) {
		if s != "" {
			fragments = append(fragments, fragment{s, italic, shift})
		}
	}
	rest, italic := line, false
	for rest != "" {
		i := strings.IndexAny(rest, "*_^")
		if i < 0 {
			break
		}
		switch {
		case rest[i] == '*' && (italic || strings.Contains(rest[i+1:], "*")):
			add(rest[:i], italic, 0)
			italic = !italic
			rest = rest[i+1:]
		case rest[i] != '*' && strings.HasPrefix(rest[i+1:], "{") && strings.Contains(rest[i:], "}"):
			add(rest[:i], italic, 0)
			end := i + strings.Index(rest[i:], "}")
			shift := 1
			if rest[i] == '_' {
				shift = -1
			}
			add(rest[i+2:end], italic, shift)
			rest = rest[end+1:]
		default:
			add(rest[:i+1], italic, 0)
			rest = rest[i+1:]
		}
	}
	add(rest, italic, 0)
	return fragments
}

// plain returns a label without its marks.
func plain(label string) string {
	var b strings.Builder
	for _, f := range parse(label) {
		b.WriteString(f.text)
	}
	return b.String()
}

// face returns the font of a fragment in a line of font base, and how far it is raised.
func (f fragment) face(h text.Handler, base font.Font) (face font.Face, rise vg.Length) {
	if f.italic {
		base.Style = stdfont.StyleItalic
	}
	size := base.Size
	switch f.shift {
	case 1:
		size, rise = scriptSize*base.Size, scriptUp*base.Size
	case -1:
		size, rise = scriptSize*base.Size, scriptDown*base.Size
	}
	return h.Cache().Lookup(base, size), rise
}

// Box implements text.Handler.
func (m markup) Box(line string, base font.Font) (width, height, depth vg.Length) {
	for _, f := range parse(line) {
		face, _ := f.face(m, base)
		width += face.Width(f.text)
	}
	extents := m.Extents(base)
	return width, extents.Ascent, extents.Descent
}

// Draw implements text.Handler for single lines.
func (m markup) Draw(c vg.Canvas, line string, style text.Style, at vg.Point) {
	c.SetColor(style.Color)
	c.Push()
	defer c.Pop()
	c.Translate(at)
	c.Rotate(style.Rotation)
	x := vg.Length(style.XAlign) * style.Width(line)
	y := style.Height(line)*vg.Length(style.YAlign) - m.Extents(style.Font).Ascent + style.Font.Size
	var outlines vg.Path
	for _, f := range parse(line) {
		face, rise := f.face(m, style.Font)
		outlines = appendOutlines(outlines, face, vg.Point{X: x, Y: y + rise}, f.text)
		x += face.Width(f.text)
	}
	c.Fill(outlines)
}

// appendOutlines adds the outlines of a text that begins at a point of its
// baseline. Text is drawn as outlines so that a picture looks the same where
// its font is not installed.
func appendOutlines(path vg.Path, face font.Face, at vg.Point, s string) vg.Path {
	var buffer sfnt.Buffer
	units := fixed.Int26_6(face.Face.UnitsPerEm())
	scale := face.Font.Size / vg.Length(units)
	point := func(p fixed.Point26_6) vg.Point {
		return vg.Point{X: at.X + scale*vg.Length(p.X), Y: at.Y - scale*vg.Length(p.Y)}
	}
	for _, r := range s {
		glyph, err := face.Face.GlyphIndex(&buffer, r)
		if err != nil {
			continue
		}
		segments, err := face.Face.LoadGlyph(&buffer, glyph, units, nil)
		if err != nil {
			continue
		}
		open := false
		for _, segment := range segments {
			a := segment.Args
			switch segment.Op {
			case sfnt.SegmentOpMoveTo:
				if open {
					path.Close()
				}
				path.Move(point(a[0]))
				open = true
			case sfnt.SegmentOpLineTo:
				path.Line(point(a[0]))
			case sfnt.SegmentOpQuadTo:
				path.QuadTo(point(a[0]), point(a[1]))
			case sfnt.SegmentOpCubeTo:
				path.CubeTo(point(a[0]), point(a[1]), point(a[2]))
			}
		}
		if open {
			path.Close()
		}
		at.X += face.Width(string(r))
	}
	return path
}
