// Command spins generates the kernels that pack signs into bits and unpack
// them, and the exchange of configurations with sites. A row of signs is taken in
// steps of one vector; in the last, masked loads and stores touch only what belongs
// to it.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// A path is an instruction set.
type path struct{ *ISA }

var constants = NewPool("spinsConstants")

func main() {
	ConstraintExpr("amd64,!purego")
	for _, p := range []path{{AVX512}, {AVX2}} {
		p.signMask()
		p.unpack()
		p.transpose()
	}
	Generate()
}

// rows emits the loops over rows, words and vectors. Begin and end surround the
// steps of a word; a step works on the values at the given address, its bits
// being those from shift up.
func (p path) rows(values, rows, n Register, begin, end func(), step func(at Mem, mask, shift Register)) {
	left, shift := GP64(), GP64()
	Label("row")
	MOVQ(n, left)
	Label("word")
	begin()
	XORQ(shift, shift)
	Label("step")
	step(Mem{Base: values}, p.FirstLanes(left, 1, constants)[0], shift)
	ADDQ(Imm(uint64(4*p.Lanes())), values)
	ADDQ(Imm(uint64(p.Lanes())), shift)
	SUBQ(Imm(uint64(p.Lanes())), left)
	JLE(LabelRef("last"))
	CMPQ(shift, Imm(64))
	JLT(LabelRef("step"))
	end()
	JMP(LabelRef("word"))
	Label("last")
	end()
	Comment("The last step may have gone beyond the row: left is not above 0.")
	LEAQ(Mem{Base: values, Index: left, Scale: 4}, values)
	DECQ(rows)
	JNE(LabelRef("row"))
	Leave()
}

func (p path) signMask() {
	p.Kernel("signMask", "func(dst []uint64, logits []float32, rows, n int)",
		"is signMaskGeneric for at least one row.")
	dst, values, rows, n := Address("dst"), Address("logits"), Number("rows"), Number("n")
	zero, word := p.Vector(), GP64()
	VXORPS(zero.AsX(), zero.AsX(), zero.AsX())
	begin := func() { XORQ(word, word) }
	end := func() {
		MOVQ(word, Mem{Base: dst})
		ADDQ(Imm(8), dst)
	}
	p.rows(values, rows, n, begin, end, func(at Mem, mask, shift Register) {
		bits := GP64()
		if p.Wide() {
			k := K()
			VCMPPS(Imm(Less), at, zero, mask, k)
			KMOVW(k, bits.As32())
		} else {
			v := p.Vector()
			VMASKMOVPS(at, mask, v)
			VCMPPS(Imm(Less), v, zero, v)
			VMOVMSKPS(v, bits.As32())
		}
		SHLXQ(shift, bits, bits)
		ORQ(bits, word)
	})
}

func (p path) unpack() {
	p.Kernel("unpack", "func(dst []float32, spins []uint64, rows, n int)",
		"is unpackGeneric for at least one row.")
	values, spins, rows, n := Address("dst"), Address("spins"), Number("rows"), Number("n")
	word, up, down := GP64(), p.Vector(), p.Vector()
	VBROADCASTSS(constants.Number(1), up)
	VBROADCASTSS(constants.Number(-1), down)
	var bit VecVirtual
	if !p.Wide() {
		bit = p.Vector()
		VMOVDQU(constants.Vector32(1, 2, 4, 8, 16, 32, 64, 128), bit)
	}
	begin := func() {
		MOVQ(Mem{Base: spins}, word)
		ADDQ(Imm(8), spins)
	}
	p.rows(values, rows, n, begin, func() {}, func(at Mem, mask, _ Register) {
		v := p.Vector()
		if p.Wide() {
			k := K()
			KMOVW(word.As32(), k)
			VBLENDMPS(up, down, k, v)
		} else {
			x := XMM()
			VMOVD(word.As32(), x)
			VPBROADCASTD(x, v)
			VPAND(bit, v, v)
			VPCMPEQD(bit, v, v)
			VBLENDVPS(v, up, down, v)
		}
		p.StoreLanes(v, mask, at)
		SHRQ(Imm(uint64(p.Lanes())), word)
	})
}

// halves are the bits of a word that a step of so many rows leaves in the earlier row.
func halves(width int) uint64 {
	var m uint64
	for b := range 64 {
		if b&width == 0 {
			m |= 1 << b
		}
	}
	return m
}

// transpose emits the steps of 32 to 1 rows. Rows of two vectors exchange their
// quarters, rows of one by a vector with its rows swapped.
func (p path) transpose() {
	p.Kernel("transpose64", "func(a *[64]uint64)",
		"is transpose64Generic.")
	a := Number("a")
	rows := p.Lanes() / 2 // of a vector
	mask := func(width int) VecVirtual {
		words := make([]uint64, rows)
		for i := range words {
			words[i] = halves(width)
			if i&width != 0 { // of a vector's later rows the others stay
				words[i] = ^words[i]
			}
		}
		m := p.Vector()
		p.Move(constants.Vector64(words...), m)
		return m
	}
	within := func(v VecVirtual, width int) {
		left, right := make([]uint64, rows), make([]uint64, rows)
		for i := range left {
			left[i], right[i] = uint64(width), 64 // a shift by 64 gives zero
			if i&width != 0 {
				left[i], right[i] = 64, uint64(width)
			}
		}
		swapped := p.Vector()
		switch {
		case width == 4:
			VSHUFI64X2(Imm(0x4E), v, v, swapped)
		case width == 2:
			VPERMQ(Imm(0x4E), v, swapped)
		default:
			VPSHUFD(Imm(0x4E), v, swapped)
		}
		other := p.Vector()
		VPSLLVQ(constants.Vector64(left...), swapped, other)
		VPSRLVQ(constants.Vector64(right...), swapped, swapped)
		p.Or(other, swapped, swapped)
		p.choose(mask(width), v, swapped)
	}
	between := func(v, w VecVirtual, width int) {
		x := p.Vector()
		VPSRLQ(Imm(uint64(width)), v, x)
		p.Xor(w, x, x)
		p.And(mask(width), x, x)
		p.Xor(x, w, w)
		VPSLLQ(Imm(uint64(width)), x, x)
		p.Xor(x, v, v)
	}
	// A pass takes 4 or 8 vectors through the steps that they hold all rows of.
	pass := func(first, apart int, widths ...int) {
		v := make([]VecVirtual, p.Lanes()/2)
		for i := range v {
			v[i] = p.Vector()
			p.Move(Mem{Base: a, Disp: 8 * (first + apart*i)}, v[i])
		}
		for _, width := range widths {
			for i := range v {
				switch step := width / apart; {
				case width < rows:
					within(v[i], width)
				case i&step == 0:
					between(v[i], v[i+step], width)
				}
			}
		}
		for i, v := range v {
			p.Move(v, Mem{Base: a, Disp: 8 * (first + apart*i)})
		}
	}
	if p.Wide() {
		pass(0, 8, 32, 16, 8, 4, 2, 1)
	} else {
		for first := 0; first < 16; first += 4 {
			pass(first, 16, 32, 16)
		}
		for first := 0; first < 64; first += 16 {
			pass(first, 4, 8, 4, 2, 1)
		}
	}
	Leave()
}

// choose replaces the bits of v that are not in the mask by those of other.
func (p path) choose(mask, v, other VecVirtual) {
	p.Xor(v, other, other)
	p.AndNot(other, mask, mask)
	p.Xor(mask, v, v)
}
