//go:build !purego

package asm

func (s *Sweep) shared(spins []uint64, draws []uint32, first, end, colour int) {
	switch {
	case useAVX512:
		metropolisSharedAVX512(&spins[0], &draws[0], s.l, first, end, colour, s.step(), s.two, s.one, s.none, s.opposite)
	case useAVX2:
		metropolisSharedAVX2(&spins[0], &draws[0], s.l, first, end, colour, s.step(), s.two, s.one, s.none, s.opposite)
	default:
		s.sharedGeneric(spins, draws, first, end, colour)
	}
}

func (s *Sweep) independent(spins []uint64, g *Xoshiro, first, end, colour int) {
	switch {
	case useAVX512:
		metropolisIndependentAVX512(&spins[0], (*[4][8]uint64)(g), &s.planes, s.l, first, end, colour, s.step(), s.opposite)
	case useAVX2:
		metropolisIndependentAVX2(&spins[0], (*[4][8]uint64)(g), &s.planes, s.l, first, end, colour, s.step(), s.opposite)
	default:
		s.independentGeneric(spins, g, first, end, colour)
	}
}
