package graph

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/stat"
)

// A tally counts samples.
type tally struct {
	graph    *spins.Graph
	samples  int
	moments  [4]stat.Mean // of E, |m|, and their squared deviations from the reference's means
	overlap  stat.Mean    // of q²
	spins    []float64    // Σ s_i
	edges    []float64    // Σ s_i s_j
	energies []float64    // counts of the reference's bins
	overlaps []float64    // counts of overlapBins
	states   []float64    // counts of configurations, nil beyond maxListedSpins
	first    []uint64     // the first configurations
}

// Indices of the moments.
const (
	energy = iota
	absMagnetisation
	energySquare
	absSquare
)

// maxKept is the number of configurations that a tally keeps, by which measure.Averages estimates the
// law of a sum of dependent errors.
const maxKept = 256

// count adds the configurations of a batch.
func (t *tally) count(r *reference, batch []uint64) {
	g := t.graph
	words, n := g.Words(), float64(g.N())
	if room := maxKept - t.samples; room > 0 {
		t.first = append(t.first, batch[:min(room*words, len(batch))]...)
	}
	overlaps := overlapBins(g.N())
	rows := len(batch) / words
	for k := range rows {
		config := batch[k*words:][:words]
		e, abs := g.Energy(config), math.Abs(float64(g.Magnetisation(config)))/n
		for i, x := range [4]float64{energy: e, absMagnetisation: abs,
			energySquare: (e - r.Energy) * (e - r.Energy), absSquare: (abs - r.AbsMagnetisation) * (abs - r.AbsMagnetisation)} {
			t.moments[i].Add(x)
		}
		t.energies[r.energies.Of(e)]++
		if t.states != nil {
			t.states[config[0]]++
		}
		if k%2 == 1 {
			q := overlap(config, batch[(k-1)*words:][:words], g.N())
			t.overlap.Add(q * q)
			t.overlaps[overlaps.Of(q)]++
		}
	}
	t.samples += rows
	columns := make([]uint64, g.N())
	for ; len(batch) > 0; batch = batch[min(spins.Lanes*words, len(batch)):] {
		rows := min(spins.Lanes, len(batch)/words)
		bitspin.Columns(columns, batch[:rows*words], g.N(), 1)
		for i := range t.spins {
			t.spins[i] += float64(2*bits.OnesCount64(columns[i]) - rows)
		}
		for e, edge := range g.Edges() {
			t.edges[e] += float64(rows - 2*bits.OnesCount64(columns[edge.I]^columns[edge.J]))
		}
	}
}

// sample counts samples of the generator in the bins of the reference, which it also returns.
func (s *evaluator) sample(ctx context.Context, params []float32, samples int) (*reference, *tally, error) {
	r, err := s.reference(ctx)
	if err != nil {
		return nil, nil, err
	}
	t := &tally{
		graph: s.graph, spins: make([]float64, s.graph.N()), edges: make([]float64, len(s.graph.Edges())),
		energies: make([]float64, r.energies.N), overlaps: make([]float64, overlapBins(s.graph.N()).N),
	}
	if r.states != nil {
		t.states = make([]float64, len(r.states))
	}
	batchSamples := max(64, min(1<<15, 1<<20/s.graph.Words()))
	err = s.Measure(ctx, params, samples, 0, batchSamples, func(batch []uint64, _ []float64) { t.count(r, batch) })
	return r, t, err
}

// Evaluate draws samples and compares them with the reference:
//
//   - energy, specific_heat (β² Var E), abs_magnetisation (|m|) and susceptibility
//     (βn Var |m|), with m = Σ s_i/n; overlap_square, ⟨q²⟩ of two independent
//     configurations with q = Σ s_i s′_i/n;
//   - magnetisation and edge_correlation, the means of |Δ⟨s_i⟩| over spins and of
//     |Δ⟨s_i s_j⟩| over edges;
//   - energy_histogram and overlap_histogram, the total variation of the laws of E
//     and of q in bins; total_variation of the laws of configurations, of at most
//     20 spins.
//
// If the generator has a density, effective_sample_size, log_z and kl_by_density follow.
func (s *evaluator) Evaluate(ctx context.Context, params []float32, samples int) (*measure.Evaluation, error) {
	r, t, err := s.sample(ctx, params, samples)
	if err != nil {
		return nil, err
	}
	e := &measure.Evaluation{Samples: samples, Metrics: t.compare(r, s.config.Target.Beta), Warnings: slices.Clone(r.warnings)}
	if err := s.Reweigh(ctx, params, e, r.logZ, r.logZError, func(config []uint64) float64 {
		return math.Abs(float64(s.graph.Magnetisation(config))) / float64(s.graph.N())
	}); err != nil {
		return nil, err
	}
	if r.warnings != nil {
		e.Unsettle()
	}
	return e, nil
}

