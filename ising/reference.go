package ising

import "math"

// A reference holds the exact values that a sample is compared with.
type reference struct {
	beta      float64
	joint     *joint // nil where the lattice is too large to enumerate
	value     map[int]float64
	deviation [4]float64
	states    []float64 // π of every configuration, nil beyond countable spins
	paper     map[string]*float64
}

// newReference takes all observables from enumeration where the lattice can be
// enumerated, and energy and specific heat from Kaufman's formula on larger
// ones without a field.
func newReference(t Target) (*reference, error) {
	r := &reference{beta: t.Beta, value: map[int]float64{}, paper: paperErrors(t)}
	if t.L > MaxEnumerated {
		if t.H != 0 {
			return r, nil
		}
		exact, err := Kaufman(t.L, t.J, t.Beta)
		if err != nil {
			return r, nil // frustrated: nothing exact is known
		}
		r.value[energy], r.value[specificHeat] = exact.Energy, exact.SpecificHeat
		// The energy of a large lattice is nearly Gaussian.
		r.deviation[energy] = math.Sqrt(exact.SpecificHeat) / max(t.Beta, math.SmallestNonzeroFloat64)
		r.deviation[specificHeat] = math.Sqrt2 * exact.SpecificHeat
		return r, nil
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
