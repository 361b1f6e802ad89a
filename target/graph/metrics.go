package graph

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/spins"
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
	energies []float64    // counts of bins
	overlaps []float64
	states   []float64 // counts of configurations, nil beyond countable spins
	first    []uint64  // the first configurations
}

// Indices of the moments.
const (
	energy = iota
	absMagnetisation
	energySquare
	absSquare
)

// kept is how many configurations a tally keeps, to tell the law of sums of errors
// that depend on each other.
const kept = 256

// count adds the configurations of a batch.
func (t *tally) count(r *reference, batch []uint64) {
	g := t.graph
	words, n := g.Words(), float64(g.N())
	if room := kept - t.samples; room > 0 {
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
		t.energies[r.energies.of(e)]++
		if t.states != nil {
			t.states[config[0]]++
		}
		if k%2 == 1 {
			q := overlap(config, batch[(k-1)*words:][:words], g.N())
			t.overlap.Add(q * q)
			t.overlaps[overlaps.of(q)]++
		}
	}
	t.samples += rows
	columns := make([]uint64, g.N())
	for ; len(batch) > 0; batch = batch[min(spins.Lanes*words, len(batch)):] {
		rows := min(spins.Lanes, len(batch)/words)
		spins.Columns(columns, batch[:rows*words], g.N())
		for i := range t.spins {
			t.spins[i] += float64(2*bits.OnesCount64(columns[i]) - rows)
		}
		for e, edge := range g.Edges() {
			t.edges[e] += float64(rows - 2*bits.OnesCount64(columns[edge.I]^columns[edge.J]))
		}
	}
}

