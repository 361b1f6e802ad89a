package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// lossBlocks is the number of blocks whose losses are added up in float32.
const lossBlocks = 4

// gramTile emits the tile of the reversibility loss. Distance 2r is d²_xx of
// row r of the block, distance 2r+1 is d²_xy.
func (w *isa) gramTile() {
	w.Kernel("gramTile", "func(steps *uint32, count int, planes *float32, stride, dim, n, row0, row1, col0, col1 int, rows *float32, rowStride int, cols *float32, colStride int, scratch *float32) float64",
		"is gramTileGeneric for row0 ≤ i < row1 ≤ n, col0 ≤ j < col1 ≤ n with row0 and col0 multiples of GramPad, adding to cols.")
	restore := flushSubnormals()
	rowPoint, stride, toV := Number("planes"), Bytes("stride"), Number("dim")
	IMULQ(stride, toV)
	row := Number("row0")
	LEAQ(indexed(rowPoint, row, 4, 0), rowPoint)
	rowScratch := Number("scratch")
	slot := func(i int) Mem { return At(rowScratch, i*w.Bytes) }
	total, blockLoss, masks, memory := slot(0), slot(1), slot(w.rows), slot(2*w.rows)
	zero := w.Zeros()
	VMOVUPS(zero, total)

	Label("row")
	var loss Op = blockLoss
	clearLoss := func() {
		r, ok := loss.(VecVirtual)
		if !ok {
			r = w.Vector()
		}
		Zero(r)
		if !ok {
			VMOVUPS(r, loss)
		}
	}
	if w == avx512 {
		loss = w.Vector()
	}
	clearLoss()
	{
		p := Copy(rowScratch)
		zero := w.Zeros()
		forDim("clear", func() {
			for r := range w.rows {
				VMOVUPS(zero, At(p, w.rowSums()+r*w.Bytes))
			}
		}, func() { ADDQ(I32(w.rows*w.Bytes), p) })
	}
	Comment("The first block of columns that has a pair i < j.")
	col := Copy(row)
	ANDQ(I32(-w.Lanes()), col)
	CMPQ(col, Argument("col0"))
	CMOVQLT(Argument("col0"), col)
	colPoint, colSums := GP64(), GP64()
	{
		t := Number("planes")
		LEAQ(indexed(t, col, 4, 0), colPoint)
		MOVQ(col, colSums)
		SUBQ(Argument("col0"), colSums)
		MOVQ(Argument("cols"), t)
		LEAQ(indexed(t, colSums, 4, 0), colSums)
	}
	CMPQ(col, Argument("col1"))
	JGE(LabelRef("row_end"))

	Label("block")
	mask, partial := w.pairMasks(row, col, masks)
	s := w.newSums(2*w.rows, 1, memory)
	w.distances(s, rowPoint, colPoint, stride, toV, mask, partial, masks)
	s.zeroSlopes()
	s.value = w.lossOf(loss)
	s.interpret()

	Comment("Gradients of both sides, from m = p-q and q.")
	slope := w.inRegisters(s.slope)
	for r := range w.rows {
		m, q := slope[2*r], slope[2*r+1]
		VSUBPS(q, m, m)
		if w == avx2 {
			VANDPS(masks.Offset(r*w.Bytes), q, q)
		}
	}
	if w == avx512 {
		ifPartial("gradients_masked", partial, func() {
			for r, m := range mask {
				VMOVAPS_Z(slope[2*r+1], m, slope[2*r+1])
			}
		})
	}
	{
		i, j, rowSums, out := Copy(rowPoint), Copy(colPoint), Copy(rowScratch), Copy(colSums)
		colStride := Bytes("colStride")
		forDim("gradient", func() {
			v, wj := w.Vector(), w.Vector()
			VMOVUPS(indexed(j, toV, 1, 0), v)
			VMOVUPS(indexed(j, toV, 2, 0), wj)
			sum := w.Loaded(At(out, 0))
			for r := range w.rows {
				m, q := slope[2*r], slope[2*r+1]
				e, acc := w.Vector(), w.Vector()
				w.withPoint(VSUBPS, VSUBPS_BCST, indexed(i, toV, 2, 4*r), wj, e) // w_j - w_i
				VMOVUPS(At(rowSums, w.rowSums()+r*w.Bytes), acc)
				VFNMADD231PS(q, v, acc)
				VFNMADD231PS(m, e, acc)
				VMOVUPS(acc, At(rowSums, w.rowSums()+r*w.Bytes))
				VFMADD231PS(m, e, sum)
				w.withPoint(VFNMADD231PS, VFNMADD231PS_BCST, indexed(i, toV, 1, 4*r), q, sum)
			}
			VMOVUPS(sum, At(out, 0))
		}, func() {
			ADDQ(stride, i)
			ADDQ(stride, j)
			ADDQ(I32(w.rows*w.Bytes), rowSums)
			ADDQ(colStride, out)
		})
	}
	ADDQ(I32(w.Lanes()), col)
	TESTQ(U32(lossBlocks*w.Lanes()-1), col)
	JNZ(LabelRef("summed"))
	w.flush(loss, total)
	clearLoss()
	Label("summed")
	ADDQ(I32(w.Bytes), colPoint)
	ADDQ(I32(w.Bytes), colSums)
	CMPQ(col, Argument("col1"))
	JLT(LabelRef("block"))

	Label("row_end")
	w.flush(loss, total)
	{
		p, out, rowStride := Copy(rowScratch), GP64(), Bytes("rowStride")
		t := Copy(row)
		SUBQ(Argument("row0"), t)
		MOVQ(Argument("rows"), out)
		LEAQ(indexed(out, t, 4, 0), out)
		forDim("store", func() {
			acc := w.Vectors(w.rows)
			for r, v := range acc {
				VMOVUPS(At(p, w.rowSums()+r*w.Bytes), v)
			}
			VMOVUPS(w.sumRows(acc), At(out, 0))
		}, func() {
			ADDQ(I32(w.rows*w.Bytes), p)
			ADDQ(rowStride, out)
		})
	}
	ADDQ(I32(w.rows), row)
	ADDQ(I32(4*w.rows), rowPoint)
	CMPQ(row, Argument("row1"))
	JLT(LabelRef("row"))

	sum := w.sumDoubles(total)
	restore()
	Store(sum, ReturnIndex(0))
	Leave()
}

