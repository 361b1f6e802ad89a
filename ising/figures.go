package ising

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/lists"
)

// Figures shows the laws of magnetisation and energy, G(r), and the probabilities of the likeliest
// configurations, each beside the reference where that has it.
func (s *evaluator) Figures(ctx context.Context, params []float32, samples int) ([]figure.Figure, error) {
	generated, err := s.sample(ctx, params, samples)
	if err != nil {
		return nil, err
	}
	r, err := s.reference(ctx)
	if err != nil {
		return nil, err
	}
	return []figure.Figure{illustrate(s.target, r, generated, samples)}, nil
}

func illustrate(t Target, r *reference, generated *tally, samples int) figure.Figure {
	generated.joint.normalise()
	title := fmt.Sprintf("Ising model, *L* = %d, *β* = %g", t.L, t.Beta)
	if t.H != 0 {
		title += fmt.Sprintf(", *h* = %g", t.H)
	}
	n := float64(t.N)
	magnetisation := func(_, m int) float64 { return float64(m) / n }
	f := figure.Figure{Name: "distributions", Title: title, Rows: []figure.Row{{Panels: []figure.Panel{
		histogramPanel(r, generated.joint, samples, magnetisation,
			figure.Axis{Label: "magnetisation *m*"}, figure.Axis{Label: "probability *P*(*m*)"}),
		histogramPanel(r, generated.joint, samples, t.EnergyOf,
			figure.Axis{Label: "energy *E*"}, figure.Axis{Label: "*P*(*E*)"}),
	}}}}
	if r.correlation != nil {
		f.Rows = append(f.Rows, figure.Row{Panels: []figure.Panel{correlationPanel(r.correlation, generated, samples)}})
	}
	if r.states != nil {
		f.Rows = append(f.Rows, figure.Row{Height: 1.15, Panels: []figure.Panel{likeliestPanel(r.states, generated.states, samples)}})
	}
	return f
}

// marginals returns the values of a function of bond sum and magnetisation that occur in any of the
// laws, in order, and their probabilities in each.
func marginals(value func(bonds, magnetisation int) float64, laws ...*jointLaw) (values []float64, p [][]float64) {
	weights := make([]map[float64]float64, len(laws))
	for i, law := range laws {
		weights[i] = map[float64]float64{}
		law.each(func(b, m int, w float64) {
			v := value(b, m)
			weights[i][v] += w
			values = append(values, v)
		})
	}
	slices.Sort(values)
	values = slices.Compact(values)
	for _, weight := range weights {
		p = append(p, lists.Map(values, func(v float64) float64 { return weight[v] }))
	}
	return values, p
}

// histogramPanel shows the law of a quantity: of the reference as bars, if it has one, and of the
// samples as points with their 95 % intervals.
func histogramPanel(r *reference, generated *jointLaw, samples int, value func(bonds, magnetisation int) float64, x, y figure.Axis) figure.Panel {
	laws := []*jointLaw{generated}
	if r.joint != nil {
		laws = append(laws, r.joint)
	}
	values, p := marginals(value, laws...)
	spacing := math.Inf(1)
	for i := range len(values) - 1 {
		spacing = min(spacing, values[i+1]-values[i])
	}
	if math.IsInf(spacing, 0) {
		spacing = 1
	}
	panel := figure.Panel{X: x, Y: y}
	if r.joint != nil {
		panel.Layers = append(panel.Layers, figure.Layer{
			Mark: figure.Bars, Role: figure.Target, Label: r.label, X: values, Y: p[1], Width: 0.8 * spacing,
		})
	}
	points := figure.Samples(samples)
	for i, v := range values {
		if p[0][i] > 0 {
			points.AddFrequency(v, p[0][i], float64(samples))
		}
	}
	panel.Layers = append(panel.Layers, points)
	return panel
}

// correlationPanel shows G(r) of the reference as a line, in a band of its 95 % interval if it is
// not exact, and G(r) of the samples as points with their 95 % intervals.
func correlationPanel(reference []estimate, generated *tally, samples int) figure.Panel {
	n, distances := float64(samples), len(reference)
	line := figure.Layer{Mark: figure.Line, Role: figure.Target}
	band := figure.Layer{Mark: figure.Band, Role: figure.Target, Width: 1}
	points := figure.Layer{Mark: figure.Points, Role: figure.Generated}
	for r, e := range reference {
		x, g := float64(r+1), generated.correlation[r]/n
		line.X, line.Y = append(line.X, x), append(line.Y, e.Value)
		band.Add(x, e.Value, e.Uncertainty)
		points.Add(x, g, math.Sqrt(max(0, generated.products[r*distances+r]/n-g*g)/n))
	}
	layers := []figure.Layer{line, points}
	if reference[0].Uncertainty > 0 {
		layers = []figure.Layer{band, line, points}
	}
	return figure.Panel{
		X:      figure.Axis{Label: "distance *r* along an axis"},
		Y:      figure.Axis{Label: "two-point correlation *G*(*r*)"},
		Layers: layers,
	}
}

// shownStates is the number of configurations that likeliestPanel shows.
const shownStates = 100

// likeliestPanel shows the probabilities of the likeliest configurations in order:
// the exact ones as stairs, in a band that holds 95 % of the frequencies of
// exact samples, and the generated ones as points.
func likeliestPanel(exact, counts []float64, samples int) figure.Panel {
	order := lists.Range(0, len(exact))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(exact[b], exact[a]) })
	order = order[:min(shownStates, len(order))]

	n := float64(samples)
	band := figure.Layer{Mark: figure.Band, Role: figure.Target, Label: "95 % of exact samples", Width: 1}
	stairs := figure.Layer{Mark: figure.Stairs, Role: figure.Target, Label: "exact"}
	points := figure.Samples(samples)
	for rank, state := range order {
		x, p := float64(rank+1), exact[state]
		stairs.X, stairs.Y = append(stairs.X, x), append(stairs.Y, p)
		band.AddFrequency(x, p, n)
		if q := counts[state] / n; q > 0 {
			points.X, points.Y = append(points.X, x), append(points.Y, q)
		}
	}
	return figure.Panel{
		X:      figure.Axis{Label: fmt.Sprintf("the %d likeliest configurations *s*, in order of their exact probability", len(order)), Min: 0.5, Max: float64(len(order)) + 0.5, Ticks: []float64{1, 20, 40, 60, 80, 100}},
		Y:      figure.Axis{Label: "*P*(*s*)", Scale: figure.Log},
		Layers: []figure.Layer{band, stairs, points},
	}
}

var _ engine.Illustrator = (*evaluator)(nil)
