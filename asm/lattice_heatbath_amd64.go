//go:build !purego

package asm

func (h *LatticeHeatBath) redraw(spins []uint64, sites []Neighbourhood, g *Xoshiro) {
	switch {
	case useAVX512:
		latticeHeatBathAVX512(&spins[0], (*[5]uint32)(&sites[0]), len(sites), (*[4][8]uint64)(g), &h.planes)
	case useAVX2:
		latticeHeatBathAVX2(&spins[0], (*[5]uint32)(&sites[0]), len(sites), (*[4][8]uint64)(g), &h.planes)
	default:
		h.redrawGeneric(spins, sites, g)
	}
}
