package ising

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/internal/pool"
)

// A reference holds what a sample is compared with: exact values, or those of
// long Metropolis runs with their errors.
type reference struct {
	beta        float64
	joint       *joint // nil where neither is known
	value       map[int]float64
	uncertainty [4]float64 // standard errors of values, 0 if exact
	deviation   [4]float64 // of a single sample's influence
	states      []float64  // π of every configuration, nil beyond countable spins
	chain       *chain     // nil where the lattice can be enumerated
	paper       map[string]*float64
	warnings    []string
}

// newReference takes all observables from enumeration where the lattice can be
// enumerated. On larger ones without a field energy and specific heat are those
// of Kaufman's formula, and the others those of long Metropolis runs.
func newReference(t Target, workers *pool.Pool) (*reference, error) {
	r := &reference{beta: t.Beta, value: map[int]float64{}, paper: paperErrors(t)}
	if t.L > MaxEnumerated {
		return r, r.approximate(t, workers)
	}
	states, err := Enumerate(t.L)
	if err != nil {
		return nil, err
	}
	r.joint, _ = states.distribution(t)
	m := r.joint.moments(t.Beta)
	r.deviation = m.deviation
	for i, v := range m.value {
		r.value[i] = v
	}
	if t.N <= countable {
		r.states, err = t.Probabilities()
	}
	return r, err
}

// approximate is newReference for lattices too large to enumerate.
func (r *reference) approximate(t Target, workers *pool.Pool) (err error) {
	if chainable(t.Model) {
		if r.chain, err = newChain(t, workers); err != nil {
			return err
		}
		r.joint, r.uncertainty = r.chain.joint, r.chain.uncertainty
		m := r.joint.moments(t.Beta)
		r.deviation = m.deviation
		for i, v := range m.value {
			r.value[i] = v
		}
	}
	if t.H != 0 {
		return nil
	}
	exact, err := Kaufman(t.L, t.J, t.Beta)
	if err != nil {
		return nil // frustrated: nothing exact is known
	}
	if r.chain == nil {
		// The energy of a large lattice is nearly Gaussian.
		r.deviation[energy] = math.Sqrt(exact.SpecificHeat) / max(t.Beta, math.SmallestNonzeroFloat64)
		r.deviation[specificHeat] = math.Sqrt2 * exact.SpecificHeat
	} else if off := math.Abs(r.value[energy]-exact.Energy) / r.uncertainty[energy]; off > 5 {
		r.warnings = append(r.warnings, fmt.Sprintf("the Metropolis runs of the reference are not in equilibrium: their energy is %.1f standard errors from Kaufman's", off))
	}
	r.value[energy], r.value[specificHeat] = exact.Energy, exact.SpecificHeat
	r.uncertainty[energy], r.uncertainty[specificHeat] = 0, 0
	return nil
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