// sample counts samples of the generator.
func (s *measured) sample(ctx context.Context, r *reference, params []float32, samples int) (*tally, error) {
	t := &tally{
		graph: s.graph, spins: make([]float64, s.graph.N()), edges: make([]float64, len(s.graph.Edges())),
		energies: make([]float64, r.energies.n), overlaps: make([]float64, overlapBins(s.graph.N()).n),
	}
	if r.states != nil {
		t.states = make([]float64, len(r.states))
	}
	atOnce := max(64, min(1<<15, 1<<20/s.graph.Words()))
	err := s.Measure(ctx, params, samples, 0, atOnce, func(batch []uint64) { t.count(r, batch) })
	return t, err
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
func (s *measured) Evaluate(ctx context.Context, params []float32, samples int) (*measure.Evaluation, error) {
	r, err := s.reference(ctx)
	if err != nil {
		return nil, err
	}
	t, err := s.sample(ctx, r, params, samples)
	if err != nil {
		return nil, err
	}
	return &measure.Evaluation{Samples: samples, Metrics: t.compare(r, s.config.Target.Beta), Warnings: slices.Clone(r.warnings)}, nil
}

// Evaluate adds to the table of any generator what its density says.
func (s *hierarchical) Evaluate(ctx context.Context, params []float32, samples int) (*measure.Evaluation, error) {
	out, err := s.measured.Evaluate(ctx, params, samples)
	if err != nil {
		return nil, err
	}
	r, err := s.reference(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.Reweigh(ctx, params, out, r.logZ); err != nil {
		return nil, err
	}
	for i := range out.Metrics {
		if m := &out.Metrics[i]; m.Name == "log_z" || m.Name == "kl_by_density" {
			m.Uncertainty = r.logZError
		}
		// Whether weights still mend the samples.
		if m := out.Metrics[i]; m.Name == "effective_sample_size" && m.Generated < 0.5 && m.Generated*float64(samples) >= 100 {
			out.Warnings = append(out.Warnings, fmt.Sprintf("the effective sample size is %.3g of the samples: use their weights (sample --format weighted)", m.Generated))
		}
	}
	return out, nil
}

// LogZ returns the ln Z of the reference and its standard error, NaN where it is not known.
func (s *measured) LogZ(ctx context.Context) (value, standardError float64, err error) {
	r, err := s.reference(ctx)
	if err != nil {
		return 0, 0, err
	}
	return r.logZ, r.logZError, nil
}

// compare makes the rows of observables.
func (t *tally) compare(r *reference, beta float64) (rows []measure.Metric) {
	n := float64(t.graph.N())
	mean := func(name string, exact, uncertainty float64, of *stat.Mean, scale, shift float64) {
		m := measure.Metric{
			Name: name, Exact: exact, Generated: scale*of.Value() - shift, Uncertainty: uncertainty,
			Interval: stat.Interval(scale*of.Value()-shift, scale*of.StandardError()),
		}
		m.Error = math.Abs(m.Generated - m.Exact)
		floor := stat.MeanAbsolute(scale * of.StandardError())
		if name != "abs_magnetisation" && name != "overlap_square" && math.Abs(exact) > 1e-9*scale*n {
			m.Relative = true
			m.Error /= math.Abs(exact)
			m.Uncertainty /= math.Abs(exact)
			floor /= math.Abs(exact)
		}
		rows = append(rows, m.Judged(floor, nil))
	}
	// Var E is E(E − c)² less the square of the mean's distance from c.
	off := t.moments[energy].Value() - r.Energy
	absOff := t.moments[absMagnetisation].Value() - r.AbsMagnetisation
	mean("energy", r.Energy, r.uncertainty.energy, &t.moments[energy], 1, 0)
	mean("specific_heat", r.SpecificHeat, r.uncertainty.specificHeat, &t.moments[energySquare], beta*beta, beta*beta*off*off)
	mean("abs_magnetisation", r.AbsMagnetisation, r.uncertainty.absMagnetisation, &t.moments[absMagnetisation], 1, 0)
	mean("susceptibility", r.Susceptibility, r.uncertainty.susceptibility, &t.moments[absSquare], beta*n, beta*n*absOff*absOff)
	if t.samples >= 4 {
		mean("overlap_square", r.OverlapSquare, r.uncertainty.overlapSquare, &t.overlap, 1, 0)
	}
	rows = append(rows, t.means("magnetisation", r.Magnetisations, t.spins, r.uncertainty.magnetisations, spins.Spin))
	if edges := t.graph.Edges(); len(edges) > 0 {
		rows = append(rows, t.means("edge_correlation", r.EdgeCorrelations, t.edges, r.uncertainty.edgeCorrelations,
			func(config []uint64, e int) float64 {
				return spins.Spin(config, edges[e].I) * spins.Spin(config, edges[e].J)
			}))
	}
	if r.states != nil {
		law := make([]estimate, len(r.states))
		for i, p := range r.states {
			law[i].value = p
		}
		rows = append(rows, variation("total_variation", law, t.states))
	}
	rows = append(rows, variation("energy_histogram", r.energyLaw, t.energies))
	if r.overlapLaw != nil && t.samples >= 4 {
		rows = append(rows, variation("overlap_histogram", r.overlapLaw, t.overlaps))
	}
	return rows
}

// means compares averages of products of spins: the mean of |Δ|. Their errors
// depend on each other as the samples say; of very many some are looked at for
// that.
func (t *tally) means(name string, exact, sums []float64, uncertainty float64, of func(config []uint64, i int) float64) measure.Metric {
	const looked, repeats = 256, 64
	n, words := float64(t.samples), t.graph.Words()
	m := measure.Metric{Name: name, Uncertainty: uncertainty}
	var floor float64
	deviations := make([]float64, len(sums))
	for i, sum := range sums {
		got := sum / n
		m.Error += math.Abs(got-exact[i]) / float64(len(sums))
		deviations[i] = math.Sqrt(max(0, 1-exact[i]*exact[i]) / n)
		floor += stat.MeanAbsolute(deviations[i]) / float64(len(sums))
	}
	m.Generated = m.Error
	stride := (len(sums) + looked - 1) / looked
	var configs [][]uint64
	for k := 0; (k+1)*words <= len(t.first) && len(configs) < repeats; k++ {
		configs = append(configs, t.first[k*words:][:words])
	}
	var values [][]float64 // of the sums looked at, by configuration
	for _, config := range configs {
		var row []float64
		for i := 0; i < len(sums); i += stride {
			row = append(row, of(config, i)-sums[i]/n)
		}
		values = append(values, row)
	}
	law := stat.NewNull(stat.AbsoluteSums(len(values[0]), func(source *rand.Rand, x []float64) {
		clear(x)
		for _, row := range values {
			z := source.NormFloat64()
			for i, v := range row {
				x[i] += z * v
			}
		}
	}))
	// The law is that of the mean, whose average is the floor.
	if average := stat.Average(law); average > 0 {
		law = law.Scale(floor / average)
	}
	half := (law.Quantile(0.975, floor) - law.Quantile(0.025, floor)) / 2
	m.Interval = [2]float64{max(0, m.Error-half), m.Error + half}
	return m.Judged(floor, law)
}

// variation compares the law of counts: the total variation.
func variation(name string, law []estimate, counts []float64) measure.Metric {
	var p, of []float64
	var samples, floor, mass float64
	m := measure.Metric{Name: name}
	for i, e := range law {
		samples += counts[i]
		mass += e.value
		if e.value > 0 || counts[i] > 0 {
			p, of = append(p, e.value), append(of, counts[i])
		}
		m.Uncertainty += 0.5 * e.uncertainty
	}
	for i := range p {
		p[i] /= mass
		floor += 0.5 * stat.MeanAbsoluteDeviation(int(samples), p[i])
	}
	null := stat.NewCounts(p, int(samples))
	tv, _ := null.Distances(of)
	m.Generated, m.Error, m.Interval = tv.Value, tv.Value, tv.Share()
	return m.Judged(floor, null.Variation)
}
