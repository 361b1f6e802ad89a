package draw

import (
	"cmp"
	"math"
	"strings"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/revgen/revgen/internal/figure"
)

// A layout is a figure in which the sizes of titles and legends are known, and panels are plots
// without a place.
type layout struct {
	figure *figure.Figure
	height vg.Length
	title  []string  // its lines
	header vg.Length // height of title and legend
	legend [][]entry // its lines
	rows   [][]*plot.Plot
	text   markup
}

// An entry is one sample and label of the legend.
type entry struct {
	layer layer
	width vg.Length
}

func newLayout(f *figure.Figure) *layout {
	l := &layout{figure: f, text: markup{text.Plain{Fonts: plot.DefaultTextHandler.Cache()}}}
	l.collectLegend()
	l.title = l.lines(f.Title, titleSize, figureWidth-2*margin)
	l.header = margin + legendLine*vg.Length(len(l.legend)) + 4
	for _, line := range l.title {
		l.header += l.style(titleSize).Height(line) + 3
	}
	l.height = l.header
	for i := range f.Rows {
		var row []*plot.Plot
		for j := range f.Rows[i].Panels {
			row = append(row, l.newPlot(&f.Rows[i].Panels[j]))
		}
		l.rows = append(l.rows, row)
		l.height += rowHeight*vg.Length(cmp.Or(f.Rows[i].Height, 1)) + gap/2
	}
	l.height += margin / 2
	return l
}

// lines breaks a text between words into lines of no more than a width.
func (l *layout) lines(text string, size, width vg.Length) (lines []string) {
	style := l.style(size)
	for _, word := range strings.Fields(text) {
		if n := len(lines); n > 0 && style.Width(lines[n-1]+" "+word) <= width {
			lines[n-1] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}

// xLabelLines returns the lines of a horizontal axis' label. They are as wide as the figure, less 40
// points for the vertical axis.
func (l *layout) xLabelLines(label string) []string {
	return l.lines(label, labelSize, figureWidth-2*margin-40)
}

// maxColourBarWidth is the width below which a panel is a colour bar.
const maxColourBarWidth = 0.3

func (l *layout) style(size vg.Length) text.Style {
	return text.Style{
		Color: ink, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}, Handler: l.text,
	}
}

// collectLegend sets the legend: every label once, in lines that fit the figure's width.
func (l *layout) collectLegend() {
	listed := map[string]bool{}
	var line []entry
	var lineWidth vg.Length
	style := l.style(labelSize)
	for _, row := range l.figure.Rows {
		for _, p := range row.Panels {
			for i := range p.Layers {
				label := p.Layers[i].Label
				if label == "" || listed[label] {
					continue
				}
				listed[label] = true
				e := entry{layer{&p.Layers[i]}, thumbnail + 5 + style.Width(label) + 16}
				if len(line) > 0 && lineWidth+e.width > figureWidth-2*margin {
					l.legend = append(l.legend, line)
					line, lineWidth = nil, 0
				}
				line, lineWidth = append(line, e), lineWidth+e.width
			}
		}
	}
	if len(line) > 0 {
		l.legend = append(l.legend, line)
	}
}

// newPlot returns the axes and layers of a panel.
func (l *layout) newPlot(panel *figure.Panel) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.TextHandler = l.text
	p.Title.Text = panel.Title
	p.Title.TextStyle = l.style(labelSize)
	p.Title.TextStyle.XAlign, p.Title.TextStyle.YAlign = draw.XCenter, draw.YTop
	p.Title.Padding = 4
	layers := finiteLayers(panel.Layers)
	x, y := extents(panel, layers)
	l.axis(&p.X, &panel.X, x)
	l.axis(&p.Y, &panel.Y, y)
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = draw.XCenter, draw.YTop
	p.Y.Tick.Label.XAlign, p.Y.Tick.Label.YAlign = draw.XRight, draw.YCenter
	p.X.Padding, p.Y.Padding = 0, 0
	if panel.Joined {
		p.Y.Tick.Marker = plot.ConstantTicks(nil)
		p.Y.Width = 0
	}
	for i := range layers {
		p.Add(layer{&layers[i]})
	}
	return p
}

