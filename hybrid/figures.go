package hybrid

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/lists"
)

// Sizes of the figure.
const (
	shownModes   = 3    // modes whose conditional law is shown
	wellBins     = 32   // bins of a panel of a conditional law
	marginalBins = 150  // bins of the marginal law
	curvePoints  = 201  // of a panel of a conditional law
	shownEnergy  = 3.5  // E at the ends of a conditional law's panel, where e^{−E} is 0.03
	minDensity   = 1e-4 // lower end of the marginal density's axis
)

// Figures shows the laws of x in each mode, about its wells, the law of x over
// all modes, and the modes' probabilities, each beside the target's.
func (s *system) Figures(ctx context.Context, params []float32, samples int) ([]figure.Figure, error) {
	drawn := s.NewStates(samples)
	if err := s.NewSampler(params).DrawAll(ctx, drawn, nil); err != nil {
		return nil, err
	}
	return []figure.Figure{illustrate(s.target, s.target.byMode(drawn.X, drawn.K), samples)}, nil
}

func illustrate(t *Target, byMode [][]float64, samples int) figure.Figure {
	f := figure.Figure{Name: "distributions", Title: fmt.Sprintf("Balanced double wells, %d modes", t.Modes())}
	var conditional []figure.Panel
	for mode := range min(shownModes, t.Modes()) {
		conditional = append(conditional, wellPanels(t.Well(mode), mode, byMode[mode], samples)...)
	}
	conditional[0].Y.Label = "*p*(*x* | *k*)"

	edge := t.edge()
	h := figure.NewHistogram(-edge, edge, marginalBins)
	for _, xs := range byMode {
		h.Add(xs...)
	}
	marginal := densityPanel(t.Density, -edge, edge, h, samples)
	marginal.Width = 3
	marginal.X.Label = "*x*, over all modes"
	marginal.Y = figure.Axis{Label: "*p*(*x*)", Scale: figure.Log, Min: minDensity, Max: 3 * t.peak()}
	f.Rows = []figure.Row{{Panels: conditional}, {Panels: []figure.Panel{marginal, modePanel(byMode, samples)}}}
	return f
}

// peak returns the largest maximum of p(x, k).
func (t *Target) peak() float64 {
	return slices.Max(lists.Map(t.wells, func(w *Well) float64 { return w.Density(math.Sqrt(w.mu)) / float64(len(t.wells)) }))
}

// wellPanels shows the law of x in a mode: in one panel, or in one for each minimum if
// hardly any weight lies between them.
func wellPanels(w *Well, mode int, xs []float64, samples int) []figure.Panel {
	high := math.Sqrt(w.mu + shownEnergy)
	if w.mu <= shownEnergy {
		p := wellPanel(w, -high, high, 2*wellBins, xs, samples)
		p.Title = fmt.Sprintf("*k* = %d, *μ* = %g", mode, w.mu)
		return []figure.Panel{p}
	}
	low := math.Sqrt(w.mu - shownEnergy)
	left, right := wellPanel(w, -high, -low, wellBins, xs, samples), wellPanel(w, low, high, wellBins, xs, samples)
	left.Title, right.Title = fmt.Sprintf("*k* = %d", mode), fmt.Sprintf("*μ* = %g", w.mu)
	left.Width, right.Width, right.Joined = 0.5, 0.5, true
	return []figure.Panel{left, right}
}

func wellPanel(w *Well, low, high float64, bins int, xs []float64, samples int) figure.Panel {
	h := figure.NewHistogram(low, high, bins)
	h.Add(xs...)
	p := densityPanel(w.Density, low, high, h, samples)
	p.X.Label = "*x*"
	p.Y.Min, p.Y.Max = 0, 1.15*w.Density(math.Sqrt(w.mu))
	if w.mu > shownEnergy {
		// The panel is narrow: one tick on either side of the minimum.
		minimum := math.Copysign(math.Round(10*math.Sqrt(w.mu))/10, low)
		if distance := math.Round(2.5*(high-low)) / 10; distance > 0 {
			p.X.Ticks = []float64{minimum - distance, minimum + distance}
		}
	}
	return p
}

// densityPanel shows a density as an area and a histogram as points. Empty bins
// are not shown.
func densityPanel(density func(float64) float64, low, high float64, h *figure.Histogram, samples int) figure.Panel {
	x, y := figure.Sample(low, high, 1+(curvePoints-1)*len(h.Count)/wellBins, density)
	points := figure.Samples(samples)
	points.X, points.Y, points.Low, points.High = h.Density()
	for i, v := range points.Y {
		if v == 0 {
			points.Y[i] = math.NaN()
		}
	}
	return figure.Panel{
		X: figure.Axis{Min: low, Max: high},
		Layers: []figure.Layer{
			{Mark: figure.Area, Role: figure.Target, Label: "target", X: x, Y: y},
			points,
		},
	}
}

// modePanel shows the modes' probabilities.
func modePanel(byMode [][]float64, samples int) figure.Panel {
	bars := figure.Layer{Mark: figure.Bars, Role: figure.Target, Label: "target", Width: 0.7}
	points := figure.Samples(samples)
	var ticks []float64
	for mode, xs := range byMode {
		p := float64(len(xs)) / float64(samples)
		k := float64(mode)
		bars.X, bars.Y = append(bars.X, k), append(bars.Y, 1/float64(len(byMode)))
		points.Add(k, p, math.Sqrt(p*(1-p)/float64(samples)))
		ticks = append(ticks, k)
	}
	if len(ticks) > 8 {
		ticks = nil
	}
	return figure.Panel{
		X:      figure.Axis{Label: "mode *k*", Ticks: ticks},
		Y:      figure.Axis{Label: "*P*(*k*)"},
		Layers: []figure.Layer{bars, points},
	}
}

var _ engine.Illustrator = (*system)(nil)
