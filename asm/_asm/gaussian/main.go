// Command gaussian generates the kernels that evaluate Gaussians of eight rows at once:
// whitening, their slopes, and the moments of their gradients. All arithmetic is the generic
// kernels', operation by operation and without fused multiply-adds, so that all paths give the same bits.
package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

const octetBytes = 8 * 8 // of the numbers of eight rows

func main() {
	ConstraintExpr("amd64,!purego")
	for _, w := range []*ISA{AVX512, AVX2} {
		whiten(w)
		gather(w)
		addProducts(w)
		addSlopes(w)
	}
	Generate()
}

var constants = NewPool("gaussianConstants")

// An octet is one number of each row, in one or two registers.
type octet []VecVirtual

func newOctet(w *ISA) octet { return w.Vectors(octetBytes / w.Bytes) }

// each emits an instruction for each register of an octet, given its part of the memory.
func (l octet) each(w *ISA, at Mem, emit func(m Mem, v VecVirtual)) {
	for i, v := range l {
		emit(at.Offset(i*w.Bytes), v)
	}
}

func (l octet) load(w *ISA, at Mem)  { l.each(w, at, func(m Mem, v VecVirtual) { VMOVUPD(m, v) }) }
func (l octet) store(w *ISA, at Mem) { l.each(w, at, func(m Mem, v VecVirtual) { VMOVUPD(v, m) }) }

// loop emits a body that is repeated while a number is at least limit, which it decreases.
func loop(name string, number Register, limit int, body func()) {
	JMP(LabelRef(name + "_next"))
	Label(name)
	body()
	Label(name + "_next")
	CMPQ(number, Imm(uint64(limit)))
	JGE(LabelRef(name))
}

func whiten(w *ISA) {
	w.Kernel("whiten", "func(y, x, mean, inverse []float64)", "is whitenGeneric.")
	y, x := Address("y"), Address("x")
	Label("group")
	mean, inverse, d := Address("mean"), Address("inverse"), Length("mean")
	Comment("y = x - mean")
	n, to := Copy(d), Copy(y)
	loop("center", n, 1, func() {
		m, value := w.Vector(), newOctet(w)
		VBROADCASTSD(At(mean, 0), m)
		value.load(w, At(x, 0))
		for _, v := range value {
			VSUBPD(m, v, v)
		}
		value.store(w, At(to, 0))
		ADDQ(Imm(8), mean)
		ADDQ(Imm(octetBytes), x)
		ADDQ(Imm(octetBytes), to)
		DECQ(n)
	})
	next := to

	Comment("Rows of the triangle from the last, which n counts: four at once, then one by one.",
		"row is where the last of them begins, and to where its y is.")
	n, row, to := Copy(d), Copy(d), Copy(to)
	DECQ(row)
	IMULQ(d, row) // d (d-1)/2 numbers of 8 bytes
	SHLQ(Imm(2), row)
	ADDQ(inverse, row)
	SUBQ(Imm(octetBytes), to)
	rows := func(count int) {
		starts, sums := make([]Register, count), make([]octet, count)
		for i := range starts { // of row n-1-i, which is n-1-i numbers before that of row n-i
			if starts[i] = row; i > 0 {
				start, length := Copy(starts[i-1]), Copy(n)
				SHLQ(Imm(3), length)
				SUBQ(length, start)
				ADDQ(Imm(uint64(8*i)), start)
				starts[i] = start
			}
			sums[i] = newOctet(w)
			Zero(sums[i]...)
		}
		column, from, end := GP64(), Copy(y), Copy(n)
		XORQ(column, column)
		add := func(upTo int) { // column of rows from the last to that of so many before it
			value := newOctet(w)
			value.load(w, At(from, 0))
			for i := range upTo {
				f := w.Vector()
				VBROADCASTSD(Mem{Base: starts[i], Index: column, Scale: 8}, f)
				for h, v := range value {
					t := w.Vector()
					VMULPD(v, f, t)
					VADDPD(t, sums[i][h], sums[i][h])
				}
			}
			INCQ(column)
			ADDQ(Imm(octetBytes), from)
		}
		SUBQ(Imm(uint64(count-1)), end) // columns that all rows have
		name := map[int]string{1: "one", 4: "four"}[count]
		Label(name + "_column")
		add(count)
		CMPQ(column, end)
		JB(LabelRef(name + "_column"))
		for upTo := count - 1; upTo > 0; upTo-- {
			add(upTo)
		}
		for i, sum := range sums {
			sum.store(w, At(to, -i*octetBytes))
		}
		SUBQ(U32(count*octetBytes), to)
		SUBQ(Imm(uint64(count)), n)
		Comment("The row before the first of these.")
		MOVQ(starts[count-1], row)
		length := Copy(n)
		SHLQ(Imm(3), length)
		SUBQ(length, row)
	}
	loop("four", n, 4, func() { rows(4) })
	loop("one", n, 1, func() { rows(1) })

	MOVQ(next, y)
	JumpBefore("y", y, "group")
	Leave()
}

