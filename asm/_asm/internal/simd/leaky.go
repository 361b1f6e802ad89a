package simd

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Comparisons, which do not signal. With a NaN those named Not are true and the others false.
const (
	Less       = 0x11
	NotLess    = 0x15
	NotGreater = 0x1a
	AtLeast    = 0x1d
	Greater    = 0x1e
)

// Positive returns a mask of the lanes of x that are greater than zero; with AVX-512 a mask of
// the others, which Leaky multiplies.
func (w *ISA) Positive(x, zero VecVirtual) Register {
	if w.Wide() {
		notPositive := K()
		VCMPPS(Imm(NotGreater), zero, x, notPositive)
		return notPositive
	}
	positive := w.Vector()
	VCMPPS(Imm(Greater), zero, x, positive)
	return positive
}

// Leaky multiplies by the slope the lanes of x that are not positive, given Positive's mask.
func (w *ISA) Leaky(positive Register, x, slope VecVirtual) {
	if w.Wide() {
		VMULPS(slope, x, positive, x)
		return
	}
	scaled := w.Vector()
	VMULPS(slope, x, scaled)
	VBLENDVPS(positive, x, scaled, x)
}
