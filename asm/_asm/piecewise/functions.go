package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

func (w *isa) function(name, signature, condition string) {
	w.Kernel(name, signature,
		"is "+name+"Generic for "+condition+".")
}

// countKnots holds a few vectors of numbers, whose counts are independent
// chains of additions, against one knot after the other.
func (w *isa) countKnots() {
	w.function("countKnots", "func(dst, x, knots []float32)", "one knot or more")
	dst, x, n := Address("dst"), Address("x"), Length("x")
	ones := broadcast(constants.Number(1), w.Vector())
	w.eachGroup(n, []Register{dst, x}, func(c group) {
		v, count := c.loads(At(x, 0)), w.Vectors(c.n)
		Zero(count...)
		knot, left := Address("knots"), Length("knots")
		label := fmt.Sprintf("knots%d", c.n)
		Label(label)
		k := broadcast(At(knot, 0), w.Vector())
		for i := range v {
			if w == avx512 {
				above := K()
				VCMPPS(Imm(AtLeast), k, v[i], above)
				VADDPS(ones, count[i], above, count[i])
			} else {
				above := w.Vector()
				VCMPPS(Imm(AtLeast), k, v[i], above)
				VANDPS(ones, above, above)
				VADDPS(above, count[i], count[i])
			}
		}
		ADDQ(Imm(4), knot)
		DECQ(left)
		JNZ(LabelRef(label))
		for i := range v {
			c.store(count[i], At(dst, 0), i)
		}
	})
	Leave()
}

func (w *isa) prefixRows() {
	w.function("prefixRows", "func(dst, w []float32, order []int32, factors []float32, out, columns int)", "one row or more")
	dst, matrix, left, stride := Address("dst"), Address("w"), Number("columns"), Bytes("out")
	w.eachGroup(left, []Register{dst, matrix}, func(c group) {
		to, order, factors, count := Copy(dst), Address("order"), Address("factors"), Length("order")
		first := c.loads(At(to, 0))
		second := c.loads(Mem{Base: to, Index: stride, Scale: 1})
		label := fmt.Sprintf("rows%d", c.n)
		Label(label)
		row := GP64()
		MOVLQSX(At(order, 0), row)
		IMULQ(stride, row)
		ADDQ(matrix, row)
		f0, f1 := broadcast(At(factors, 0), w.Vector()), broadcast(At(factors, 4), w.Vector())
		LEAQ(Mem{Base: to, Index: stride, Scale: 2}, to)
		for v := range first {
			x := c.load(At(row, 0), v)
			VFMADD231PS(f0, x, first[v])
			VFMADD231PS(f1, x, second[v])
			c.store(first[v], At(to, 0), v)
			c.store(second[v], Mem{Base: to, Index: stride, Scale: 1}, v)
		}
		ADDQ(Imm(4), order)
		ADDQ(Imm(8), factors)
		DECQ(count)
		JNZ(LabelRef(label))
	})
	Leave()
}

// rowOf returns the address of the two rows of a table of the piece at m. A
// number of a piece beyond the last is taken for the last, so that nothing
// outside of the table is touched.
func rowOf(table, stride Register, last Op, m Mem) Register {
	piece := GP64()
	VCVTTSS2SIQ(m, piece)
	CMPQ(piece, last)
	CMOVQHI(last, piece)
	IMULQ(stride, piece)
	LEAQ(Mem{Base: table, Index: piece, Scale: 2}, piece)
	return piece
}

// sumsOf returns the address of the sums of a piece, which lie among the sums
// as its rows do in the table.
func sumsOf(row, table, sums Register) Register {
	to := Copy(row)
	SUBQ(table, to)
	ADDQ(sums, to)
	return to
}

func (w *isa) piecewiseForward() {
	w.function("piecewiseForward", "func(y, x, piece, table []float32, last, out int, slope float32)", "one row or more")
	y, table, left, stride, last := Address("y"), Address("table"), Number("out"), Bytes("out"), Number("last")
	slope, none := w.slopeAndZero()
	w.eachGroup(left, []Register{y, table}, func(c group) {
		to, x, piece, count := Copy(y), Address("x"), Address("piece"), Length("x")
		label := fmt.Sprintf("rows%d", c.n)
		Label(label)
		row := rowOf(table, stride, last, At(piece, 0))
		number := broadcast(At(x, 0), w.Vector())
		sums := c.loads(Mem{Base: row, Index: stride, Scale: 1})
		for v, sum := range sums {
			VFMADD231PS(c.load(At(row, 0), v), number, sum)
			w.Leaky(w.Positive(sum, none), sum, slope)
			c.store(sum, At(to, 0), v)
		}
		ADDQ(stride, to)
		ADDQ(Imm(4), x)
		ADDQ(Imm(4), piece)
		DECQ(count)
		JNZ(LabelRef(label))
	})
	Leave()
}

