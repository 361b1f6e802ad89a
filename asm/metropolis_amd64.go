//go:build !purego

package asm

func (s *Sweep) shared(spins []uint64, draws []uint32, first, end, colour int, fetch bool) {
	if !useAVX2 {
		s.sharedGeneric(spins, draws, first, end, colour, fetch)
		return
	}
	if useAVX512 && s.step() == 2 && s.opposite == 0 {
		ahead := 0
		if fetch && s.l >= aheadSide {
			ahead = s.l * ReplicaWords * 8
		}
		if pairs := (end - first) &^ 1; pairs > 0 {
			last := first + pairs
			metropolisPairsAVX512(&spins[0], &draws[0], s.l, first, last, colour, 3*ahead, uint32(s.two), uint32(s.one), uint32(s.none))
			if last == end {
				return
			}
			first, draws = last, draws[pairs*s.l/2:]
		}
		metropolisRowsAVX512(&spins[0], &draws[0], s.l, first, end, colour, ahead, uint32(s.two), uint32(s.one), uint32(s.none))
		return
	}
	metropolisSharedVector(&spins[0], &draws[0], s.l, first, end, colour, s.step(), s.two, s.one, s.none, s.opposite)
}

func (s *Sweep) independent(spins []uint64, g *Xoshiro, first, end, colour int) {
	if useAVX2 {
		metropolisIndependentVector(&spins[0], (*[4][8]uint64)(g), &s.planes, s.l, first, end, colour, s.step(), s.opposite)
	} else {
		s.independentGeneric(spins, g, first, end, colour)
	}
}

func (h *LatticeHeatBath) redraw(spins []uint64, sites []Neighbourhood, g *Xoshiro) {
	if useAVX2 {
		latticeHeatBathVector(&spins[0], (*[5]uint32)(&sites[0]), len(sites), (*[4][8]uint64)(g), &h.planes)
	} else {
		h.redrawGeneric(spins, sites, g)
	}
}

// aheadSide is the side from which on a lattice outgrows the caches near a core.
const aheadSide = 192
