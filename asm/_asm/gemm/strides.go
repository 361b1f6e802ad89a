package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// A strides is the bytes between rows, and three and five times as many, with
// which one base addresses seven rows.
type strides struct{ lda, lda3, lda5 Register }

// multiply sets the multiples.
func (s *strides) multiply() {
	s.lda3, s.lda5 = GP64(), GP64()
	LEAQ(Mem{Base: s.lda, Index: s.lda, Scale: 2}, s.lda3)
	LEAQ(Mem{Base: s.lda, Index: s.lda, Scale: 4}, s.lda5)
}

// sevenOn returns the base of the seven rows after those of base.
func (s *strides) sevenOn(base Register) Register {
	next := AddressOf(Mem{Base: base, Index: s.lda5, Scale: 1})
	LEAQ(Mem{Base: next, Index: s.lda, Scale: 2}, next)
	return next
}

// row addresses the start of row r.
func (s *strides) row(bases []Register, r int) Mem {
	m := Mem{Base: bases[r/7]}
	switch r % 7 {
	case 1, 2, 4:
		m.Index, m.Scale = s.lda, uint8(r%7)
	case 3, 6:
		m.Index, m.Scale = s.lda3, uint8(r%7/3)
	case 5:
		m.Index, m.Scale = s.lda5, 1
	}
	return m
}