// slopeAndZero returns two constants.
func (w *isa) slopeAndZero() (slope, none VecVirtual) {
	slope, none = broadcast(Argument("slope"), w.Vector()), w.Vector()
	Zero(none)
	return slope, none
}

func (w *isa) piecewiseSum() {
	w.function("piecewiseSum", "func(y, x, piece, table, w []float32, last int, slope float32)", "one row or more, adding to y")
	table, weights, left, stride, last := Address("table"), Address("w"), Length("w"), GP64(), Number("last")
	MOVQ(left, stride)
	SHLQ(Imm(2), stride)
	slope, none := w.slopeAndZero()
	w.eachGroup(left, []Register{weights, table}, func(c group) {
		y, x, piece, count := Address("y"), Address("x"), Address("piece"), Length("x")
		weight := c.loads(At(weights, 0))
		c.eachRows(count, []Register{y, x, piece}, func(rows int) {
			var row []Register
			var number []VecVirtual
			dot := w.Vectors(rows)
			Zero(dot...)
			for r := range rows {
				row = append(row, rowOf(table, stride, last, At(piece, 4*r)))
				number = append(number, broadcast(At(x, 4*r), w.Vector()))
			}
			for v := range c.n {
				for r := range rows {
					sum := c.load(Mem{Base: row[r], Index: stride, Scale: 1}, v)
					VFMADD231PS(c.load(At(row[r], 0), v), number[r], sum)
					w.Leaky(w.Positive(sum, none), sum, slope)
					VFMADD231PS(weight[v], sum, dot[r])
				}
			}
			w.addSums(dot, At(y, 0))
		})
	})
	Leave()
}

func (w *isa) piecewiseSumBackward() {
	w.function("piecewiseSumBackward", "func(sums, dx, dw, x, piece, dy, table, w []float32, last int, slope float32)", "one row or more, adding to dx")
	table, left, stride := Address("table"), Length("w"), GP64()
	MOVQ(left, stride)
	SHLQ(Imm(2), stride)
	toFirst, toSecond := Address("sums"), GP64() // from a row of the table to the sums
	SUBQ(table, toFirst)
	LEAQ(AtOffset(toFirst, stride, 0), toSecond)
	slope, none := w.slopeAndZero()
	// Few registers are left for what a group begins and ends with.
	ofGroup := func(name string) Mem {
		at := Length("w")
		SUBQ(left, at)
		return Mem{Base: Address(name), Index: at, Scale: 4}
	}
	w.eachGroup(left, []Register{table}, func(c group) {
		weight, gradient := c.loads(ofGroup("w")), w.Vectors(c.n)
		Zero(gradient...)
		x, dx, dy, piece, count := Address("x"), Address("dx"), Address("dy"), Address("piece"), Length("x")
		c.eachRows(count, []Register{x, dx, dy, piece}, func(rows int) {
			var row []Register
			var number, d []VecVirtual
			dot := w.Vectors(rows)
			Zero(dot...)
			for r := range rows {
				row = append(row, rowOf(table, stride, Argument("last"), At(piece, 4*r)))
				number, d = append(number, broadcast(At(x, 4*r), w.Vector())), append(d, broadcast(At(dy, 4*r), w.Vector()))
			}
			for v := range c.n {
				for r, row := range row {
					first, second := AtOffset(row, toFirst, 0), AtOffset(row, toSecond, 0)
					slopes, h, g := c.load(At(row, 0), v), c.load(AtOffset(row, stride, 0), v), w.Vector()
					VFMADD231PS(slopes, number[r], h)
					positive := w.Positive(h, none)
					w.Leaky(positive, h, slope)
					VFMADD231PS(d[r], h, gradient[v])
					VMULPS(d[r], weight[v], g)
					w.Leaky(positive, g, slope)
					VFMADD231PS(slopes, g, dot[r])
					moments, totals := c.load(first, v), c.load(second, v)
					VFMADD231PS(number[r], g, moments)
					VADDPS(g, totals, totals)
					c.store(moments, first, v)
					c.store(totals, second, v)
				}
			}
			w.addSums(dot, At(dx, 0))
		})
		to := ofGroup("dw")
		for v, g := range gradient {
			VADDPS(c.load(to, v), g, g)
			c.store(g, to, v)
		}
	})
	Leave()
}

