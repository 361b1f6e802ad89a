package ising

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/crash"
	"github.com/revgen/revgen/internal/pool"
)

// A reference holds what a sample is compared with: exact values, or those of
// long heat-bath runs with their errors.
type reference struct {
	target      Target
	joint       *joint // nil where neither is known
	known       [4]bool
	value       [4]float64
	deviation   [4]float64 // of a single sample's influence
	uncertainty [4]float64 // standard errors of values, 0 if exact
	states      []float64  // π of every configuration, nil beyond the side countable
	// Probabilities of the bond sums, by (2N − B)/4, and G(r), r = 1, 2, …; nil
	// where the table has neither.
	bonds       []measure.Estimate
	correlation []estimate
	label       string // what it is
	paper       map[string]*float64
	warnings    []string
}

// newReference takes all observables from the density of states where that can
// be counted, and G(r) from the transfer matrix. On larger lattices without a
// field energy and specific heat are those of Kaufman's formula; what remains is
// that of long heat-bath runs.
func newReference(ctx context.Context, t Target, workers *pool.Pool) (*reference, error) {
	r := &reference{target: t, label: "exact", paper: paperErrors(t)}
	if t.L > MaxCounted {
		return r, r.approximate(ctx, workers)
	}
	r.joint, _ = crash.Must(CountStates(t.L)).distribution(t)
	r.observe()
	if t.L <= countable {
		r.states = crash.Must(t.Probabilities())
	}
	if t.L > listed {
		r.bonds = r.joint.bondLaw()
		if r.correlation = exactCorrelations(t); r.correlation == nil {
			r.warnings = append(r.warnings, "the correlations have no reference: the transfer matrix underflows so near zero temperature")
		}
	}
	return r, nil
}

// observe takes the observables from the joint law.
func (r *reference) observe() {
	m := r.joint.moments(r.target.Beta)
	r.known, r.value, r.deviation = [4]bool{true, true, true, true}, m.value, m.deviation
}

// bondLaw returns the probabilities of the bond sums.
func (p *joint) bondLaw() []measure.Estimate {
	law := make([]measure.Estimate, p.model.N+1)
	p.each(func(b, _ int, w float64) { law[(2*p.model.N-b)/4].Value += w })
	return law
}

// approximate is newReference for lattices too large to count.
func (r *reference) approximate(ctx context.Context, workers *pool.Pool) error {
	t := r.target
	r.label = "heat bath"
	exact, frustrated := Kaufman(t.L, t.J, t.Beta)
	var known []float64 // means of E and E²
	if t.H == 0 && frustrated == nil {
		variance := t.J * t.J * logPartition(t.L, math.Abs(t.Beta*t.J)).E1E2mag
		known = []float64{exact.Energy, exact.Energy*exact.Energy + variance}
		r.known[energy], r.known[specificHeat] = true, true
		if t.L > largestChain {
			r.value[energy], r.value[specificHeat] = exact.Energy, exact.SpecificHeat
			// The energy of a large lattice is nearly Gaussian.
			r.deviation[energy] = math.Sqrt(exact.SpecificHeat) / max(t.Beta, math.SmallestNonzeroFloat64)
			r.deviation[specificHeat] = math.Sqrt2 * exact.SpecificHeat
			r.warnings = append(r.warnings, fmt.Sprintf("there is no reference of abs_magnetisation and susceptibility on lattices of more than %d rows", largestChain))
			return nil
		}
	}
	c, err := newChain(ctx, t, known, workers)
	if err != nil {
		return err
	}
	r.joint, r.bonds, r.correlation = c.joint, c.bonds, c.correlation
	r.observe()
	for i, e := range c.observables {
		r.value[i], r.uncertainty[i] = e.Value, e.Uncertainty
	}
	if known != nil {
		if c.off > 5 {
			r.warnings = append(r.warnings, fmt.Sprintf("the heat-bath runs of the reference are not in equilibrium: their energy is %.1f standard errors from Kaufman's", c.off))
		}
		r.value[energy], r.value[specificHeat] = exact.Energy, exact.SpecificHeat
		r.uncertainty[energy], r.uncertainty[specificHeat] = 0, 0
	} else if c.drift > 5.5 {
		r.warnings = append(r.warnings, fmt.Sprintf("the heat-bath runs of the reference are not in equilibrium: their energy drifts by %.1f standard errors from the first half to the second", c.drift))
	}
	r.warnings = append(r.warnings, r.confess(c))
	return nil
}

// confess says which values are not exact, and where they come from.
func (r *reference) confess(c *chain) string {
	var names []string
	for i, name := range observableNames {
		if r.uncertainty[i] > 0 {
			names = append(names, fmt.Sprintf("%s ± %.2g", name, r.uncertainty[i]))
		}
	}
	if r.correlation != nil {
		names = append(names, "correlation", histogramName(r.target))
	}
	return fmt.Sprintf(measure.Inexact+"of %s: they are compared with %s (± is the standard error)", strings.Join(names, ", "), c.source(r.target.Model))
}

// paperErrors returns the errors of the paper's table, by metric, where the
// target is one of its two.
func paperErrors(t Target) map[string]*float64 {
	if t.L != 3 || t.J != 1 || t.H != 0 {
		return nil
	}
	table := map[float64]map[string]float64{
		0.2: {"energy": 0.0045, "abs_magnetisation": 0.0028, "specific_heat": 0.0056, "susceptibility": 0.0047, "total_variation": 0.0331},
		0.5: {"energy": 0.0101, "abs_magnetisation": 0.007, "specific_heat": 0.1529, "susceptibility": 0.1770, "total_variation": 0.0305},
	}
	all := map[string]*float64{}
	for name, v := range table[t.Beta] {
		all[name] = &v
	}
	return all
}
