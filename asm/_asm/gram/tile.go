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

// A tile is where the emitters of gramTile find its rows, of which a block has w.rows, and
// columns, of which it has a vector of lanes.
type tile struct {
	*isa
	stride, toV            Register // bytes between planes; from planes u to v, and from v to w
	row, rowPoint, scratch Register // row i, u_i, and what is added up for the rows
	col, colPoint, colSums Register // column j, u_j, and cols[j]
	mask                   []Register
	partial                Register // not 0 where a block lacks pairs
	masks, memory          Mem
	total                  Mem // the loss in float64
	loss                   Op  // that of at most lossBlocks blocks in float32
}

// gramTile emits the tile of the reversibility loss,
//
//	loss     = Σ_ij k(d²_xx) − k(d²_xy)      p = k′(d²_xx), q = k′(d²_xy), m = p − q
//	rows[i]  = Σ_j m (w_i − w_j) − q v_j
//	cols[j] += Σ_i m (w_j − w_i) − q v_i
//
// for the pairs i < j < n. Distance 2r is d²_xx of row r of a block, distance 2r+1 is d²_xy.
func (w *isa) gramTile() {
	w.Kernel("gramTile", "func(steps *uint32, count int, planes *float32, stride, dim, n, row0, row1, col0, col1 int, rows *float32, rowStride int, cols *float32, colStride int, scratch *float32) float64",
		"is gramTileGeneric for row0 ≤ i < row1 ≤ n, col0 ≤ j < col1 ≤ n with row0 and col0 multiples of GramPad, adding to cols.")
	restore := flushSubnormals()
	t := &tile{isa: w, rowPoint: Number("planes"), stride: Bytes("stride"), toV: Number("dim")}
	IMULQ(t.stride, t.toV)
	t.row = Number("row0")
	LEAQ(indexed(t.rowPoint, t.row, 4, 0), t.rowPoint)
	t.scratch = Number("scratch")
	slot := func(i int) Mem { return At(t.scratch, i*w.Bytes) }
	t.total, t.loss, t.masks, t.memory = slot(0), slot(1), slot(w.rows), slot(2*w.rows)
	zero := w.Zeros()
	VMOVUPS(zero, t.total)

	Label("row")
	if w == avx512 {
		t.loss = w.Vector()
	}
	t.clearLoss()
	t.clearRows()
	t.firstColumns()
	CMPQ(t.col, Argument("col1"))
	JGE(LabelRef("row_end"))

	Label("block")
	t.mask, t.partial = w.pairMasks(t.row, t.col, t.masks)
	s := w.newSums(2*w.rows, 1, t.memory)
	t.distances(s)
	s.zeroSlopes()
	s.value = w.lossOf(t.loss)
	s.interpret()
	t.gradients(s)
	ADDQ(I32(w.Lanes()), t.col)
	TESTQ(U32(lossBlocks*w.Lanes()-1), t.col)
	JNZ(LabelRef("summed"))
	w.flush(t.loss, t.total)
	t.clearLoss()
	Label("summed")
	ADDQ(I32(w.Bytes), t.colPoint)
	ADDQ(I32(w.Bytes), t.colSums)
	CMPQ(t.col, Argument("col1"))
	JLT(LabelRef("block"))

	Label("row_end")
	w.flush(t.loss, t.total)
	t.storeRows()
	ADDQ(I32(w.rows), t.row)
	ADDQ(I32(4*w.rows), t.rowPoint)
	CMPQ(t.row, Argument("row1"))
	JLT(LabelRef("row"))

	sum := w.sumDoubles(t.total)
	restore()
	Store(sum, ReturnIndex(0))
	Leave()
}

func (t *tile) clearLoss() {
	if r, ok := t.loss.(VecVirtual); ok {
		Zero(r)
		return
	}
	VMOVUPS(t.Zeros(), t.loss)
}

// rowSum returns where the gradient of row r is added up, at the plane that p points to.
func (t *tile) rowSum(p Register, r int) Mem { return At(p, t.rowSums()+r*t.Bytes) }

func (t *tile) clearRows() {
	p := Copy(t.scratch)
	zero := t.Zeros()
	forDim("clear", func() {
		for r := range t.rows {
			VMOVUPS(zero, t.rowSum(p, r))
		}
	}, func() { ADDQ(I32(t.rows*t.Bytes), p) })
}

// firstColumns goes to the first block of columns that has a pair i < j.
func (t *tile) firstColumns() {
	Comment("The first block of columns that has a pair i < j.")
	t.col = Copy(t.row)
	ANDQ(I32(-t.Lanes()), t.col)
	CMPQ(t.col, Argument("col0"))
	CMOVQLT(Argument("col0"), t.col)
	t.colPoint, t.colSums = GP64(), GP64()
	from := Number("planes")
	LEAQ(indexed(from, t.col, 4, 0), t.colPoint)
	MOVQ(t.col, t.colSums)
	SUBQ(Argument("col0"), t.colSums)
	MOVQ(Argument("cols"), from)
	LEAQ(indexed(from, t.colSums, 4, 0), t.colSums)
}

