// Command gaussian generates the kernels that evaluate Gaussians of eight rows at once:
// whitening, their slopes, and the moments of their gradients. All arithmetic is the generic
// kernels', operation by operation and without fused multiply-adds, so that all paths give the same bits.
package main

import (
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
		addMoments(w)
		addSlope(w)
	}
	Generate()
}

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
	w.Kernel("whiten", "func(squares *[8]float64, y, x, mean, inverse []float64)", "is whitenGeneric.")
	y, x, mean, inverse := Address("y"), Address("x"), Address("mean"), Address("inverse")
	squares, d := Number("squares"), Length("mean")

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

	Comment("Rows of the triangle from the last, which n counts: four at once, then one by one.",
		"row is where the last of them begins, and to where its y is.")
	n, row := Copy(d), Copy(d)
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

	Comment("squares")
	sum := newOctet(w)
	Zero(sum...)
	loop("square", d, 1, func() {
		value := newOctet(w)
		value.load(w, At(y, 0))
		for i, v := range value {
			VMULPD(v, v, v)
			VADDPD(v, sum[i], sum[i])
		}
		ADDQ(Imm(octetBytes), y)
		DECQ(d)
	})
	sum.store(w, At(squares, 0))
	Leave()
}

// rows emits body for each row i of v times the factors at f, with the address of column i of
// another matrix, which is the last of row i of a triangle.
func rows(w *ISA, v, length, f, columns Register, body func(scaled octet, last Register)) {
	end := Copy(length)
	SHLQ(Imm(3), end)
	ADDQ(v, end)
	factor := newOctet(w)
	factor.load(w, At(f, 0))
	last := Copy(columns)
	Label("row")
	CMPQ(v, end)
	JAE(LabelRef("done"))
	scaled := newOctet(w)
	for i, f := range factor {
		VMULPD(At(v, i*w.Bytes), f, scaled[i])
	}
	body(scaled, last)
	ADDQ(Imm(octetBytes), last)
	ADDQ(Imm(octetBytes), v)
	JMP(LabelRef("row"))
	Label("done")
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

func addMoments(w *ISA) {
	w.Kernel("addMoments", "func(sums []float32, f *[8]float64, v, y []float64)", "is addMomentsGeneric.")
	sums, f, v, y := Address("sums"), Number("f"), Address("v"), Address("y")
	length := Length("v")
	triangle := Copy(length) // d = length/8 numbers of 4 bytes after sums
	SHRQ(Imm(1), triangle)
	ADDQ(sums, triangle)
	rows(w, v, length, f, y, func(scaled octet, last Register) {
		addSum(w, scaled, At(sums, 0))
		from := Copy(y)
		product := func(column int) octet {
			p := newOctet(w)
			for i, s := range scaled {
				VMULPD(At(from, column*octetBytes+i*w.Bytes), s, p[i])
			}
			return p
		}
		columns(from, last, func(n int) {
			if n == 4 {
				addSums(w, [4]octet{product(0), product(1), product(2), product(3)}, At(triangle, 0))
			} else {
				addSum(w, product(0), At(triangle, 0))
			}
			ADDQ(Imm(uint64(4*n)), triangle)
		})
		ADDQ(Imm(4), sums)
	})
}

func addSlope(w *ISA) {
	w.Kernel("addSlope", "func(slope []float64, f *[8]float64, v, inverse []float64)", "is addSlopeGeneric.")
	slope, f, v, inverse := Address("slope"), Number("f"), Address("v"), Address("inverse")
	rows(w, v, Length("v"), f, slope, func(scaled octet, last Register) {
		to := Copy(slope)
		columns(to, last, func(n int) {
			for c := range n {
				number, value := w.Vector(), newOctet(w)
				VBROADCASTSD(At(inverse, 8*c), number)
				value.load(w, At(to, c*octetBytes))
				for i, s := range scaled {
					t := w.Vector()
					VMULPD(number, s, t)
					VSUBPD(t, value[i], value[i])
				}
				value.store(w, At(to, c*octetBytes))
			}
			ADDQ(Imm(uint64(8*n)), inverse)
		})
	})
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

// fold returns the sums of the rows that are four apart.
func fold(w *ISA, x octet) VecVirtual {
	four := YMM()
	if w.Wide() {
		other := YMM()
		VEXTRACTF64X4(Imm(1), x[0], other)
		VADDPD(other, x[0].AsY(), four)
	} else {
		VADDPD(x[1], x[0], four)
	}
	return four
}

// addSum adds the sum over rows to a float32: those four apart, neighbours, and both halves.
func addSum(w *ISA, x octet, to Mem) {
	four := fold(w, x)
	VHADDPD(four, four, four)
	sum, rest := four.AsX(), XMM()
	VEXTRACTF128(Imm(1), four, rest)
	VADDSD(rest, sum, sum)
	VCVTSD2SS(sum, sum, sum)
	VADDSS(to, sum, sum)
	VMOVSS(sum, to)
}

// addSums is addSum of four at once.
func addSums(w *ISA, x [4]octet, to Mem) {
	a, b, c, d := fold(w, x[0]), fold(w, x[1]), fold(w, x[2]), fold(w, x[3])
	VHADDPD(b, a, a) // a0+a1 b0+b1 a2+a3 b2+b3
	VHADDPD(d, c, c)
	low := YMM()
	VPERM2F128(Imm(0x20), c, a, low)
	VPERM2F128(Imm(0x31), c, a, a)
	VADDPD(a, low, low)
	sum := XMM()
	VCVTPD2PSY(low, sum)
	VADDPS(to, sum, sum)
	VMOVUPS(sum, to)
}
