//go:build !amd64 || purego

package asm

func (s *Sweep) shared(spins []uint64, draws []uint32, first, end, colour int, _ bool) {
	s.sharedGeneric(spins, draws, first, end, colour)
}

func (s *Sweep) independent(spins []uint64, g *Xoshiro, first, end, colour int) {
	s.independentGeneric(spins, g, first, end, colour)
}
