// Package simd is shared by the generators. It has the sizes of vector registers, the
// instructions whose names depend on the size, and access to parameters and constants.
package simd

import (
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// An ISA is a size of vector registers.
type ISA struct {
	Suffix string // of the kernels' names
	Bytes  int    // of a vector
}

// The instruction sets: AVX-512 with BW, DQ and VL, and AVX2 with FMA and BMI.
var (
	AVX512 = &ISA{"AVX512", 64}
	AVX2   = &ISA{"AVX2", 32}
)

// Wide reports whether this is AVX-512.
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

// Mask returns a register that selects lanes.
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

// documented has the kernels' doc comments so far, without the suffixes.
var documented = map[string]bool{}

// Kernel begins a function. Its doc comment is its name and the lines of doc, and is left out
// of the kernels of further paths.
func (w *ISA) Kernel(name, signature string, doc ...string) {
	TEXT(name+w.Suffix, NOSPLIT, signature)
	if text := strings.Join(doc, "\n"); !documented[name+text] {
		documented[name+text] = true
		Doc(append([]string{name + w.Suffix + " " + doc[0]}, doc[1:]...)...)
	}
	Pragma("noescape")
}

// Leave ends a kernel. It clears the upper halves of registers, which would slow down code
// without VEX.
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

// Clear sets registers to 0. The allocator of registers takes them to be free before.
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

// Reduce combines all lanes of 64 bits by an operation.
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

// LoadVector returns a register that is loaded from memory.
func (w *ISA) LoadVector(from Op) VecVirtual {
	v := w.Vector()
	VMOVUPS(from, v)
	return v
}

// BroadcastFloat returns a register with copies of a float32 in memory.
func (w *ISA) BroadcastFloat(from Mem) VecVirtual {
	v := w.Vector()
	VBROADCASTSS(from, v)
	return v
}

// Zeros returns a register of zeros.
func (w *ISA) Zeros() VecVirtual {
	v := w.Vector()
	VXORPS(v, v, v)
	return v
}

// Zero sets registers to 0. The allocator of registers takes them to be in use before.
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

// ForEach emits an instruction for each of some vectors, side by side, as they do not wait for
// each other. An operand is a list of as many, or a single one for all.
func ForEach(instruction func(...Op), operands ...any) {
	for i, n := 0, 1; i < n; i++ {
		var ops []Op
		for _, o := range operands {
			switch o := o.(type) {
			case []VecVirtual:
				ops, n = append(ops, o[i]), len(o)
			case []Op:
				ops, n = append(ops, o[i]), len(o)
			case Op:
				ops = append(ops, o)
			}
		}
		instruction(ops...)
	}
}

// AddressOf returns a register with the address of memory.
func AddressOf(m Mem) GPVirtual {
	a := GP64()
	LEAQ(m, a)
	return a
}

// JumpBefore emits a jump to a label if an address is before the end of a slice of float64.
func JumpBefore(slice string, address Register, label string) {
	end := Length(slice)
	SHLQ(Imm(3), end)
	ADDQ(Address(slice), end)
	CMPQ(address, end)
	JB(LabelRef(label))
}

// At returns the memory at a displacement from a base address.
func At(base Register, displacement int) Mem { return Mem{Base: base, Disp: displacement} }

// AtOffset returns the memory at an offset in bytes and a displacement from a base address.
func AtOffset(base, offset Register, displacement int) Mem {
	return Mem{Base: base, Index: offset, Scale: 1, Disp: displacement}
}
