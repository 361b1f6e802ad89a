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

// A reference holds the values that samples are compared with: exact ones, or those of long
// heat-bath runs with their standard errors.
type reference struct {
	target      Target
	joint       *jointLaw // nil where it is neither counted nor estimated
	known       [4]bool   // which observables have values
	observables [4]estimate
	states      []float64           // π of every configuration, nil beyond maxListedSide
	bonds       []measure.Estimate  // probabilities of the bond sums, by (2N − B)/4; nil if the table has no row for them
	correlation []estimate          // G(r) at r = 1, 2, …; nil if the table has no row for it
	label       string              // where the values come from: "exact" or "heat bath"
	paper       map[string]*float64 // errors in the paper's table, by metric
	warnings    []string
}

// newReference takes the observables from the density of states, and G(r) from the transfer
// matrix, on lattices up to MaxCounted. On larger ones Kaufman's formula, if it holds, gives energy
// and specific heat, and long heat-bath runs the rest; but beyond maxChainSide there are no runs
// where it holds, and only averages where it does not.
func newReference(ctx context.Context, t Target, workers *pool.Pool) (*reference, error) {
	r := &reference{target: t, label: "exact", paper: paperErrors(t)}
	if t.L > MaxCounted {
		return r, r.approximate(ctx, workers)
	}
	r.joint, _ = crash.Must(CountStates(t.L)).jointLaw(t)
	r.known, r.observables = [4]bool{true, true, true, true}, r.joint.observables(t.Beta)
	if t.L <= maxListedSide {
		r.states = crash.Must(t.Probabilities())
	}
	if t.L >= minHistogramSide {
		r.bonds = r.joint.bondLaw()
		if r.correlation = exactCorrelations(t); r.correlation == nil {
			r.warnings = append(r.warnings, "the correlations have no reference: the transfer matrix underflows so near zero temperature")
		}
	}
	return r, nil
}

// approximate is newReference for lattices too large to count.
func (r *reference) approximate(ctx context.Context, workers *pool.Pool) error {
	t := r.target
	r.label = "heat bath"
	exact, err := Kaufman(t.L, t.J, t.Beta)
	solved := t.H == 0 && err == nil // without a field, and not frustrated
	var energyMoments []float64      // ⟨E⟩ and ⟨E²⟩
	if solved {
		variance := t.J * t.J * logPartition(t.L, math.Abs(t.Beta*t.J)).E1E2mag
		energyMoments = []float64{exact.Energy, exact.Energy*exact.Energy + variance}
		if t.L > maxChainSide {
			r.known[energy], r.known[specificHeat] = true, true
			// The energy of a large lattice is nearly Gaussian.
			r.observables[energy] = estimate{measure.Estimate{Value: exact.Energy}, math.Sqrt(exact.SpecificHeat) / max(t.Beta, math.SmallestNonzeroFloat64)}
			r.observables[specificHeat] = estimate{measure.Estimate{Value: exact.SpecificHeat}, math.Sqrt2 * exact.SpecificHeat}
			r.warnings = append(r.warnings, fmt.Sprintf("there is no reference of abs_magnetisation and susceptibility on lattices of more than %d rows", maxChainSide))
			return nil
		}
	}
	c, err := runChains(ctx, t, energyMoments, workers)
	if err != nil {
		return err
	}
	r.joint, r.bonds, r.correlation = c.joint, c.bonds, c.correlation
	r.known, r.observables = [4]bool{true, true, true, true}, c.joint.observables(t.Beta)
	for i, e := range c.observables {
		r.observables[i].Estimate = e
	}
	if solved {
		if c.energyError > 5 {
			r.warnings = append(r.warnings, fmt.Sprintf("the heat-bath runs of the reference are not in equilibrium: their energy is %.1f standard errors from Kaufman's", c.energyError))
		}
		r.observables[energy].Estimate = measure.Estimate{Value: exact.Energy}
		r.observables[specificHeat].Estimate = measure.Estimate{Value: exact.SpecificHeat}
	} else if c.drift > 5.5 {
		r.warnings = append(r.warnings, fmt.Sprintf("the heat-bath runs of the reference are not in equilibrium: their energy drifts by %.1f standard errors from the first half to the second", c.drift))
	}
	r.warnings = append(r.warnings, r.describeInexact(c))
	return nil
}

// describeInexact says which values are not exact, and where they come from.
func (r *reference) describeInexact(c *chainAverages) string {
	var names []string
	for i, name := range observableNames {
		if u := r.observables[i].Uncertainty; u > 0 {
			names = append(names, fmt.Sprintf("%s ± %.2g", name, u))
		}
	}
	if r.correlation != nil {
		names = append(names, "correlation", histogramName(r.target))
	}
	return fmt.Sprintf(measure.Inexact+"of %s: they are compared with %s (± is the standard error)", strings.Join(names, ", "), c.source(r.target.Model))
}

// paperErrors returns the errors of the paper's table, by metric, empty or nil for targets that it
// does not have.
func paperErrors(t Target) map[string]*float64 {
	if t.L != 3 || t.J != 1 || t.H != 0 {
		return nil
	}
	table := map[float64]map[string]float64{
		0.2: {"energy": 0.0045, "abs_magnetisation": 0.0028, "specific_heat": 0.0056, "susceptibility": 0.0047, "total_variation": 0.0331},
		0.5: {"energy": 0.0101, "abs_magnetisation": 0.007, "specific_heat": 0.1529, "susceptibility": 0.1770, "total_variation": 0.0305},
	}
	errors := map[string]*float64{}
	for name, v := range table[t.Beta] {
		errors[name] = &v
	}
	return errors
}
