package sites

import (
	"context"
	"fmt"
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
)

// Refine implements engine.Scorer.
func (e *Ensemble[W]) Refine(states []byte, format string, first uint64, steps int) error {
	batch, err := e.read(format, states)
	if err == nil {
		err = e.Reach(first, uint64(len(batch)/e.Words()), steps)
	}
	if err != nil || steps == 0 {
		return err
	}
	moved := make([]W, len(batch))
	e.refined(moved, first, steps, func(whole []W, _ uint64, before int) { copy(whole[before:], batch) })
	return e.write(states, format, moved)
}

// Convert implements engine.Scorer.
func (e *Ensemble[W]) Convert(dst []byte, format string, states []byte) error {
	batch, err := e.read(e.States.Formats()[0].Name, states)
	if err != nil {
		return err
	}
	return e.write(dst, format, batch)
}

// Energies implements engine.Scorer.
func (e *Ensemble[W]) Energies(dst []float64, format string, states []byte) (beta float64, err error) {
	batch, err := e.read(format, states)
	words := e.Words()
	if err == nil && len(batch) != len(dst)*words {
		err = fmt.Errorf("states: there are %d for %d energies", len(batch)/words, len(dst))
	}
	if err != nil {
		return 0, err
	}
	e.byRows(len(dst), 1024, func(lo, hi int) { e.Energy(dst[lo:hi], batch[lo*words:hi*words]) })
	return e.Beta, nil
}

// Score implements engine.Scorer.
func (e *Ensemble[W]) Score(values []float64, params []float32, format string, states []byte) error {
	batch, err := e.read(format, states)
	stride, words := len(e.Observables()), e.Words()
	if err == nil && len(batch)/words*stride != len(values) {
		err = fmt.Errorf("states: there are %d for %d values of %d each", len(batch)/words, len(values), stride)
	}
	if err != nil {
		return err
	}
	o := Observed[W]{Batch: batch, hi: len(batch) / words, ensemble: e}
	switch {
	case e.Weigher == nil:
	case params != nil:
		o.weigh = e.Weigher(params)
	default:
		for i := stride - 1; i < len(values); i += stride {
			values[i] = math.NaN()
		}
	}
	o.Observe(values)
	return nil
}

// Observables implements chains.Observer.
func (e *Ensemble[W]) Observables() []string {
	if e.Weigher == nil {
		return e.Names
	}
	return append(e.Names[:len(e.Names):len(e.Names)], engine.LogWeight)
}

// Reweigh adds what the generator's density says to a table of its samples: the rows of
// measure.ImportanceMetrics, given the reference's ln Z and its standard error, and the weighted
// averages and variances of the energy and of an order parameter to the rows of these. A
// generator without a density adds nothing.
func (e *Ensemble[W]) Reweigh(ctx context.Context, params []float32, out *measure.Evaluation, logZ, logZError float64, order func(config []W) float64) error {
	if e.Weigher == nil {
		return nil
	}
	const maxRows = 1 << 14
	r, energies, orders := make([]float64, out.Samples), make([]float64, out.Samples), make([]float64, out.Samples)
	at, words := 0, e.Words()
	if err := e.Measure(ctx, params, out.Samples, 0, maxRows, func(batch []W, part []float64) {
		copy(r[at:], part)
		e.Energy(energies[at:][:len(part)], batch)
		for i := range part {
			orders[at+i] = order(batch[i*words:][:words])
		}
		at += len(part)
	}); err != nil {
		return err
	}
	weights := measure.NewReweighing(r)
	out.Weights = &weights.Weights
	for i := range out.Metrics {
		switch m := &out.Metrics[i]; m.Name {
		case "energy":
			m.Reweigh(weights.Mean(energies))
		case "order", "abs_magnetisation":
			m.Reweigh(weights.Mean(orders))
		case "specific_heat":
			m.Reweigh(weights.Variance(energies).Times(e.Beta * e.Beta))
		case "susceptibility":
			m.Reweigh(weights.Variance(orders).Times(e.Beta * float64(e.States.Sites())))
		}
	}
	for _, m := range measure.ImportanceMetrics(r, logZ) {
		switch m.Name {
		case "effective_sample_size":
			if m.Generated < 0.5 && m.Generated*float64(out.Samples) >= 100 { // weights still mend the samples
				out.Warnings = append(out.Warnings, fmt.Sprintf("the effective sample size is %.3g of the samples: use their weights (sample --format weighted)", m.Generated))
			}
		default:
			m.Uncertainty = logZError
		}
		out.Metrics = append(out.Metrics, m)
	}
	return nil
}
