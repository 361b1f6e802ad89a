package spins

import (
	"math"

	"github.com/revgen/revgen/bitspin"
)

// MaxSamples bounds the indices of samples.
const MaxSamples = bitspin.MaxSamples

// NewMetropolis returns the Metropolis steps of a graph at inverse temperature
// beta ≥ 0, with flips of all spins proposed with probability global in [0, 1],
// rounded to a multiple of 2⁻³².
func NewMetropolis(g *Graph, beta, global float64) (*bitspin.Flips, error) {
	if err := g.CheckTemperature(beta); err != nil {
		return nil, err
	}
	return bitspin.NewFlips(g.N(), global, &Boltzmann{g, beta})
}

// FlipOne implements bitspin.Flippable.
func (t *Boltzmann) FlipOne(config []uint64, i int) uint64 {
	return bitspin.Threshold(-t.Beta * t.Difference(config, i))
}

// FlipAll implements bitspin.Flippable.
func (t *Boltzmann) FlipAll(config []uint64) uint64 {
	var sum float64
	for i, h := range t.hamiltonian.Fields {
		sum += math.Float64frombits(math.Float64bits(h) ^ ^(config[i>>6]>>(i&63))<<63)
	}
	return bitspin.Threshold(-2 * t.Beta * sum)
}