// groups emits body for each group of rows of which some count, given their shares. It
// advances addresses of numbers of each row, and of d numbers of each, to the next group.
func groups(w *ISA, numbers, coordinates []Register, body func(share octet, part []Register)) {
	share, size, least := Address("share"), Number("d"), w.Vector()
	SHLQ(Imm(6), size) // bytes of a group's coordinates
	VBROADCASTSD(constants.Vector64(math.Float64bits(1e-9)), least)
	Label("group")
	own, part := newOctet(w), make([]Register, octetBytes/w.Bytes)
	own.load(w, At(share, 0))
	for i, v := range own {
		part[i] = w.Mask()
		VCMPPD(Imm(NotLess), least, v, part[i])
	}
	if w.Wide() {
		KORTESTB(part[0], part[0])
	} else {
		some := YMM()
		VORPD(part[0], part[1], some)
		VPTEST(some, some)
	}
	JZ(LabelRef("next"))
	body(own, part)
	Label("next")
	for _, r := range append(numbers, share) {
		ADDQ(Imm(octetBytes), r)
	}
	for _, r := range coordinates {
		ADDQ(size, r)
	}
	JumpBefore("share", share, "group")
}

// masked emits the product of factors and an octet in memory, 0 of rows that take no part.
func masked(w *ISA, m Mem, f octet, part []Register) octet {
	product := newOctet(w)
	for i, v := range product {
		if own := m.Offset(i * w.Bytes); w.Wide() {
			VMULPD_Z(own, f[i], part[i], v)
		} else {
			VANDPD(own, part[i], v)
			VMULPD(v, f[i], v)
		}
	}
	return product
}

func gather(w *ISA) {
	w.Kernel("gather", "func(u, w, share, c, v, y []float64, d int) (groups int)", "is gatherGeneric.")
	c, v, y := Address("c"), Address("v"), Address("y")
	u, other, taken, one := Address("u"), Address("w"), GP64(), w.Vector()
	XORQ(taken, taken)
	VBROADCASTSD(constants.Vector64(math.Float64bits(1)), one)
	groups(w, []Register{c}, []Register{v, y}, func(share octet, part []Register) {
		INCQ(taken)
		f := newOctet(w)
		for i, s := range share {
			if m := At(c, i*w.Bytes); w.Wide() {
				VMULPD_Z(m, s, part[i], f[i])
				VMOVAPD_Z(one, part[i], s)
			} else {
				VANDPD(s, part[i], s)
				VMULPD(m, s, f[i])
				VANDPD(f[i], part[i], f[i])
				VANDPD(one, part[i], s)
			}
		}
		at, n := GP64(), Number("d")
		XORQ(at, at)
		f.store(w, At(u, 0))
		share.store(w, At(other, 0))
		Label("coordinate")
		ADDQ(Imm(octetBytes), u)
		ADDQ(Imm(octetBytes), other)
		masked(w, AtOffset(v, at, 0), f, part).store(w, At(u, 0))
		for i, p := range part {
			value := w.Vector()
			if m := AtOffset(y, at, i*w.Bytes); w.Wide() {
				VMOVUPD_Z(m, p, value)
			} else {
				VANDPD(m, p, value)
			}
			VMOVUPD(value, At(other, i*w.Bytes))
		}
		ADDQ(Imm(octetBytes), at)
		DECQ(n)
		JNZ(LabelRef("coordinate"))
		ADDQ(Imm(octetBytes), u)
		ADDQ(Imm(octetBytes), other)
	})
	Store(taken, Return("groups"))
	Leave()
}

