package bitspin

import (
	"fmt"
	"math"
)

// A Model is an Ising model on a periodic square lattice with energy
//
//	E(s) = −J Σ_<ij> s_i s_j − h Σ_i s_i
//
// (eq. (5.6)). J may have either sign.
type Model struct {
	*Lattice
	J float64 // coupling; positive is ferromagnetic
	H float64 // external field h
}

// NewModel returns the model of side l with coupling j and field h, which
// must be finite.
func NewModel(l int, j, h float64) (Model, error) {
	lat, err := NewLattice(l)
	if err != nil {
		return Model{}, err
	}
	if math.IsNaN(j) || math.IsInf(j, 0) {
		return Model{}, fmt.Errorf("coupling J = %v is not finite", j)
	}
	if math.IsNaN(h) || math.IsInf(h, 0) {
		return Model{}, fmt.Errorf("field h = %v is not finite", h)
	}
	return Model{Lattice: lat, J: j, H: h}, nil
}

// EnergyRange bounds the difference of two energies.
func (m Model) EnergyRange() float64 { return (4*math.Abs(m.J) + 2*math.Abs(m.H)) * float64(m.N) }

// EnergyOf returns −J·bonds − h·magnetisation, the energy, or the energy
// difference, that belongs to a bond sum and a magnetisation.
func (m Model) EnergyOf(bonds, magnetisation int) float64 {
	return -m.J*float64(bonds) - m.H*float64(magnetisation)
}

// Energy returns the total energy of a configuration.
func (m Model) Energy(config []uint64) float64 {
	return m.EnergyOf(m.BondSum(config), m.Magnetisation(config))
}

// EnergyDifference returns the change of the energy when the spins of mask,
// any set of sites, are flipped.
func (m Model) EnergyDifference(config, mask []uint64) float64 {
	return m.EnergyOf(m.Difference(config, mask))
}

// Energies stores the energies of the configurations of a batch in dst. The
// batch holds len(dst)·Words words.
func (m Model) Energies(dst []float64, batch []uint64) {
	checkBatch(batch, len(dst), m.Words)
	for i := range dst {
		dst[i] = m.Energy(batch[i*m.Words:])
	}
}

func checkBatch(batch []uint64, rows, words int) {
	if len(batch) != rows*words {
		panic(fmt.Sprintf("bitspin: batch of %d words for %d configurations of %d words", len(batch), rows, words))
	}
}
