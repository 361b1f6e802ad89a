package hierarchy

import (
	"fmt"
	"math"
)

// A Bond couples spins I and J with energy −Coupling·s_I·s_J.
type Bond struct {
	I, J     int
	Coupling float64
}

// A Target is the distribution e^(−βE)/Z of n spins s = ±1 with
//
//	E(s) = −Σ_bonds J_ij s_i s_j − Σ_i h_i s_i + offset.
//
// Bonds between the same two spins add up.
type Target struct {
	Spins  int
	Bonds  []Bond
	Fields []float64 // of each spin; nil for none
	Offset float64
	Beta   float64
}

// Validate reports the first value that cannot be used.
func (t *Target) Validate() error {
	if t.Spins < 1 {
		return fmt.Errorf("spins: %d is not positive", t.Spins)
	}
	if !(t.Beta >= 0) || math.IsInf(t.Beta, 0) {
		return fmt.Errorf("beta: %v is not a finite number ≥ 0", t.Beta)
	}
	for k, b := range t.Bonds {
		switch {
		case b.I < 0 || b.I >= t.Spins || b.J < 0 || b.J >= t.Spins:
			return fmt.Errorf("bonds[%d]: spins %d and %d are not both between 0 and %d", k, b.I, b.J, t.Spins-1)
		case b.I == b.J:
			return fmt.Errorf("bonds[%d]: spin %d is coupled to itself", k, b.I)
		case math.IsNaN(b.Coupling) || math.IsInf(b.Coupling, 0):
			return fmt.Errorf("bonds[%d]: the coupling %v is not finite", k, b.Coupling)
		}
	}
	if math.IsNaN(t.Offset) || math.IsInf(t.Offset, 0) {
		return fmt.Errorf("offset: %v is not finite", t.Offset)
	}
	if t.Fields != nil && len(t.Fields) != t.Spins {
		return fmt.Errorf("fields: %d numbers for %d spins", len(t.Fields), t.Spins)
	}
	for i, h := range t.Fields {
		if math.IsNaN(h) || math.IsInf(h, 0) {
			return fmt.Errorf("fields[%d]: %v is not finite", i, h)
		}
	}
	return nil
}

// odd reports whether E(−s) = E(s).
func (t *Target) odd() bool {
	for _, h := range t.Fields {
		if h != 0 {
			return false
		}
	}
	return true
}

func (t *Target) field(i int) float64 {
	if t.Fields == nil {
		return 0
	}
	return t.Fields[i]
}

// A neighbour of a spin.
type neighbour struct {
	spin     int
	coupling float64
}

// neighbours lists every spin's neighbours in the order of the bonds, several
// bonds between two spins added up.
func (t *Target) neighbours() [][]neighbour {
	all := make([][]neighbour, t.Spins)
	add := func(i, j int, c float64) {
		for k := range all[i] {
			if all[i][k].spin == j {
				all[i][k].coupling += c
				return
			}
		}
		all[i] = append(all[i], neighbour{j, c})
	}
	for _, b := range t.Bonds {
		add(b.I, b.J, b.Coupling)
		add(b.J, b.I, b.Coupling)
	}
	return all
}

// square returns the periodic square lattice with the bonds of package
// bitspin: from each site, row·side + column, to the right and downwards.
func square(side int, j, h, beta float64) Target {
	t := Target{Spins: side * side, Beta: beta}
	for r := range side {
		for c := range side {
			i := r*side + c
			t.Bonds = append(t.Bonds, Bond{i, r*side + (c+1)%side, j}, Bond{i, (r+1)%side*side + c, j})
		}
	}
	if h != 0 {
		t.Fields = make([]float64, t.Spins)
		for i := range t.Fields {
			t.Fields[i] = h
		}
	}
	return t
}
