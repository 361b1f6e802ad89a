// Package figure describes pictures of a trained generator beside its target as plain data, not how
// they are drawn. Systems make figures (engine.Illustrator); package draw draws them.
//
// In labels, *…* sets italics for the symbols of variables, and _{…} and ^{…} set subscripts and
// superscripts.
package figure

import (
	"fmt"
	"math"
	"strconv"
)

// A Figure is one picture: rows of panels under a title and a legend.
type Figure struct {
	Name  string // of its files, without suffix
	Title string
	Rows  []Row
}

// A Row holds panels side by side.
type Row struct {
	Height float64 // relative to a row of height 1, which 0 stands for
	Panels []Panel
}

// A Panel is a pair of axes with layers of data, drawn in order.
type Panel struct {
	Title  string
	Width  float64 // relative to the other panels of its row; 0 stands for 1
	X, Y   Axis
	Layers []Layer
	// Joined says that the panel shares the vertical axis of the panel on its left, and draws none.
	Joined bool
	// Square makes a unit of X as long as a unit of Y.
	Square bool
}

// An Axis is the horizontal or vertical axis of a panel.
type Axis struct {
	Label    string
	Scale    Scale
	Min, Max float64   // both 0: the extent of the layers
	Ticks    []float64 // if not nil, the only marked values
}

// A Scale places values along an axis.
type Scale int

// The scales.
const (
	Linear Scale = iota
	Log
)

// A Mark is how a layer shows its data.
type Mark int

// The marks.
const (
	Line    Mark = iota // through the points (X, Y)
	Area                // between the line and 0, with an outline
	Bars                // from 0 to Y at X, Layer.Width wide
	Stairs              // constant Y around each X, which are evenly spaced
	Points              // at (X, Y), with a bar from Low to High if they are set
	Band                // between Low and High at X
	Level               // a dashed line across the panel at each Y
	Heat                // Grid as colours
	Contour             // Grid as lines at the levels Y
)

// A Role is what a layer shows. It decides the colour.
type Role int

// The roles. Series(i) returns further ones.
const (
	Target Role = iota
	Generated
	Reference // a level to compare with
	firstSeries
)

// Series returns the role of the i-th of several curves, counted from 0.
func Series(i int) Role { return firstSeries + Role(i) }

// Index returns i of Series(i), and -1 for the other roles.
func (r Role) Index() int { return max(-1, int(r-firstSeries)) }

// A Layer is a set of data, with how it is shown.
type Layer struct {
	Mark      Mark
	Role      Role
	Label     string // in the legend; empty for none
	X, Y      []float64
	Low, High []float64
	Width     float64 // of Bars, in units of X; a Band with a width has stairs for edges
	Grid      *Grid
}

// Samples returns a layer, still empty, for points estimated from n samples of the generator.
func Samples(n int) Layer {
	return Layer{Mark: Points, Role: Generated, Label: fmt.Sprintf("generated (%s samples)", Count(n))}
}

// Add appends the point (x, y) with its 95 % interval.
func (l *Layer) Add(x, y, standardError float64) {
	half := 1.96 * standardError
	l.X, l.Y, l.Low, l.High = append(l.X, x), append(l.Y, y), append(l.Low, y-half), append(l.High, y+half)
}

// AddFrequency appends the fraction p of n samples with its 95 % interval, whose lower end is at least
// p/10 so that a logarithmic axis can show it.
func (l *Layer) AddFrequency(x, p, n float64) {
	l.Add(x, p, math.Sqrt(p*(1-p)/n))
	low := &l.Low[len(l.Low)-1]
	*low = max(*low, p/10)
}

// A Grid is a function on the rectangle [X0, X1] × [Y0, Y1], given at the
// centres of NX × NY equal cells, X fastest.
type Grid struct {
	X0, X1, Y0, Y1 float64
	NX, NY         int
	Z              []float64
	Min, Max       float64 // values of the first and the last colour
	// States is the number of states if Z holds numbers of states 0, 1, …, each of which has a colour
	// of its own. It is 0 for other functions, whose colours are interpolated.
	States int
}

// X returns the centre of column i.
func (g *Grid) X(i int) float64 { return g.X0 + (g.X1-g.X0)*(float64(i)+0.5)/float64(g.NX) }

// Y returns the centre of row j.
func (g *Grid) Y(j int) float64 { return g.Y0 + (g.Y1-g.Y0)*(float64(j)+0.5)/float64(g.NY) }

// NewGrid evaluates f at the centres of the cells. The colours range from 0
// to the largest value.
func NewGrid(x0, x1, y0, y1 float64, nx, ny int, f func(x, y float64) float64) *Grid {
	g := &Grid{X0: x0, X1: x1, Y0: y0, Y1: y1, NX: nx, NY: ny, Z: make([]float64, nx*ny)}
	for j := range ny {
		for i := range nx {
			g.Z[j*nx+i] = f(g.X(i), g.Y(j))
			g.Max = math.Max(g.Max, g.Z[j*nx+i])
		}
	}
	return g
}

// ColourBar returns a narrow panel that explains the colours of a grid.
func ColourBar(g *Grid, label string) Panel {
	bar := NewGrid(0, 1, g.Min, g.Max, 1, 256, func(_, y float64) float64 { return y })
	bar.Min, bar.Max = g.Min, g.Max
	return Panel{
		Width:  0.08,
		X:      Axis{Min: 0, Max: 1, Ticks: []float64{}},
		Y:      Axis{Label: label, Min: g.Min, Max: g.Max},
		Layers: []Layer{{Mark: Heat, Grid: bar}},
	}
}

// A Histogram counts values in equal bins.
type Histogram struct {
	Low, Width float64
	Count      []float64
	Total      float64 // number of values, those outside the bins included
}

// NewHistogram returns an empty histogram of the given number of bins between
// low and high.
func NewHistogram(low, high float64, bins int) *Histogram {
	return &Histogram{Low: low, Width: (high - low) / float64(bins), Count: make([]float64, bins)}
}

// Add counts values.
func (h *Histogram) Add(values ...float64) {
	h.Total += float64(len(values))
	for _, x := range values {
		if i := math.Floor((x - h.Low) / h.Width); i >= 0 && i < float64(len(h.Count)) {
			h.Count[int(i)]++
		}
	}
}

// Density returns the bins' centres, the estimated densities there and their 95 % intervals.
func (h *Histogram) Density() (x, y, low, high []float64) {
	for i, n := range h.Count {
		p := n / h.Total
		half := 1.96 * math.Sqrt(p*(1-p)/h.Total)
		x = append(x, h.Low+(float64(i)+0.5)*h.Width)
		y = append(y, p/h.Width)
		low = append(low, math.Max(0, p-half)/h.Width)
		high = append(high, (p+half)/h.Width)
	}
	return x, y, low, high
}

// Sample evaluates f at n equally spaced points from a to b.
func Sample(a, b float64, n int, f func(float64) float64) (x, y []float64) {
	for i := range n {
		v := a + (b-a)*float64(i)/float64(n-1)
		x, y = append(x, v), append(y, f(v))
	}
	return x, y
}

// Count writes a number of samples with its digits in groups of three.
func Count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && len(s) > 4; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}
