package ising

import (
	"math"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/measure"
)

// A jointLaw is the law of bond sum B = Σ_<ij> s_i s_j and magnetisation M = Σ_i s_i, computed
// or counted. It determines every observable of the paper's table.
type jointLaw struct {
	model  bitspin.Model
	index  map[sums]int
	sums   []sums // the pairs (B, M), in the order in which they were first added
	weight []float64
}

// sums are a bond sum and a magnetisation.
type sums struct{ bonds, magnetisation int }

func newJointLaw(model bitspin.Model) *jointLaw {
	return &jointLaw{model: model, index: map[sums]int{}}
}

func (p *jointLaw) add(bonds, magnetisation int, w float64) {
	key := sums{bonds, magnetisation}
	i, ok := p.index[key]
	if !ok {
		i = len(p.sums)
		p.index[key] = i
		p.sums, p.weight = append(p.sums, key), append(p.weight, 0)
	}
	p.weight[i] += w
}

// each calls visit with every pair of positive weight.
func (p *jointLaw) each(visit func(bonds, magnetisation int, w float64)) {
	for i, w := range p.weight {
		if w > 0 {
			visit(p.sums[i].bonds, p.sums[i].magnetisation, w)
		}
	}
}

// normalise makes the weights probabilities.
func (p *jointLaw) normalise() {
	var sum float64
	for _, w := range p.weight {
		sum += w
	}
	for i := range p.weight {
		p.weight[i] /= sum
	}
}

// bondLaw returns the probabilities of the bond sums, by (2N − B)/4.
func (p *jointLaw) bondLaw() []measure.Estimate {
	law := make([]measure.Estimate, p.model.N+1)
	p.each(func(b, _ int, w float64) { law[(2*p.model.N-b)/4].Value += w })
	return law
}

// Indices of the observables.
const (
	energy = iota
	absMagnetisation
	specificHeat
	susceptibility
)

var observableNames = [4]string{"energy", "abs_magnetisation", "specific_heat", "susceptibility"}

// An estimate is a value with its standard error, 0 if it is exact, and the standard deviation of a
// single sample's influence on it: n samples estimate it with the standard error deviation/√n.
type estimate struct {
	measure.Estimate
	deviation float64
}

// observables returns the observables under a normalised law at inverse temperature beta.
func (p *jointLaw) observables(beta float64) (estimates [4]estimate) {
	n := float64(p.model.N)
	var meanEnergy, meanAbs float64
	p.each(func(b, m int, w float64) {
		meanEnergy += w * p.model.EnergyOf(b, m)
		meanAbs += w * math.Abs(float64(m)/n)
	})
	// Sums of squared deviations, because differences of moments cancel when
	// nearly all weight is on the ground states.
	var energyVariance, absVariance float64
	p.each(func(b, m int, w float64) {
		e, abs := p.model.EnergyOf(b, m)-meanEnergy, math.Abs(float64(m)/n)-meanAbs
		energyVariance += w * e * e
		absVariance += w * abs * abs
	})
	for i, value := range [4]float64{meanEnergy, meanAbs, beta * beta * energyVariance, beta * n * absVariance} {
		estimates[i].Value = value
	}
	var variances [4]float64 // of the influences
	p.each(func(b, m int, w float64) {
		e, abs := p.model.EnergyOf(b, m)-meanEnergy, math.Abs(float64(m)/n)-meanAbs
		for i, influence := range [4]float64{
			e, abs, beta * beta * (e*e - energyVariance), beta * n * (abs*abs - absVariance),
		} {
			variances[i] += w * influence * influence
		}
	})
	for i, v := range variances {
		estimates[i].deviation = math.Sqrt(v)
	}
	return estimates
}