func (l *layout) axis(a *plot.Axis, axis *figure.Axis, data extent) {
	a.Tick.Label = l.style(tickSize)
	a.LineStyle = draw.LineStyle{Color: ink, Width: axisWidth}
	a.Tick.LineStyle, a.Tick.Length = a.LineStyle, tickLength
	a.Scale, a.Tick.Marker = normalizer{*axis}, ticker{*axis}
	a.Min, a.Max = axis.Min, axis.Max
	if axis.Min == 0 && axis.Max == 0 {
		a.Min, a.Max = widen(axis, data)
	}
}

// widen returns the range of an axis: the extent of the data and some padding, but none below data
// that begin at 0.
func widen(axis *figure.Axis, data extent) (low, high float64) {
	const padding = 0.06
	if !(data.low < data.high) {
		if math.IsInf(data.low, 0) {
			data.low, data.high = 1, 1
		}
		if axis.Scale == figure.Log {
			return data.low / 2, data.high * 2
		}
		return data.low - 1, data.high + 1
	}
	if axis.Scale == figure.Log {
		factor := math.Pow(data.high/data.low, padding)
		return data.low / factor, data.high * factor
	}
	extra := padding * (data.high - data.low)
	low, high = data.low-extra, data.high+extra
	if data.low == 0 {
		low = 0
	}
	return low, high
}

func (l *layout) draw(c draw.Canvas) {
	c.SetColor(white)
	c.Fill(c.Rectangle.Path())
	top := c.Max.Y - margin
	for _, line := range l.title {
		style := l.style(titleSize)
		style.Font.Weight = stdfont.WeightBold
		style.YAlign = draw.YTop
		c.FillText(style, vg.Point{X: c.Min.X + margin, Y: top}, line)
		top -= style.Height(line) + 3
	}
	for _, line := range l.legend {
		l.drawLegend(c, line, top)
		top -= legendLine
	}
	bottom := c.Max.Y - l.header
	var axesLeft vg.Length // the largest left inset of the first panels, whose axes stand in line
	for i, row := range l.rows {
		axesLeft = max(axesLeft, l.insetOf(row[0], &l.figure.Rows[i].Panels[0], c).left)
	}
	for i, row := range l.rows {
		height := vg.Length(cmp.Or(l.figure.Rows[i].Height, 1)) * rowHeight
		area := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: c.Min.X + margin, Y: bottom - height},
			Max: vg.Point{X: c.Max.X - margin, Y: bottom},
		}}
		l.drawRow(area, axesLeft, row, l.figure.Rows[i].Panels)
		bottom -= height + gap/2
	}
}

func (l *layout) drawLegend(c draw.Canvas, line []entry, top vg.Length) {
	x := c.Min.X + margin
	style := l.style(labelSize)
	style.YAlign = draw.YCenter
	for _, e := range line {
		sample := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: x, Y: top - legendLine/2 - 3.5}, Max: vg.Point{X: x + thumbnail, Y: top - legendLine/2 + 3.5},
		}}
		e.layer.drawThumbnail(sample)
		descent := style.FontExtents().Descent
		c.FillText(style, vg.Point{X: x + thumbnail + 5, Y: top - legendLine/2 + descent}, e.layer.Label)
		x += e.width
	}
}

// An inset is the space of a plot's axes and labels at the sides of its canvas.
type inset struct{ left, right, bottom, top vg.Length }

func (l *layout) insetOf(p *plot.Plot, panel *figure.Panel, c draw.Canvas) inset {
	d := p.DataCanvas(c)
	return inset{
		d.Min.X - c.Min.X + l.labelHeight(panel.Y.Label, panel.Joined), c.Max.X - d.Max.X,
		d.Min.Y - c.Min.Y + l.xLabelHeight(panel.X.Label), c.Max.Y - d.Max.Y,
	}
}