// LogZ returns the ln Z of the reference and its standard error, NaN where it is not known.
func (s *evaluator) LogZ(ctx context.Context) (value, standardError float64, err error) {
	r, err := s.reference(ctx)
	if err != nil {
		return 0, 0, err
	}
	return r.logZ, r.logZError, nil
}

// compare makes the rows of observables.
func (t *tally) compare(r *reference, beta float64) (rows []measure.Metric) {
	n := float64(t.graph.N())
	mean := func(name string, exact, uncertainty float64, generated *stat.Mean, scale, shift float64) {
		standardError := scale * generated.StandardError()
		relative := name != "abs_magnetisation" && name != "overlap_square" && math.Abs(exact) > 1e-9*scale*n
		rows = append(rows, measure.Average(name, measure.Estimate{Value: exact, Uncertainty: uncertainty},
			scale*generated.Value()-shift, standardError, stat.MeanAbsolute(standardError), relative))
	}
	// Var E = ⟨(E − c)²⟩ − (⟨E⟩ − c)², where c is the mean of the reference.
	energyError := t.moments[energy].Value() - r.Energy
	absError := t.moments[absMagnetisation].Value() - r.AbsMagnetisation
	mean("energy", r.Energy, r.uncertainty.energy, &t.moments[energy], 1, 0)
	mean("specific_heat", r.SpecificHeat, r.uncertainty.specificHeat, &t.moments[energySquare], beta*beta, beta*beta*energyError*energyError)
	mean("abs_magnetisation", r.AbsMagnetisation, r.uncertainty.absMagnetisation, &t.moments[absMagnetisation], 1, 0)
	mean("susceptibility", r.Susceptibility, r.uncertainty.susceptibility, &t.moments[absSquare], beta*n, beta*n*absError*absError)
	if t.samples >= 4 {
		mean("overlap_square", r.OverlapSquare, r.uncertainty.overlapSquare, &t.overlap, 1, 0)
	}
	rows = append(rows, t.averages("magnetisation", r.Magnetisations, t.spins, r.uncertainty.magnetisations, spins.Spin))
	if edges := t.graph.Edges(); len(edges) > 0 {
		rows = append(rows, t.averages("edge_correlation", r.EdgeCorrelations, t.edges, r.uncertainty.edgeCorrelations,
			func(config []uint64, e int) float64 {
				return spins.Spin(config, edges[e].I) * spins.Spin(config, edges[e].J)
			}))
	}
	if r.states != nil {
		law := lists.Map(r.states, func(p float64) measure.Estimate { return measure.Estimate{Value: p} })
		rows = append(rows, measure.Variation("total_variation", law, t.states))
	}
	rows = append(rows, measure.Variation("energy_histogram", r.energyLaw, t.energies))
	if r.overlapLaw != nil && t.samples >= 4 {
		rows = append(rows, measure.Variation("overlap_histogram", r.overlapLaw, t.overlaps))
	}
	return rows
}

// averages returns the row of the averages of functions of a configuration, whose variance is
// 1 − mean².
func (t *tally) averages(name string, exact, sums []float64, uncertainty float64, function func(config []uint64, i int) float64) measure.Metric {
	words := t.graph.Words()
	return measure.Averages(name, exact, sums, t.samples, uncertainty, func(mean float64) float64 { return 1 - mean*mean },
		len(t.first)/words, func(k, i int) float64 { return function(t.first[k*words:][:words], i) })
}
