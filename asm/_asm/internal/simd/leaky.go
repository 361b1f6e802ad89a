package simd

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Comparisons that are false, or true for those named not, where an operand
// is NaN, and signal nothing.
const (
	Less       = 0x11
	NotLess    = 0x15
	NotGreater = 0x1a
	AtLeast    = 0x1d
	Greater    = 0x1e
)

// Positive returns the lanes of x that are greater than zero, for AVX-512 those
// that are not.
func (w *ISA) Positive(x, none VecVirtual) Register {
	if w.Wide() {
		rest := K()
		VCMPPS(Imm(NotGreater), none, x, rest)
		return rest
	}
	positive := w.Vector()
	VCMPPS(Imm(Greater), none, x, positive)
	return positive
}

// Leaky multiplies x by the slope but where positive says so.
func (w *ISA) Leaky(positive Register, x, slope VecVirtual) {
	if w.Wide() {
		VMULPS(slope, x, positive, x)
		return
	}
	scaled := w.Vector()
	VMULPS(slope, x, scaled)
	VBLENDVPS(positive, x, scaled, x)
}
