package gmm

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/stat"
)

// Evaluate compares a generator's law q with the target π.
//
// If the generator's density is known, by quadrature in two dimensions and by
// Monte Carlo otherwise:
//
//   - l2_density_error, √∫(q−π)², and l2_relative, that divided by √∫π². The paper
//     says "L2 density error" without saying which; it is held against the first;
//   - kl_to_target, KL(q‖π), and kl_from_target, KL(π‖q);
//   - total_variation, ½∫|q−π|;
//   - captured_mass, the integral of q, 1 if the quadrature resolves both laws.
//
// These figures are NaN if that integral is far from 1, or if float32 is too coarse for the target's
// narrowest component. A warning then says why.
//
// If the density is known, from the samples' weights: effective_sample_size, log_z, whose exact value
// is 0, and kl_by_density.
//
// For any generator, from samples:
//
//   - mode_weight_k, the mean responsibility of component k (Σ_k |error| as
//     mode_weights_l1 for more than eight);
//   - marginal_w1, the mean over coordinates of W₁ between the law of a
//     coordinate and its target.
//
// The interval of a figure from quadrature says by how much it changes if every other node along each
// axis is left out. Its floor is 0.
func (s *system) Evaluate(ctx context.Context, params []float32, samples int) (*measure.Evaluation, error) {
	d := s.newSampler(params)
	x := make([]float32, samples*s.target.dim)
	var logQ []float64
	if s.Dense {
		logQ = make([]float64, samples)
	}
	err := d.DrawAll(ctx, s.states(x), logQ)
	if err != nil {
		return nil, err
	}
	t := &table{Evaluation: measure.Evaluation{Samples: samples}}
	if isPaper(s.target) {
		t.paper = map[string]*float64{"l2_density_error": new(0.0483)}
	}
	r := make([]float64, len(logQ)) // ln q − ln π
	if s.Dense {
		dim := s.target.dim
		d.densities.Rows(samples, blockRows, func(_ *density, lo, hi int) {
			for i := lo; i < hi; i++ {
				r[i] = logQ[i] - s.target.LogDensity(number.Widen(x[i*dim:(i+1)*dim]))
			}
		})
		t.weights = measure.NewReweighing(r)
		t.Weights = &t.weights.Weights
	}
	switch {
	case s.Dense && s.target.dim == 2:
		err = d.quadrature(ctx, t)
	case s.Dense:
		err = d.monteCarlo(ctx, t, x, logQ)
	}
	if err != nil {
		return nil, err
	}
	if err := d.modeWeights(ctx, t, x); err != nil {
		return nil, err
	}
	if err := s.marginals(ctx, t, x); err != nil {
		return nil, err
	}
	if s.Dense {
		t.Metrics = append(t.Metrics, measure.ImportanceMetrics(r, 0)...)
	}
	return &t.Evaluation, nil
}

// isPaper reports whether a target is the paper's.
func isPaper(t *Target) bool {
	components := lists.Map(t.components, func(g gaussian) Component { return g.Component })
	return reflect.DeepEqual(TargetConfig{Components: components}, paperTarget())
}

// A table is an evaluation to which metrics are added.
type table struct {
	measure.Evaluation
	paper   map[string]*float64 // the paper's values, by metric
	weights *measure.Reweighing // of the samples, nil if their density is not known
}

// add appends a figure whose value is its error. An estimate of it may be negative, which counts as 0.
func (t *table) add(name string, value float64, interval [2]float64, floor float64, law stat.Null) {
	value, interval = max(0, value), [2]float64{max(0, interval[0]), max(0, interval[1])}
	t.Metrics = append(t.Metrics, measure.Metric{
		Name: name, Generated: value, Error: value, Interval: interval, Paper: t.paper[name],
	}.Judged(floor, law))
}

func (t *table) warn(format string, args ...any) {
	t.Warnings = append(t.Warnings, fmt.Sprintf(format, args...))
}

