package simd

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// FirstLanes returns masks that select the first n lanes of 32 bits, or all if n is larger, of
// some vectors side by side. With AVX-512 it returns the mask of one vector. The pool takes the
// numbers of lanes.
func (w *ISA) FirstLanes(n Register, vectors int, pool *Pool) []Register {
	if w.Wide() {
		ones, count, limit := GP64(), Copy(n), GP64()
		MOVQ(U32(16), limit)
		CMPQ(count, limit)
		CMOVQGT(limit, count)
		MOVQ(I32(-1), ones)
		BZHIQ(count, ones, ones)
		mask := K()
		KMOVW(ones.As32(), mask)
		return []Register{mask}
	}
	all, count := YMM(), XMM()
	VMOVD(n.(GP).As32(), count)
	VPBROADCASTD(count, all)
	masks := make([]Register, vectors)
	for v := range uint32(vectors) {
		mask := all
		if int(v) < vectors-1 {
			mask = YMM()
		}
		VPCMPGTD(pool.Vector32(8*v, 8*v+1, 8*v+2, 8*v+3, 8*v+4, 8*v+5, 8*v+6, 8*v+7), all, mask)
		masks[v] = mask
	}
	return masks
}

// LoadLanes loads the lanes that a mask selects, and sets the others to 0. A nil mask selects all.
func (w *ISA) LoadLanes(from Mem, mask, to Register) {
	switch {
	case mask == nil:
		VMOVUPS(from, to)
	case w.Wide():
		VMOVUPS_Z(from, mask, to)
	default:
		VMASKMOVPS(from, mask, to)
	}
}

// AddLanes adds numbers in memory to the lanes that a mask selects. A nil mask selects all.
func (w *ISA) AddLanes(from Mem, mask Register, sum VecVirtual) {
	if mask == nil {
		VADDPS(from, sum, sum)
		return
	}
	x := w.Vector()
	w.LoadLanes(from, mask, x)
	VADDPS(x, sum, sum)
}

// StoreLanes stores only the lanes that a mask selects. A nil mask selects all.
func (w *ISA) StoreLanes(from, mask Register, to Mem) {
	switch {
	case mask == nil:
		VMOVUPS(from, to)
	case w.Wide():
		VMOVUPS(from, mask, to)
	default:
		VMASKMOVPS(from, mask, to)
	}
}
