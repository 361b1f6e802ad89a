//go:build !amd64 || purego

package asm

func (h *LatticeHeatBath) redraw(spins []uint64, sites []Neighbourhood, g *Xoshiro) {
	h.redrawGeneric(spins, sites, g)
}
