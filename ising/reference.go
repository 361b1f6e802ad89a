package ising

import (
	"math"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/pool"
)

// A reference holds the exact values that a sample is compared with.
type reference struct {
	beta      float64
	joint     *joint // nil where the lattice is too large to enumerate
	value     map[int]float64
	deviation [4]float64
	states    []float64 // π of every configuration, nil beyond countable spins
	paper     map[string]*float64
}

// newReference enumerates the configurations of small lattices.
func newReference(model bitspin.Model, beta float64, workers *pool.Pool) (*reference, error) {
	r := &reference{beta: beta, value: map[int]float64{}, paper: paperErrors(model, beta)}
	if model.N <= countable {
		r.enumerate(model)
		m := r.joint.moments(beta)
		r.deviation = m.deviation
		for i, v := range m.value {
			r.value[i] = v
		}
	}
	return r, nil
}

func (r *reference) enumerate(model bitspin.Model) {
	r.joint = newJoint(model)
	r.states = make([]float64, 1<<model.N)
	ground := math.Inf(1)
	for i := range r.states {
		r.states[i] = model.Energy([]uint64{uint64(i)})
		ground = min(ground, r.states[i])
	}
	var z float64
	for i, e := range r.states {
		r.states[i] = math.Exp(-r.beta * (e - ground))
		z += r.states[i]
	}
	for i := range r.states {
		r.states[i] /= z
		s := []uint64{uint64(i)}
		r.joint.add(model.BondSum(s), model.Magnetisation(s), r.states[i])
	}
}

// paperErrors returns the errors of the paper's table, by metric, where the
// target is one of its two.
func paperErrors(model bitspin.Model, beta float64) map[string]*float64 {
	if model.L != 3 || model.J != 1 || model.H != 0 {
		return nil
	}
	table := map[float64]map[string]float64{
		0.2: {"energy": 0.0045, "abs_magnetisation": 0.0028, "specific_heat": 0.0056, "susceptibility": 0.0047, "total_variation": 0.0331},
		0.5: {"energy": 0.0101, "abs_magnetisation": 0.007, "specific_heat": 0.1529, "susceptibility": 0.1770, "total_variation": 0.0305},
	}
	all := map[string]*float64{}
	for name, v := range table[beta] {
		all[name] = &v
	}
	return all
}
