package draw

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot/palette"

	"github.com/revgen/revgen/internal/figure"
)

// The colours can be told apart with every kind of colour vision: lines have those of Okabe and Ito,
// grids ColorBrewer's YlGnBu.
var (
	white       = color.NRGBA{0xff, 0xff, 0xff, 0xff}
	ink         = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	grey        = color.NRGBA{0x77, 0x77, 0x77, 0xff}
	targetLine  = color.NRGBA{0x2b, 0x6c, 0xa3, 0xff}
	targetFill  = color.NRGBA{0xc3, 0xda, 0xec, 0xff}
	generated   = color.NRGBA{0xd5, 0x5e, 0x00, 0xff}
	seriesLines = []color.NRGBA{
		{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff},
		{0xcc, 0x79, 0xa7, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x22, 0x22, 0x22, 0xff},
	}
	sequential = []color.NRGBA{
		{0xff, 0xff, 0xff, 0xff}, {0xed, 0xf8, 0xd9, 0xff}, {0xc7, 0xe9, 0xb4, 0xff}, {0x7f, 0xcd, 0xbb, 0xff}, {0x41, 0xb6, 0xc4, 0xff},
		{0x1d, 0x91, 0xc0, 0xff}, {0x22, 0x5e, 0xa8, 0xff}, {0x25, 0x34, 0x94, 0xff}, {0x08, 0x1d, 0x58, 0xff},
	}
)

// darkLine maps a colour of lines to the one that takes its place on a dark background.
var darkLine = map[color.NRGBA]color.NRGBA{
	ink: {0xe4, 0xe7, 0xeb, 0xff}, grey: {0x9a, 0xa4, 0xb1, 0xff}, targetLine: {0x6f, 0xb1, 0xe6, 0xff}, generated: {0xff, 0x8a, 0x3d, 0xff},
	seriesLines[0]: {0x3f, 0xa6, 0xe8, 0xff}, seriesLines[2]: {0x2f, 0xc7, 0x9b, 0xff}, seriesLines[3]: {0xe6, 0x9c, 0xc8, 0xff},
	seriesLines[4]: {0xf2, 0xb8, 0x33, 0xff}, seriesLines[5]: {0x8f, 0xd0, 0xf7, 0xff},
}

// darkGround is the background of the cards of internal/htmlpage.
var darkGround = color.NRGBA{0x1d, 0x21, 0x27, 0xff}

// darkStyle holds the style rules of an SVG document for readers with a dark colour scheme. The
// colours of grids are inverted, and keep their hues. Viewers without such rules show the colours
// in the document.
var darkStyle = func() string {
	var rules strings.Builder
	rules.WriteString("@media (prefers-color-scheme: dark){image{filter:invert(.88) hue-rotate(180deg)}")
	hex := func(c color.Color) string { // as vgsvg writes them
		r, g, b, a := c.RGBA()
		return fmt.Sprintf("#%02X%02X%02X", r*255/a, g*255/a, b*255/a)
	}
	rule := func(light, dark color.NRGBA) {
		for _, part := range []string{"fill", "stroke"} {
			fmt.Fprintf(&rules, `[style*="%[1]s:%[2]s"]{%[1]s:%[3]s!important}`, part, hex(light), hex(dark))
		}
	}
	rule(white, darkGround)
	roles := []figure.Role{figure.Target, figure.Generated, figure.Reference}
	for i := range seriesLines {
		roles = append(roles, figure.Series(i))
	}
	rule(ink, darkLine[ink])
	for _, r := range roles {
		line := lineColour(r)
		rule(line, darkLine[line])
		rule(bandColour(r), darkLine[line])
		rule(fillColour(r), mix(darkGround, darkLine[line], 0.35))
	}
	return rules.String() + "}"
}()

// lineColour returns the colour of lines and points of a role.
func lineColour(r figure.Role) color.NRGBA {
	switch r {
	case figure.Target:
		return targetLine
	case figure.Generated:
		return generated
	case figure.Reference:
		return grey
	}
	return seriesLines[r.Index()%len(seriesLines)]
}

// fillColour returns the colour of areas of a role.
func fillColour(r figure.Role) color.NRGBA {
	if r == figure.Target {
		return targetFill
	}
	return mix(white, lineColour(r), 0.25)
}

// bandColour returns the colour of bands of a role, which is transparent since bands may overlap.
func bandColour(r figure.Role) color.NRGBA {
	c := lineColour(r)
	c.A = 0x40
	return c
}

// mix returns the opaque colour at t between a and b.
func mix(a, b color.NRGBA, t float64) color.NRGBA {
	c := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + t*(float64(y)-float64(x)))) }
	return color.NRGBA{c(a.R, b.R), c(a.G, b.G), c(a.B, b.B), 0xff}
}

// gridColour returns the colour of a value of a grid.
func gridColour(g *figure.Grid, z float64) color.NRGBA {
	switch {
	case g.States > len(seriesLines):
		return color.NRGBAModel.Convert(palette.Rainbow(g.States, 0, 1-palette.Hue(1/float64(g.States)), 0.7, 0.85, 1).Colors()[int(z)]).(color.NRGBA)
	case g.States > 0:
		return seriesLines[int(z)]
	}
	t := (z - g.Min) / (g.Max - g.Min)
	if !(t > 0) {
		t = 0
	}
	t = math.Min(t, 1) * float64(len(sequential)-1)
	i := min(int(t), len(sequential)-2)
	return mix(sequential[i], sequential[i+1], t-float64(i))
}