func (w *isa) piecewiseBackward() {
	w.function("piecewiseBackward", "func(sums, dx, x, piece, dy, table []float32, last, out int)", "one row or more, adding to dx")
	sums, dy, table := Address("sums"), Address("dy"), Address("table")
	left, stride, last := Number("out"), Bytes("out"), Number("last")
	w.eachGroup(left, []Register{sums, dy, table}, func(c group) {
		from, x, dx, piece, count := Copy(dy), Address("x"), Address("dx"), Address("piece"), Length("x")
		label := fmt.Sprintf("rows%d", c.n)
		Label(label)
		row := rowOf(table, stride, last, At(piece, 0))
		number := broadcast(At(x, 0), w.Vector())
		to := sumsOf(row, table, sums)
		dot := w.Zeros()
		for v := range c.n {
			g := c.load(At(from, 0), v)
			second := Mem{Base: to, Index: stride, Scale: 1}
			moments, totals := c.load(At(to, 0), v), c.load(second, v)
			VFMADD231PS(c.load(At(row, 0), v), g, dot)
			VFMADD231PS(number, g, moments)
			VADDPS(g, totals, totals)
			c.store(moments, At(to, 0), v)
			c.store(totals, second, v)
		}
		w.addSum(dot, At(dx, 0))
		ADDQ(stride, from)
		for _, p := range []Register{x, dx, piece} {
			ADDQ(Imm(4), p)
		}
		DECQ(count)
		JNZ(LabelRef(label))
	})
	Leave()
}

func (w *isa) piecewiseGradient() {
	w.function("piecewiseGradient", "func(da, db, dw, dc, sums, w []float32, order []int32, factors []float32, out, columns int)", "one unit or more")
	dw, dc, sums, matrix := Address("dw"), Address("dc"), Address("sums"), Address("w")
	left, stride := Number("columns"), Bytes("out")
	w.eachGroup(left, []Register{dw, dc, sums, matrix}, func(c group) {
		second := func(p Register) Mem { return Mem{Base: p, Index: stride, Scale: 1} }
		from, count, none := Copy(sums), Length("order"), w.Vector()
		clearSums := func(v int) {
			c.store(none, At(from, 0), v)
			c.store(none, second(from), v)
		}
		Zero(none)
		moments, totals := c.loads(At(from, 0)), c.loads(second(from))
		label := fmt.Sprintf("pieces%d", c.n)
		Label(label)
		LEAQ(Mem{Base: from, Index: stride, Scale: 2}, from)
		for v := range moments {
			VADDPS(c.load(At(from, 0), v), moments[v], moments[v])
			VADDPS(c.load(second(from), v), totals[v], totals[v])
		}
		DECQ(count)
		JNZ(LabelRef(label))
		for v, total := range totals {
			sum := c.load(At(dc, 0), v)
			VADDPS(total, sum, sum)
			c.store(sum, At(dc, 0), v)
		}

		MOVQ(sums, from)
		Load(Param("order").Len(), count)
		order, factors := Address("order"), Address("factors")
		below := [2][]VecVirtual{w.Vectors(c.n), w.Vectors(c.n)}
		Zero(append(below[0], below[1]...)...)
		label = fmt.Sprintf("units%d", c.n)
		Label(label)
		unit, row, to := GP64(), GP64(), GP64()
		MOVLQSX(At(order, 0), unit)
		MOVQ(unit, row)
		IMULQ(stride, row)
		LEAQ(Mem{Base: dw, Index: row, Scale: 1}, to)
		ADDQ(matrix, row)
		dot := w.Vectors(2)
		Zero(dot...)
		for v := range c.n {
			VADDPS(c.load(At(from, 0), v), below[0][v], below[0][v])
			VADDPS(c.load(second(from), v), below[1][v], below[1][v])
			clearSums(v)
			f, weight, sum := w.Vector(), c.load(At(row, 0), v), c.load(At(to, 0), v)
			for s, all := range [2]VecVirtual{moments[v], totals[v]} {
				active := w.Vector()
				VMULPS(broadcast(At(factors, 0), f), all, active)
				VFMADD231PS(broadcast(At(factors, 4), f), below[s][v], active)
				VFMADD231PS(active, weight, dot[s])
				VFMADD231PS(broadcast(At(factors, 8+4*s), f), active, sum)
			}
			c.store(sum, At(to, 0), v)
		}
		for s, name := range []string{"da", "db"} {
			p := Address(name)
			w.addSum(dot[s], Mem{Base: p, Index: unit, Scale: 4})
		}
		LEAQ(Mem{Base: from, Index: stride, Scale: 2}, from)
		ADDQ(Imm(4), order)
		ADDQ(Imm(16), factors)
		DECQ(count)
		JNZ(LabelRef(label))
		for v := range c.n {
			clearSums(v)
		}
	})
	Leave()
}