// distances emits the squared distances of a block. A pair outside of the sum
// gets equal distances, and so adds nothing to the loss and to p−q.
func (w *isa) distances(s *sums, rowPoint, colPoint, stride, toV Register, mask []Register, partial Register, masks Mem) {
	rows := w.rows // of one pass over the planes
	if w == avx2 {
		rows = 2
	}
	for first := 0; first < w.rows; first += rows {
		shared := w.Vectors(rows) // |du|² is common to both distances
		Zero(shared...)
		i, j := Copy(rowPoint), Copy(colPoint)
		forDim(fmt.Sprintf("shared%d", first), func() {
			u := w.Loaded(At(j, 0))
			for r := range rows {
				du := w.Vector()
				w.withPoint(VSUBPS, VSUBPS_BCST, At(i, 4*(first+r)), u, du)
				VFMADD231PS(du, du, shared[r])
			}
		}, func() { ADDQ(stride, i); ADDQ(stride, j) })
		var d []VecVirtual
		if w == avx512 {
			d = w.inRegisters(s.d)
		} else {
			d = w.Vectors(2 * rows)
		}
		for k, d := range d {
			VMOVAPS(shared[k/2], d)
		}
		forDim(fmt.Sprintf("distance%d", first), func() {
			v := w.Loaded(At(j, 0))
			for r := range rows {
				minus, plus := w.Vector(), w.Vector()
				VBROADCASTSS(At(i, 4*(first+r)), plus)
				VSUBPS(plus, v, minus)
				VADDPS(plus, v, plus)
				VFMADD231PS(minus, minus, d[2*r])
				VFMADD231PS(plus, plus, d[2*r+1])
			}
		}, func() { ADDQ(stride, i); ADDQ(stride, j) })
		if w == avx2 {
			for k, d := range d {
				VANDPS(masks.Offset((first+k/2)*w.Bytes), d, d)
				VMOVUPS(d, s.d[2*first+k])
			}
			continue
		}
		w.limited(d)
		ifPartial("distances_masked", partial, func() {
			for k, d := range d {
				VMOVAPS_Z(d, mask[k/2], d)
			}
		})
	}
}

// ifPartial skips what follows where a block has all of its pairs.
func ifPartial(next string, partial Register, body func()) {
	TESTL(partial, partial)
	JEQ(LabelRef(next))
	body()
	Label(next)
}

