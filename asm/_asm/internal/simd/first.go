package simd

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// First returns what selects the first n lanes of 32 bits, or all if n is more, of one
// vector, and of AVX2's also of several side by side. The pool has the numbers of lanes.
func (w *ISA) First(n Register, vectors int, pool *Pool) []Register {
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

// LoadFirst loads the lanes that a mask selects, and 0 for the others; without one all.
func (w *ISA) LoadFirst(from Mem, mask, to Register) {
	switch {
	case mask == nil:
		VMOVUPS(from, to)
	case w.Wide():
		VMOVUPS_Z(from, mask, to)
	default:
		VMASKMOVPS(from, mask, to)
	}
}

// AddFirst adds the numbers in memory of the lanes that a mask selects; without one all.
func (w *ISA) AddFirst(from Mem, mask Register, sum VecVirtual) {
	if mask == nil {
		VADDPS(from, sum, sum)
		return
	}
	x := w.Vector()
	w.LoadFirst(from, mask, x)
	VADDPS(x, sum, sum)
}

// StoreFirst stores the lanes that a mask selects, and nothing else; without one all.
func (w *ISA) StoreFirst(from, mask Register, to Mem) {
	switch {
	case mask == nil:
		VMOVUPS(from, to)
	case w.Wide():
		VMOVUPS(from, mask, to)
	default:
		VMASKMOVPS(from, mask, to)
	}
}