// gradients adds those of a block's pairs to both sides.
func (t *tile) gradients(s *sums) {
	Comment("Gradients of both sides, from m = p-q and q.")
	slope := t.inRegisters(s.slope)
	for r := range t.rows {
		m, q := slope[2*r], slope[2*r+1]
		VSUBPS(q, m, m)
		if t.isa == avx2 {
			VANDPS(t.masks.Offset(r*t.Bytes), q, q)
		}
	}
	if t.isa == avx512 {
		ifPartial("gradients_masked", t.partial, func() {
			for r, m := range t.mask {
				VMOVAPS_Z(slope[2*r+1], m, slope[2*r+1])
			}
		})
	}
	i, j, rows, cols := Copy(t.rowPoint), Copy(t.colPoint), Copy(t.scratch), Copy(t.colSums)
	colStride := Bytes("colStride")
	forDim("gradient", func() {
		v, wj := t.Vector(), t.Vector()
		VMOVUPS(indexed(j, t.toV, 1, 0), v)
		VMOVUPS(indexed(j, t.toV, 2, 0), wj)
		sum := t.LoadVector(At(cols, 0))
		for r := range t.rows {
			m, q := slope[2*r], slope[2*r+1]
			e, acc := t.Vector(), t.Vector()
			t.withPoint(VSUBPS, VSUBPS_BCST, indexed(i, t.toV, 2, 4*r), wj, e) // w_j - w_i
			VMOVUPS(t.rowSum(rows, r), acc)
			VFNMADD231PS(q, v, acc)
			VFNMADD231PS(m, e, acc)
			VMOVUPS(acc, t.rowSum(rows, r))
			VFMADD231PS(m, e, sum)
			t.withPoint(VFNMADD231PS, VFNMADD231PS_BCST, indexed(i, t.toV, 1, 4*r), q, sum)
		}
		VMOVUPS(sum, At(cols, 0))
	}, func() {
		ADDQ(t.stride, i)
		ADDQ(t.stride, j)
		ADDQ(I32(t.rows*t.Bytes), rows)
		ADDQ(colStride, cols)
	})
}

// storeRows sets rows[i] for the rows of a block.
func (t *tile) storeRows() {
	p, out, rowStride := Copy(t.scratch), GP64(), Bytes("rowStride")
	from := Copy(t.row)
	SUBQ(Argument("row0"), from)
	MOVQ(Argument("rows"), out)
	LEAQ(indexed(out, from, 4, 0), out)
	forDim("store", func() {
		acc := t.Vectors(t.rows)
		for r, v := range acc {
			VMOVUPS(t.rowSum(p, r), v)
		}
		VMOVUPS(t.sumRows(acc), At(out, 0))
	}, func() {
		ADDQ(I32(t.rows*t.Bytes), p)
		ADDQ(rowStride, out)
	})
}

// distances emits the squared distances of a block. A pair outside of the sum
// gets equal distances, and so adds nothing to the loss and to p−q.
func (t *tile) distances(s *sums) {
	w := t.isa
	rows := w.rows // of one pass over the planes
	if w == avx2 {
		rows = 2
	}
	for first := 0; first < w.rows; first += rows {
		shared := w.Vectors(rows) // |du|² is common to both distances
		Zero(shared...)
		i, j := Copy(t.rowPoint), Copy(t.colPoint)
		forDim(fmt.Sprintf("shared%d", first), func() {
			u := w.LoadVector(At(j, 0))
			for r := range rows {
				du := w.Vector()
				w.withPoint(VSUBPS, VSUBPS_BCST, At(i, 4*(first+r)), u, du)
				VFMADD231PS(du, du, shared[r])
			}
		}, func() { ADDQ(t.stride, i); ADDQ(t.stride, j) })
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
			v := w.LoadVector(At(j, 0))
			for r := range rows {
				minus, plus := w.Vector(), w.Vector()
				VBROADCASTSS(At(i, 4*(first+r)), plus)
				VSUBPS(plus, v, minus)
				VADDPS(plus, v, plus)
				VFMADD231PS(minus, minus, d[2*r])
				VFMADD231PS(plus, plus, d[2*r+1])
			}
		}, func() { ADDQ(t.stride, i); ADDQ(t.stride, j) })
		if w == avx2 {
			for k, d := range d {
				VANDPS(t.masks.Offset((first+k/2)*w.Bytes), d, d)
				VMOVUPS(d, s.d[2*first+k])
			}
			continue
		}
		w.limited(d)
		ifPartial("distances_masked", t.partial, func() {
			for k, d := range d {
				VMOVAPS_Z(d, t.mask[k/2], d)
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