// lossOf adds the differences of the values of the two distances of each pair
// to one vector. The differences of a step are added as a tree.
func (w *isa) lossOf(loss Op) func(Register, []VecVirtual, bool) {
	return func(step Register, y []VecVirtual, unit bool) {
		difference := func(r int) VecVirtual {
			t := w.Vector()
			VSUBPS(y[2*r+1], y[2*r], t)
			return t
		}
		var half [2]VecVirtual
		for h := range half {
			half[h] = difference(2 * h)
			t := difference(2*h + 1)
			VADDPS(t, half[h], half[h])
		}
		sum := half[0]
		VADDPS(half[1], sum, sum)
		if !unit {
			w.withConstant(VMULPS, VMULPS_BCST, At(step, stepWeight), sum, sum)
		}
		if r, ok := loss.(VecVirtual); ok {
			VADDPS(sum, r, r)
		} else {
			VADDPS(loss, sum, sum)
			VMOVUPS(sum, loss)
		}
	}
}

// flush adds a vector of floats to a vector of doubles in memory.
func (w *isa) flush(from Op, total Mem) {
	sum, low, high := w.Vector(), w.Vector(), w.Vector()
	switch from := from.(type) {
	case VecVirtual:
		half := YMM()
		VEXTRACTF64X4(Imm(1), from, half)
		VCVTPS2PD(from.AsY(), low)
		VCVTPS2PD(half, high)
	case Mem:
		VCVTPS2PD(from, low)
		VCVTPS2PD(from.Offset(w.Bytes/2), high)
	}
	VMOVUPD(total, sum)
	VADDPD(low, high, low)
	VADDPD(low, sum, sum)
	VMOVUPD(sum, total)
}

// pairMasks selects the lanes with row+r < col+lane < n: as mask registers, or
// as vectors in memory. With registers it sets partial unless all are selected.
func (w *isa) pairMasks(row, col Register, memory Mem) (mask []Register, partial Register) {
	if w == avx2 {
		lane, limit, t := w.Vector(), w.Vector(), w.Vector()
		x := XMM()
		VMOVQ(col, x)
		VPBROADCASTD(x, lane)
		VPADDD(constants.Vector32(0, 1, 2, 3, 4, 5, 6, 7), lane, lane)
		VPBROADCASTD(Argument("n"), limit)
		VPCMPGTD(lane, limit, limit)
		x = XMM()
		VMOVQ(row, x)
		VPBROADCASTD(x, t)
		one := w.Vector()
		VPCMPEQD(one, one, one)
		for r := range w.rows {
			m := w.Vector()
			VPCMPGTD(t, lane, m)
			VPAND(limit, m, m)
			VMOVDQU(m, memory.Offset(r*w.Bytes))
			if r+1 < w.rows {
				VPSUBD(one, t, t) // row + 1
			}
		}
		return nil, nil
	}
	for range w.rows {
		mask = append(mask, K())
	}
	t, left := GP64(), GP64()
	partial = GP32()
	XORL(partial, partial)
	LEAQ(At(row, w.rows), t)
	CMPQ(t, col)
	JGT(LabelRef("partial"))
	LEAQ(At(col, w.Lanes()), t)
	CMPQ(t, Argument("n"))
	JLE(LabelRef("masked"))
	Label("partial")
	MOVL(U32(1), partial)
	MOVQ(Argument("n"), left)
	SUBQ(col, left)
	sixteen := GP64()
	MOVQ(U32(16), sixteen)
	CMPQ(left, sixteen)
	CMOVQGT(sixteen, left)
	ones, none := GP64(), GP64()
	MOVQ(I32(-1), ones)
	XORQ(none, none)
	BZHIQ(left, ones, left) // lanes below n
	for r, k := range mask {
		LEAQ(At(row, r+1), t)
		SUBQ(col, t)
		CMOVQLT(none, t)
		SHLXQ(t, ones, t) // lanes above the row
		ANDQ(left, t)
		KMOVW(t.As32(), k)
	}
	Label("masked")
	return mask, partial
}

// sumDoubles returns the sum of a vector of float64 in memory.
func (w *isa) sumDoubles(m Mem) VecVirtual {
	total := XMM()
	VMOVUPD(m, total)
	for o := 16; o < w.Bytes; o += 16 {
		VADDPD(m.Offset(o), total, total)
	}
	high := XMM()
	VUNPCKHPD(total, total, high)
	VADDSD(high, total, total)
	return total
}
