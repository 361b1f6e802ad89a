package hierarchy

import (
	"slices"

	"github.com/revgen/revgen/engine/spins"
	"github.com/revgen/revgen/internal/lists"
)

// A Bond couples spins I and J with energy −Coupling·s_I·s_J.
type Bond = spins.Edge

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

func (t *Target) field(i int) float64 {
	if t.Fields == nil {
		return 0
	}
	return t.Fields[i]
}

type neighbour struct {
	spin     int
	coupling float64
}

// neighbours lists the neighbours of every spin in the order of the bonds, and adds up
// bonds between the same two spins.
func (t *Target) neighbours() [][]neighbour {
	near := make([][]neighbour, t.Spins)
	for _, b := range t.Bonds {
		near[b.I] = append(near[b.I], neighbour{b.J, b.Coupling})
		near[b.J] = append(near[b.J], neighbour{b.I, b.Coupling})
	}
	at := make([]int, t.Spins) // one more than the index of a neighbour in kept
	for i, list := range near {
		kept := list[:0]
		for _, n := range list {
			if k := at[n.spin]; k > 0 {
				kept[k-1].coupling += n.coupling
				continue
			}
			kept = append(kept, n)
			at[n.spin] = len(kept)
		}
		for _, n := range kept {
			at[n.spin] = 0
		}
		near[i] = kept
	}
	return near
}

// adjacent returns the neighbours without their couplings.
func adjacent(near [][]neighbour) [][]int32 {
	return lists.Map(near, func(list []neighbour) []int32 {
		return lists.Map(list, func(n neighbour) int32 { return int32(n.spin) })
	})
}

// square returns the periodic square lattice with the bonds of package
// bitspin: from each site, row·side + column, to the right and downwards.
func square(side int, j, h, beta float64) Target {
	t := Target{Spins: side * side, Beta: beta}
	for r := range side {
		for c := range side {
			i := r*side + c
			t.Bonds = append(t.Bonds, Bond{I: i, J: r*side + (c+1)%side, Coupling: j}, Bond{I: i, J: (r+1)%side*side + c, Coupling: j})
		}
	}
	if h != 0 {
		t.Fields = slices.Repeat([]float64{h}, t.Spins)
	}
	return t
}