// monteCarlo adds the distances, estimated from samples x of q and as many of π instead of the
// quadrature's nodes.
func (d *sampler) monteCarlo(ctx context.Context, t *table, x []float32, logQ []float64) error {
	n := len(logQ)
	exact := make([]float32, len(x))
	stream := rng.Stream(d.system.config.Training.Seed, rng.Reference, 0)
	d.system.target.Sample(exact, &stream, 0)
	logQExact, logPi := make([]float64, n), make([]float64, n)
	d.Density(logQExact, d.system.states(exact))
	terms := make([][2]overlap, n) // of sample i of q, and of π
	for law, samples := range []struct {
		x    []float32
		logQ []float64
	}{{x, logQ}, {exact, logQExact}} {
		if err := ctx.Err(); err != nil {
			return err
		}
		d.targetDensity(logPi, samples.x)
		for i, pi := range logPi {
			terms[i][law] = quotients(samples.logQ[i], pi)
		}
	}
	t.distances(d.system.target, func(figure func(*overlap) float64) (value, half float64) {
		var variance float64
		for law := range 2 {
			var mean stat.Mean
			for i := range terms {
				mean.Add(figure(&terms[i][law]))
			}
			value += mean.Value()
			variance += mean.StandardError() * mean.StandardError()
		}
		interval := stat.Interval(value, math.Sqrt(variance))
		return value, (interval[1] - interval[0]) / 2
	})
	return nil
}

// distances adds the distances between q and π. estimate returns an integral of a figure, and half the
// width of its interval. A distance that float32 or the nodes do not resolve is NaN. distances
// returns the integral of q.
func (t *table) distances(target *Target, estimate func(figure func(*overlap) float64) (value, half float64)) (mass, massHalf float64) {
	const slack = 0.01
	known := true
	if off := target.coarseness(); !(off <= slack) {
		known = false
		t.warn("the distances between the densities are not known: neighbouring float32 numbers are %.2g of a component's standard deviation apart", off)
	}
	mass, massHalf = estimate(func(o *overlap) float64 { return o.mass })
	lost := max(0, math.Abs(mass-1)-massHalf)
	if known && !(lost <= slack) {
		known = false
		t.warn("the distances between the densities are not known: together the nodes of both hold a mass of %.3g of the generated one instead of 1", mass)
	}
	norm := math.Sqrt(target.SquaredNorm())
	add := func(name string, figure func(o *overlap) float64, highest float64, scale func(float64) float64) {
		value, half := math.NaN(), math.NaN()
		if known {
			value, half = estimate(figure)
			half += lost * max(1, value) // the nodes do not see the distance where mass is lost, either
		}
		interval := [2]float64{scale(max(0, value-half)), scale(min(highest, value+half))}
		value = scale(min(highest, value))
		if !number.Finite(value) {
			interval = [2]float64{value, value}
		}
		t.add(name, value, interval, 0, nil)
	}
	square := func(o *overlap) float64 { return o.square / (norm * norm) }
	add("l2_density_error", square, math.Inf(1), func(x float64) float64 { return norm * math.Sqrt(x) })
	add("l2_relative", square, math.Inf(1), math.Sqrt)
	identity := func(x float64) float64 { return x }
	add("kl_to_target", func(o *overlap) float64 { return o.klTo }, math.Inf(1), identity)
	add("kl_from_target", func(o *overlap) float64 { return o.klFrom }, math.Inf(1), identity)
	add("total_variation", func(o *overlap) float64 { return o.variation }, 1, identity)
	return mass, massHalf
}

// targetDensity sets dst to ln π of the states x.
func (d *sampler) targetDensity(dst []float64, x []float32) {
	dim := d.system.target.dim
	d.densities.Rows(len(dst), blockRows, func(f *density, lo, hi int) {
		logPi := make([]float32, hi-lo)
		f.LogDensity(logPi, x[lo*dim:hi*dim], nil)
		for i, v := range logPi {
			dst[lo+i] = float64(v)
		}
	})
}