// addProducts emits, for each row i, sums over all groups of up to four columns at once, and then
// over rows.
func addProducts(w *ISA) {
	w.Kernel("addProducts", "func(sums, u, w []float64, n, columns int)", "is addProductsGeneric.")
	sums, u, size, row, end := Address("sums"), Address("u"), Number("n"), GP64(), Length("u")
	SHLQ(Imm(6), size) // bytes of a group
	SHLQ(Imm(3), end)
	ADDQ(u, end)
	XORQ(row, row)
	Label("row")
	INCQ(row)
	from, left := Address("w"), Number("columns")
	CMPQ(row, left)
	CMOVQLT(row, left)
	tile := func(columns int) {
		acc, a, b := make([]octet, columns), Copy(u), Copy(from)
		for c := range acc {
			acc[c] = newOctet(w)
			Zero(acc[c]...)
		}
		name := string("01234"[columns])
		Label("groups_" + name)
		x := newOctet(w)
		x.load(w, At(a, 0))
		for c, sum := range acc {
			for i, v := range x {
				t := w.Vector()
				VMULPD(At(b, c*octetBytes+i*w.Bytes), v, t)
				VADDPD(t, sum[i], sum[i])
			}
		}
		ADDQ(size, a)
		ADDQ(size, b)
		CMPQ(a, end)
		JB(LabelRef("groups_" + name))
		addSums(w, acc, At(sums, 0))
		ADDQ(Imm(uint64(8*columns)), sums)
	}
	loop("tile", left, 4, func() {
		tile(4)
		ADDQ(U32(4*octetBytes), from)
		SUBQ(Imm(4), left)
	})
	for columns := 3; columns > 0; columns-- {
		next := "less_than_" + string("0123"[columns])
		CMPQ(left, Imm(uint64(columns)))
		JNE(LabelRef(next))
		tile(columns)
		Label(next)
	}
	ADDQ(Imm(octetBytes), u)
	CMPQ(row, Number("n"))
	JB(LabelRef("row"))
	Leave()
}

func addSlopes(w *ISA) {
	w.Kernel("addSlopes", "func(slope, share, v, inverse []float64, d int)", "is addSlopesGeneric.")
	slope, v := Address("slope"), Address("v")
	groups(w, nil, []Register{slope, v}, func(share octet, part []Register) {
		inverse, from, last, n := Address("inverse"), Copy(v), Copy(slope), Number("d")
		Label("row")
		scaled, to := masked(w, At(from, 0), share, part), Copy(slope)
		columns(to, last, func(n int) {
			for c := range n {
				number, value := w.Vector(), newOctet(w)
				VBROADCASTSD(At(inverse, 8*c), number)
				value.load(w, At(to, c*octetBytes))
				for i, s := range scaled {
					t := w.Vector()
					VMULPD(number, s, t)
					VADDPD(t, value[i], value[i])
				}
				value.store(w, At(to, c*octetBytes))
			}
			ADDQ(Imm(uint64(8*n)), inverse)
		})
		ADDQ(Imm(octetBytes), from)
		ADDQ(Imm(octetBytes), last)
		DECQ(n)
		JNZ(LabelRef("row"))
	})
	Leave()
}

// columns emits body for four columns at once, then for one after another, from an address as long
// as the last is not behind it; it advances by so many.
func columns(from, last Register, body func(n int)) {
	ahead := Copy(from)
	ADDQ(Imm(3*octetBytes), ahead)
	advance := func(n int) {
		body(n)
		ADDQ(U32(uint32(n*octetBytes)), from)
		ADDQ(U32(uint32(n*octetBytes)), ahead)
	}
	loopWhile("four_columns", ahead, last, func() { advance(4) })
	loopWhile("column", from, last, func() { advance(1) })
}

// loopWhile emits a body that is repeated while one address is not beyond another.
func loopWhile(name string, at, last Register, body func()) {
	JMP(LabelRef(name + "_next"))
	Label(name)
	body()
	Label(name + "_next")
	CMPQ(at, last)
	JBE(LabelRef(name))
}

// addSums adds the sums over rows of up to four octets to as many numbers: those four
// apart, neighbours, and both halves.
func addSums(w *ISA, x []octet, to Mem) {
	var four []VecVirtual
	for _, o := range x {
		sum := YMM()
		if w.Wide() {
			VEXTRACTF64X4(Imm(1), o[0], sum)
			VADDPD(sum, o[0].AsY(), sum)
		} else {
			VADDPD(o[1], o[0], sum)
		}
		four = append(four, sum)
	}
	if len(x) == 4 {
		VHADDPD(four[1], four[0], four[0]) // a0+a1 b0+b1 a2+a3 b2+b3
		VHADDPD(four[3], four[2], four[2])
		low := YMM()
		VPERM2F128(Imm(0x20), four[2], four[0], low)
		VPERM2F128(Imm(0x31), four[2], four[0], four[0])
		VADDPD(four[0], low, low)
		VADDPD(to, low, low)
		VMOVUPD(low, to)
		return
	}
	for i, v := range four {
		VHADDPD(v, v, v)
		sum, rest, m := v.AsX(), XMM(), to.Offset(8*i)
		VEXTRACTF128(Imm(1), v, rest)
		VADDSD(rest, sum, sum)
		VADDSD(m, sum, sum)
		VMOVSD(sum, m)
	}
}
