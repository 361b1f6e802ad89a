// Package simd has what the generators share: sizes of vector registers, instructions
// that are named differently for each, parameters, and constants.
package simd

import (
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// An ISA is a size of vector registers.
type ISA struct {
	Suffix string // of its kernels' names
	Bytes  int    // of a vector
}

// The instruction sets: AVX-512 with BW, DQ and VL, and AVX2 with FMA and BMI.
var (
	AVX512 = &ISA{"AVX512", 64}
	AVX2   = &ISA{"AVX2", 32}
)

// Wide says whether this is AVX-512.
func (w *ISA) Wide() bool { return w.Bytes == 64 }

// Lanes returns the number of lanes of 32 bits.
func (w *ISA) Lanes() int { return w.Bytes / 4 }

// Vector returns a register.
func (w *ISA) Vector() VecVirtual {
	if w.Wide() {
		return ZMM()
	}
	return YMM()
}

// Mask returns a register for which lanes to keep.
func (w *ISA) Mask() Register {
	if w.Wide() {
		return K()
	}
	return YMM()
}

// Vectors returns n registers.
func (w *ISA) Vectors(n int) []VecVirtual {
	v := make([]VecVirtual, n)
	for i := range v {
		v[i] = w.Vector()
	}
	return v
}

// said are the kernels' doc comments so far, without the suffixes.
var said = map[string]bool{}

// Kernel begins a function whose doc comment is its name and what it does. That is not said
// again of the other paths' kernels.
func (w *ISA) Kernel(name, signature string, does ...string) {
	TEXT(name+w.Suffix, NOSPLIT, signature)
	if words := strings.Join(does, "\n"); !said[name+words] {
		said[name+words] = true
		Doc(append([]string{name + w.Suffix + " " + does[0]}, does[1:]...)...)
	}
	Pragma("noescape")
}

// Leave ends a kernel: the upper halves of registers are clear when code without VEX follows.
func Leave() {
	VZEROUPPER()
	RET()
}

func (w *ISA) And(a, b Op, to VecVirtual)    { w.logic(VPANDD, VPAND, a, b, to) }
func (w *ISA) AndNot(a, b Op, to VecVirtual) { w.logic(VPANDND, VPANDN, a, b, to) } // a and not b
func (w *ISA) Or(a, b Op, to VecVirtual)     { w.logic(VPORD, VPOR, a, b, to) }
func (w *ISA) Xor(a, b Op, to VecVirtual)    { w.logic(VPXORD, VPXOR, a, b, to) }

func (w *ISA) logic(wide func(...Op), narrow func(a, b, to Op), a, b Op, to VecVirtual) {
	if w.Wide() {
		wide(a, b, to)
	} else {
		narrow(a, b, to)
	}
}

// Move copies a vector of integers from or to memory.
func (w *ISA) Move(from, to Op) {
	if w.Wide() {
		VMOVDQU64(from, to)
	} else {
		VMOVDQU(from, to)
	}
}

// Clear clears registers, which are free before.
func (w *ISA) Clear(v ...VecVirtual) {
	for _, r := range v {
		w.Xor(r, r, r)
	}
}

// Ones sets all bits of a register.
func (w *ISA) Ones(v VecVirtual) {
	if w.Wide() {
		VPTERNLOGD(Imm(0xFF), v, v, v)
	} else {
		VPCMPEQD(v, v, v)
	}
}

// Gather emits a gathering load of all lanes.
func (w *ISA) Gather(load func(a, b, to Op), entries Mem, to VecVirtual) {
	if w.Wide() {
		all := K()
		KXNORW(all, all, all)
		load(entries, all, to)
		return
	}
	all := w.Vector()
	VPCMPEQD(all, all, all)
	load(all, entries, to)
}

// Reduce returns what an operation makes of all lanes of 64 bits.
func (w *ISA) Reduce(v VecVirtual, by func(a, b, to Op)) GPVirtual {
	half, from := XMM(), v.AsY()
	if w.Wide() {
		upper := YMM()
		VEXTRACTI64X4(Imm(1), v, upper)
		by(upper, from, upper)
		from = upper
	}
	VEXTRACTI128(Imm(1), from, half)
	by(half, from.(Vec).AsX(), half)
	other, result := XMM(), GP64()
	VPUNPCKHQDQ(half, half, other)
	by(other, half, half)
	VMOVQ(half, result)
	return result
}

// Broadcast fills a vector with copies of a 64-bit register.
func (w *ISA) Broadcast(from Register) VecVirtual {
	v := w.Vector()
	if w.Wide() {
		VPBROADCASTQ(from, v)
		return v
	}
	x := XMM()
	VMOVQ(from, x)
	VPBROADCASTQ(x, v)
	return v
}

// Loaded returns a register with what is in memory.
func (w *ISA) Loaded(from Op) VecVirtual {
	v := w.Vector()
	VMOVUPS(from, v)
	return v
}

// Spread returns a register with copies of a float32 in memory.
func (w *ISA) Spread(from Mem) VecVirtual {
	v := w.Vector()
	VBROADCASTSS(from, v)
	return v
}

// Zeros returns a register that is clear.
func (w *ISA) Zeros() VecVirtual {
	v := w.Vector()
	VXORPS(v, v, v)
	return v
}

// Zero clears registers, which the allocator of registers takes to be in use before.
func Zero(v ...VecVirtual) {
	for _, r := range v {
		VXORPS(r, r, r)
	}
}

// Argument returns a parameter as a memory operand.
func Argument(name string) Mem {
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// Number loads a parameter of 64 bits, Address a slice's address, Length its length,
// and Bytes a count of floats in bytes.
func Number(name string) GPVirtual  { return Load(Param(name), GP64()).(GPVirtual) }
func Address(name string) GPVirtual { return Load(Param(name).Base(), GP64()).(GPVirtual) }
func Length(name string) GPVirtual  { return Load(Param(name).Len(), GP64()).(GPVirtual) }

func Bytes(name string) GPVirtual {
	r := Number(name)
	SHLQ(Imm(2), r)
	return r
}

// Copy copies a register, or 64 bits in memory.
func Copy(from Op) GPVirtual {
	c := GP64()
	MOVQ(from, c)
	return c
}

// Side emits an instruction for vectors side by side, few of which wait for others. An operand
// is a list of as many, or one that serves all.
func Side(instruction func(...Op), operands ...any) {
	for i, n := 0, 1; i < n; i++ {
		var own []Op
		for _, o := range operands {
			switch o := o.(type) {
			case []VecVirtual:
				own, n = append(own, o[i]), len(o)
			case []Op:
				own, n = append(own, o[i]), len(o)
			case Op:
				own = append(own, o)
			}
		}
		instruction(own...)
	}
}

// AddressOf returns a register with the address of memory.
func AddressOf(m Mem) GPVirtual {
	a := GP64()
	LEAQ(m, a)
	return a
}

// Before emits a jump to a label unless an address is behind a slice of float64.
func Before(slice string, at Register, again string) {
	end := Length(slice)
	SHLQ(Imm(3), end)
	ADDQ(Address(slice), end)
	CMPQ(at, end)
	JB(LabelRef(again))
}

// At returns the memory that a displacement follows.
func At(base Register, displacement int) Mem { return Mem{Base: base, Disp: displacement} }

// Within returns the memory that an offset in bytes and a displacement follow.
func Within(base, offset Register, displacement int) Mem {
	return Mem{Base: base, Index: offset, Scale: 1, Disp: displacement}
}