// modeWeights adds the mean responsibilities of the components, also reweighted. Their floor needs the
// standard deviations of responsibilities in the target, which exact samples give precisely enough.
func (d *sampler) modeWeights(ctx context.Context, t *table, x []float32) error {
	target := d.system.target
	if target.Components() == 1 {
		return nil
	}
	const (
		exactSamples  = 1 << 14
		maxIndividual = 8   // components with metrics of their own
		lostFraction  = 0.2 // of a component's weight, below which it is all but lost
	)
	exact := make([]float32, exactSamples*target.dim)
	stream := rng.Stream(d.system.config.Training.Seed, rng.Reference, 1)
	target.Sample(exact, &stream, 0)
	got, columns := make([]stat.Mean, target.Components()), make([][]float64, target.Components())
	individual := len(got) <= maxIndividual
	if err := d.eachResponsibility(ctx, x, func(k int, v float64) {
		got[k].Add(v)
		if individual && t.weights != nil {
			columns[k] = append(columns[k], v)
		}
	}); err != nil {
		return err
	}
	reference := make([]stat.Mean, len(got))
	if err := d.eachResponsibility(ctx, exact, func(k int, v float64) { reference[k].Add(v) }); err != nil {
		return err
	}
	root := math.Sqrt(float64(t.Samples))
	var l1, variance, floor float64
	var deviations []float64
	for k := range got {
		weight, value, se := target.components[k].Weight, got[k].Value(), got[k].StandardError()
		componentFloor := stat.MeanAbsolute(reference[k].Deviation() / root)
		if individual {
			m := measure.Average(fmt.Sprintf("mode_weight_%d", k), measure.Estimate{Value: weight}, value, se, componentFloor, false)
			if t.weights != nil {
				m.Reweigh(t.weights.Mean(columns[k]))
			}
			t.Metrics = append(t.Metrics, m)
		}
		l1 += math.Abs(value - weight)
		variance += se * se
		floor += componentFloor
		deviations = append(deviations, reference[k].Deviation()/root)
		if value < lostFraction*weight {
			t.warn("component %d, of weight %.3g at %.3g, is all but lost: its weight is %.3g", k, weight, target.components[k].Mean, value)
			t.Lost = append(t.Lost, t.Warnings[len(t.Warnings)-1])
		}
	}
	if !individual {
		t.add("mode_weights_l1", l1, stat.Interval(l1, math.Sqrt(variance)), floor,
			stat.NewNull(stat.AbsoluteSums(len(got), stat.Independent(deviations))))
	}
	return nil
}

// eachResponsibility calls visit with the responsibility of each component for each row.
func (d *sampler) eachResponsibility(ctx context.Context, x []float32, visit func(component int, v float64)) error {
	const batch = 1 << 13 // rows, a multiple of blockRows
	dim, components := d.system.target.dim, d.system.target.Components()
	rows := len(x) / dim
	responsibilities := make([]float32, min(rows, batch)*components)
	for first := 0; first < rows; first += batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		end := min(first+batch, rows)
		d.densities.Rows(end-first, blockRows, func(f *density, lo, hi int) {
			f.responsibilities(responsibilities[lo*components:hi*components], x[(first+lo)*dim:(first+hi)*dim])
		})
		for i, v := range responsibilities[:(end-first)*components] {
			visit(i%components, float64(v))
		}
	}
	return nil
}

// marginals adds the mean over coordinates of the distance between their laws. Its standard error assumes
// that coordinates are fully correlated.
func (s *system) marginals(ctx context.Context, t *table, x []float32) error {
	dim := s.target.dim
	var distance, se, floor float64
	for i := range dim {
		column := number.Widen(lists.Column(x, i, dim))
		slices.Sort(column)
		law := s.target.Marginal(i)
		w, e, err := stat.Wasserstein(ctx, column, law)
		if err != nil {
			return err
		}
		distance += w / float64(dim)
		se += e / float64(dim)
		floor += stat.WassersteinFloor(law, float64(t.Samples)) / float64(dim)
	}
	t.add("marginal_w1", distance, stat.Interval(distance, se), floor, s.marginalLaw(floor))
	return nil
}

// marginalLaw returns the law of marginal_w1 for exact samples, given its mean.
func (s *system) marginalLaw(floor float64) stat.Null {
	const points = 1024
	const maxColumns = 32 // more coordinates change the law little
	dim := s.target.dim
	x := make([]float32, points*dim)
	stream := rng.Stream(s.config.Training.Seed, rng.Reference, 2)
	s.target.Sample(x, &stream, 0)
	columns := make([][]float64, min(dim, maxColumns))
	for i := range columns {
		columns[i] = number.Widen(lists.Column(x, i, dim))
	}
	distances := stat.Bridges(columns, 1, 0)
	// The mean of the simulated distances is uncertain, but the exact mean is known.
	return stat.NewNull(distances).Scale(floor / stat.MeanOf(distances).Value())
}
