package potts

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/stat"
)

// maxKept is the number of configurations that a tally keeps, by which measure.Averages estimates the
// law of a sum of dependent errors.
const maxKept = 256

// A tally counts samples.
type tally struct {
	*observables
	groupSums
	samples  int
	energies []float64 // counts of the reference's bins
	orders   []float64 // counts of the reference's bins
	states   []float64 // counts of configurations, nil if these are too many
	first    []byte    // the first configurations
}

// sample counts samples of the generator in the bins of the reference, which it also returns.
func (s *evaluator) sample(ctx context.Context, params []float32, samples int) (*reference, *tally, error) {
	r, err := s.reference(ctx)
	if err != nil {
		return nil, nil, err
	}
	t := &tally{observables: s.observables, groupSums: *s.observables.newSums(), energies: make([]float64, r.energies.N), orders: make([]float64, r.orders.N)}
	if r.states != nil {
		t.states = make([]float64, len(r.states))
	}
	n := s.law.N()
	err = s.Measure(ctx, params, samples, 0, max(64, min(1<<15, 1<<22/n)), func(batch []byte, _ []float64) {
		if room := maxKept*n - len(t.first); room > 0 {
			t.first = append(t.first, batch[:min(room, len(batch))]...)
		}
		for ; len(batch) > 0; batch = batch[n:] {
			x := batch[:n]
			t.add(t.observables, x, 1)
			k := len(t.values[energy]) - 1
			t.energies[r.energies.Of(t.values[energy][k])]++
			t.orders[r.orders.Of(t.values[order][k])]++
			if t.states != nil {
				t.states[s.law.Number(x)]++
			}
			t.samples++
		}
	})
	return r, t, err
}

// Evaluate draws samples and compares them with the reference:
//
//   - energy, specific_heat (β² Var E), order and susceptibility (βn Var of the order parameter);
//   - marginal and pair_agreement, the means of |Δ⟨δ(s_i, c)⟩| over sites and states, and of
//     |Δ⟨δ(s_i, s_j)⟩| over pairs;
//   - energy_histogram and order_histogram, the total variation of the laws in bins, and
//     total_variation, that of the laws of configurations, if these are few;
//   - effective_sample_size, log_z and kl_by_density, if the generator has a density.
func (s *evaluator) Evaluate(ctx context.Context, params []float32, samples int) (*measure.Evaluation, error) {
	r, t, err := s.sample(ctx, params, samples)
	if err != nil {
		return nil, err
	}
	e := &measure.Evaluation{Samples: samples, Metrics: t.compare(r, s.law.Beta), Warnings: slices.Clone(r.warnings)}
	if err := s.Reweigh(ctx, params, e, r.logZ, r.logZError, t.order); err != nil {
		return nil, err
	}
	if r.warnings != nil {
		e.Unsettle()
	}
	return e, nil
}

// compare makes the rows of observables.
func (t *tally) compare(r *reference, beta float64) (rows []measure.Metric) {
	n := float64(t.law.N())
	mean := func(name string, exact measure.Estimate, generated *stat.Mean, scale float64, relative bool) {
		exact.Value, exact.Uncertainty = scale*exact.Value, scale*exact.Uncertainty
		standardError := scale * generated.StandardError()
		rows = append(rows, measure.Average(name, exact, scale*generated.Value(), standardError, stat.MeanAbsolute(standardError),
			relative && math.Abs(exact.Value) > 1e-9*scale*n))
	}
	for k, name := range [moments][2]string{{"energy", "specific_heat"}, {"order", "susceptibility"}} {
		average, spread := stat.MeanOf(t.values[k]), stat.Mean{}
		for _, x := range t.values[k] {
			spread.Add((x - average.Value()) * (x - average.Value()))
		}
		scale := [moments]float64{beta * beta, beta * n}[k]
		mean(name[0], r.means[k], &average, 1, k == energy)
		mean(name[1], r.variances[k], &spread, scale, true)
	}
	sites := t.law.N()
	variance := func(p float64) float64 { return p * (1 - p) }
	ofKept := func(value func(s []byte, k int) float64) func(sample, i int) float64 {
		return func(sample, i int) float64 { return value(t.first[sample*sites:][:sites], i) }
	}
	kept := len(t.first) / sites
	rows = append(rows, measure.Averages("marginal", r.marginals, t.marginals, t.samples, r.marginalsError, variance, kept, ofKept(t.occupied)))
	if len(t.observables.pairs) > 0 {
		rows = append(rows, measure.Averages("pair_agreement", r.pairs, t.groupSums.pairs, t.samples, r.pairsError, variance, kept, ofKept(t.equal)))
	}
	if r.states != nil {
		law := lists.Map(r.states, func(p float64) measure.Estimate { return measure.Estimate{Value: p} })
		rows = append(rows, measure.Variation("total_variation", law, t.states))
	}
	return append(rows, measure.Variation("energy_histogram", r.energyLaw, t.energies), measure.Variation("order_histogram", r.orderLaw, t.orders))
}

// Figures shows the laws of the energy and of the order parameter beside those of the
// reference, and some configurations of a lattice.
func (s *evaluator) Figures(ctx context.Context, params []float32, samples int) ([]figure.Figure, error) {
	r, t, err := s.sample(ctx, params, samples)
	if err != nil {
		return nil, err
	}
	c, generated := &s.config.Target, figure.Samples(samples).Label
	panels := []figure.Panel{
		r.energies.Panel(r.energyLaw, t.energies, r.label, generated, "energy *E*", "probability of a bin"),
		r.orders.Panel(r.orderLaw, t.orders, r.label, generated, "order parameter", ""),
	}
	f := figure.Figure{Name: "distributions", Title: fmt.Sprintf("%s of %d states, %d sites, *β* = %.4g", c.Model, c.Q, s.law.N(), c.Beta), Rows: []figure.Row{{Panels: panels}}}
	if c.L >= 4 {
		var shown []figure.Panel
		for k := range min(4, t.samples) {
			x := t.first[k*s.law.N():][:s.law.N()]
			l := float64(c.L)
			grid := figure.NewGrid(0, l, 0, l, c.L, c.L, func(column, row float64) float64 {
				return float64(x[int(row)*c.L+int(column)])
			})
			grid.States, grid.Max = c.Q, float64(c.Q-1)
			bare := figure.Axis{Max: l, Ticks: []float64{}}
			shown = append(shown, figure.Panel{Square: true, X: bare, Y: bare, Layers: []figure.Layer{{Mark: figure.Heat, Role: figure.Generated, Grid: grid}}})
		}
		f.Rows = append(f.Rows, figure.Row{Panels: shown})
	}
	return []figure.Figure{f}, nil
}

var _ engine.Illustrator = (*evaluator)(nil)