// labelHeight returns the height of an axis' label, 0 if it is empty or hidden. The plots have no
// labels of their own, because package plot puts those in the middle of a linear scale.
func (l *layout) labelHeight(label string, hidden bool) vg.Length {
	if label == "" || hidden {
		return 0
	}
	const padding = 2
	return l.style(labelSize).Height(label) + padding
}

func (l *layout) xLabelHeight(label string) (sum vg.Length) {
	for _, line := range l.xLabelLines(label) {
		sum += l.labelHeight(line, false)
	}
	return sum
}

// drawLabels writes the labels of the axes at the edges of a panel's canvas. data is the rectangle
// between the axes.
func (l *layout) drawLabels(c draw.Canvas, data vg.Rectangle, panel *figure.Panel) {
	style := l.style(labelSize)
	descent := style.FontExtents().Descent
	style.XAlign, style.YAlign = draw.XCenter, draw.YBottom
	lines := l.xLabelLines(panel.X.Label)
	for i, line := range lines {
		rise := vg.Length(len(lines)-1-i) * l.labelHeight(line, false)
		c.FillText(style, vg.Point{X: (data.Min.X + data.Max.X) / 2, Y: c.Min.Y + descent + rise}, line)
	}
	if !panel.Joined {
		height := style.Height(panel.Y.Label)
		style.Rotation = math.Pi / 2
		c.FillText(style, vg.Point{X: c.Min.X + height - descent, Y: (data.Min.Y + data.Max.Y) / 2}, panel.Y.Label)
	}
}

// drawRow draws the plots of a row side by side, with the horizontal axes on one line. The axes,
// without labels, have the relative widths of the panels; those of square panels have the width
// that their height asks for. The first ones begin at axesLeft.
func (l *layout) drawRow(c draw.Canvas, axesLeft vg.Length, row []*plot.Plot, panels []figure.Panel) {
	insets := make([]inset, len(row))
	c.Min.X += axesLeft - l.insetOf(row[0], &panels[0], c).left
	freeWidth, widths := c.Max.X-c.Min.X, 0.0
	var bottom, top vg.Length
	for i, p := range row {
		insets[i] = l.insetOf(p, &panels[i], c)
		freeWidth -= insets[i].left + insets[i].right + l.gapBefore(panels, i)
		bottom, top = max(bottom, insets[i].bottom), max(top, insets[i].top)
	}
	height := c.Max.Y - c.Min.Y - bottom - top // of the axes
	aspect, squares := make([]float64, len(row)), 0.0
	for i, p := range row {
		if panels[i].Square {
			aspect[i] = (p.X.Max - p.X.Min) / (p.Y.Max - p.Y.Min)
			squares += aspect[i]
		} else {
			widths += cmp.Or(panels[i].Width, 1)
		}
	}
	unit := freeWidth / vg.Length(math.Max(widths, 1e-9))
	if squares > 0 {
		// A width of 1 beside square panels is the height. If they do not fit, the row is lower.
		height = min(height, freeWidth/vg.Length(squares+widths))
		unit = height
		c.Min.Y = c.Max.Y - height - bottom - top
	}
	x := c.Min.X
	for i, p := range row {
		x += l.gapBefore(panels, i)
		width := unit * vg.Length(cmp.Or(panels[i].Width, 1))
		if panels[i].Square {
			width = height * vg.Length(aspect[i])
		}
		width += insets[i].left + insets[i].right
		area := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: x, Y: c.Min.Y + bottom - insets[i].bottom},
			Max: vg.Point{X: x + width, Y: c.Max.Y - top + insets[i].top},
		}}
		inner := draw.Crop(area, l.labelHeight(panels[i].Y.Label, panels[i].Joined), 0, l.xLabelHeight(panels[i].X.Label), 0)
		p.Draw(inner)
		l.drawLabels(area, p.DataCanvas(inner).Rectangle, &panels[i])
		x += width
	}
}

func (l *layout) gapBefore(panels []figure.Panel, i int) vg.Length {
	switch {
	case i == 0:
		return 0
	case panels[i].Joined:
		return joinedGap
	}
	return gap
}
