package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// indices emits the gathering of spins: a word's bits mask the numbers to which
// the spin's value is added.
func (w *isa) indices() {
	w.Kernel("bitIndices", "func(dst []uint16, state []uint64, sites []int32, scale int)",
		"is bitIndicesGeneric for at least one group of sites.")
	dst, state, sites, n := Address("dst"), Address("state"), Address("sites"), Length("sites")
	scale := Number("scale")
	var value [4]VecVirtual
	for j := range value {
		value[j] = w.Vector()
		x := XMM()
		VMOVD(scale.As32(), x)
		VPBROADCASTW(x, value[j])
		ADDQ(scale, scale)
	}
	var bit VecVirtual
	if w == avx2 {
		bit = w.LoadVector(constants.Vector32(0x00020001, 0x00080004, 0x00200010, 0x00800040, 0x02000100, 0x08000400, 0x20001000, 0x80004000))
	}
	Label("group")
	parts := samples / (2 * w.Lanes())
	sum := make([]VecVirtual, parts)
	for i := range sum {
		sum[i] = w.zero()
	}
	for j := range value {
		site := GP64()
		MOVLQSX(Mem{Base: sites, Disp: 4 * j}, site)
		for i := range sum {
			word := Mem{Base: state, Index: site, Scale: 8, Disp: 8 * i / parts}
			if w == avx512 {
				k := K()
				KMOVD(word, k)
				VPADDW(value[j], sum[i], k, sum[i])
				continue
			}
			v := w.Vector()
			VPBROADCASTW(word, v)
			VPAND(bit, v, v)
			VPCMPEQW(bit, v, v)
			VPAND(value[j], v, v)
			VPADDW(v, sum[i], sum[i])
		}
	}
	for i, s := range sum {
		VMOVUPS(s, Mem{Base: dst, Disp: 4 * w.Lanes() * i})
	}
	ADDQ(U32(2*samples), dst)
	ADDQ(Imm(16), sites)
	SUBQ(Imm(4), n)
	JNZ(LabelRef("group"))
	Leave()
}

// layer holds the addresses and registers that both passes of a perceptron of
// a fixed number of lines need.
type layer struct {
	*isa
	lines               int
	tables, index, size GPVirtual // size is the number of groups
	output              []Op      // in registers with AVX-512
	one, three          VecVirtual
}

// hidden returns registers for a row.
func (l *layer) hidden() []VecVirtual { return l.Vectors(l.lines * 16 / l.Lanes()) }

// rows returns registers for the rows of samples whose sums are made beside each other: more of
// them where a row is a single vector, as each sum waits for its last number.
func (l *layer) rows() [][]VecVirtual {
	all := [][]VecVirtual{l.hidden(), l.hidden()}
	if l.lines == 1 {
		all = append(all, l.hidden(), l.hidden())
	}
	return all
}

// root emits y, an estimate of 1/√s with s = 1+u², and g = 3 − s y²: ½ y g is
// the root after one Newton step.
func (l *layer) root(u VecVirtual) (y, g VecVirtual) {
	s, y := l.Vector(), l.Vector()
	VMOVAPS(l.one, s)
	VFMADD231PS(u, u, s)
	if l.isa == avx512 {
		VRSQRT14PS(s, y)
	} else {
		VRSQRTPS(s, y)
	}
	VMULPS(y, s, s)
	VFNMADD213PS(l.three, y, s)
	return y, s
}

// perceptron emits a kernel's code for each number of lines.
func (w *isa) perceptron(body func(l *layer, name string)) {
	tables, output, k, index := Address("tables"), Address("output"), Length("output"), Address("index")
	groups := Length("index")
	SHRQ(Imm(6), groups)
	for lines := 1; lines < maxLines; lines++ {
		CMPQ(k, Imm(uint64(16*lines)))
		JE(LabelRef(fmt.Sprintf("lines%d", lines)))
	}
	for lines := maxLines; lines > 0; lines-- {
		Label(fmt.Sprintf("lines%d", lines))
		l := &layer{isa: w, lines: lines, tables: tables, index: index, size: groups}
		for i := range lines * 16 / w.Lanes() {
			var weights Op = Mem{Base: output, Disp: 4 * w.Lanes() * i}
			if w == avx512 {
				weights = w.LoadVector(weights)
			}
			l.output = append(l.output, weights)
		}
		l.one, l.three = w.LoadVector(w.full(1)), w.LoadVector(w.full(3))
		body(l, fmt.Sprintf("of%d", lines))
	}
}

// logits emits the forward pass. A sample's sum is reduced to four numbers, and those
// of sixteen samples together to one each.
func (w *isa) logits() {
	w.Kernel("bitLogits", fmt.Sprintf("func(dst *[%d]float32, tables, output []float32, index []uint16, bias float32)", samples),
		"is bitLogitsGeneric for at least one group of spins.")
	const together = 16
	quarters := AllocLocal(16 * together)
	dst := Number("dst")
	order := make([]uint32, w.Lanes())
	for i := range order { // sample l + lanes/4·k is in lane 4l+k
		order[i] = uint32(i%(w.Lanes()/4)*4 + i/(w.Lanes()/4))
	}
	w.perceptron(func(l *layer, name string) {
		b, at := GP64(), GP64()
		XORQ(b, b)
		var inputs [2][][]VecVirtual // of the hidden layer
		if w == avx512 {
			inputs = [2][][]VecVirtual{l.rows(), l.rows()}
			l.groups(name+"First", l.tables, b, gather, inputs[0]...)
		}
		Label(name + "Block")
		LEAQ(quarters, at)
		Label(name)
		if w == avx512 {
			Comment("Rows of some samples are added up while others are activated.")
			var sums []VecVirtual
			for i, of := range []string{"Odd", "Even"} {
				next := AddressOf(Mem{Base: b, Disp: len(inputs[i])})
				ANDQ(Imm(samples-1), next) // after the last samples once more the first
				l.groups(name+of, l.tables, next, gather, inputs[1-i]...)
				if sums = append(sums, l.activate(inputs[i]...)...); len(sums) == 4 {
					VMOVUPS(quarter(sums), Mem{Base: at})
					ADDQ(Imm(64), at)
					sums = nil
				}
				ADDQ(Imm(uint64(len(inputs[i]))), b)
			}
		} else {
			u := l.hidden()
			l.groups(name+"Groups", l.tables, b, gather, u)
			sum := l.activate(u)[0]
			quarter := XMM()
			VEXTRACTF128(Imm(1), sum, quarter)
			VADDPS(sum.AsX(), quarter, quarter)
			VMOVUPS(quarter, Mem{Base: at})
			ADDQ(Imm(16), at)
			INCQ(b)
		}
		TESTQ(U32(together-1), b)
		JNZ(LabelRef(name))
		Comment("Each four numbers sum to twice the logit without its bias.")
		for first := 0; first < together; first += w.Lanes() {
			var z [4]VecVirtual
			for i := range z {
				at := quarters.Offset(16*first + 4*w.Lanes()*i)
				if w == avx512 {
					z[i] = w.LoadVector(at)
					continue
				}
				z[i] = w.zero()
				for k := range w.Lanes() / 4 { // as they were stored: a load of several stores waits for the cache
					VINSERTF128(Imm(uint64(k)), at.Offset(16*k), z[i], z[i])
				}
			}
			pair := func(a, b VecVirtual) VecVirtual {
				low, high := w.Vector(), w.Vector()
				VSHUFPS(Imm(0x88), b, a, low)
				VSHUFPS(Imm(0xdd), b, a, high)
				VADDPS(low, high, high)
				return high
			}
			sum := pair(pair(z[0], z[1]), pair(z[2], z[3]))
			permutation, bias := w.LoadVector(constants.Vector32(order...)), w.Vector()
			VPERMPS(sum, permutation, sum)
			VBROADCASTSS(Argument("bias"), bias)
			VFMADD132PS(w.full(0.5), bias, sum)
			VMOVUPS(sum, Mem{Base: dst, Disp: 4 * first})
		}
		ADDQ(Imm(4*together), dst)
		CMPQ(b, Imm(samples))
		JB(LabelRef(name + "Block"))
		Leave()
	})
}

// What is done with the rows of samples.
const (
	gather  = iota // they are added up
	scatter        // vectors are added to them
)

// groups emits a loop over the groups of samples beside each other, the first at index b, with
// the tables at base. It takes two groups at a time.
func (l *layer) groups(name string, base, b GPVirtual, what int, u ...[]VecVirtual) {
	at, table, left := GP64(), GP64(), GP64()
	stride := 16 * lineSize * l.lines
	group := func(q int, first bool) {
		for s, u := range u {
			row := GP64()
			MOVWQZX(Mem{Base: at, Disp: 2 * (samples*q + s)}, row)
			for i, u := range u {
				m := Mem{Base: table, Index: row, Scale: 4, Disp: stride*q + l.Bytes*i}
				switch {
				case what == scatter:
					sum := l.Vector()
					VADDPS(m, u, sum)
					VMOVUPS(sum, m)
				case first: // needs no sum
					VMOVUPS(m, u)
				default:
					VADDPS(m, u, u)
				}
			}
		}
	}
	LEAQ(Mem{Base: l.index, Index: b, Scale: 2}, at)
	MOVQ(base, table)
	MOVQ(l.size, left)
	group(0, true)
	SUBQ(Imm(3), left)
	JL(LabelRef(name + "Last"))
	Label(name)
	group(1, false)
	group(2, false)
	ADDQ(U32(4*samples), at)
	ADDQ(U32(uint32(2*stride)), table)
	SUBQ(Imm(2), left)
	JGE(LabelRef(name))
	Label(name + "Last")
	CMPQ(left, I8(-1))
	JNE(LabelRef(name + "Done"))
	group(1, false)
	Label(name + "Done")
}

// activate emits the outputs' terms of the hidden units of some samples, twice as large,
// a vector of a sample's, side by side. u is used up.
func (l *layer) activate(u ...[]VecVirtual) []VecVirtual {
	sums := make([]VecVirtual, len(u))
	for i := range u[0] {
		y, g := make([]VecVirtual, len(u)), make([]VecVirtual, len(u))
		for s := range u {
			y[s], g[s] = l.root(u[s][i])
		}
		for s := range u {
			VMULPS(y[s], u[s][i], u[s][i])
			VMULPS(g[s], u[s][i], u[s][i])
			if i == 0 {
				sums[s] = l.Vector()
				VMULPS(l.output[i], u[s][i], sums[s])
			} else {
				VFMADD231PS(l.output[i], u[s][i], sums[s])
			}
		}
	}
	return sums
}

// quarter emits the sums of a quarter of each of four vectors' numbers, of one vector
// after the other.
func quarter(v []VecVirtual) VecVirtual {
	half := func(a, b VecVirtual, low, high uint64) VecVirtual {
		x, y := ZMM(), ZMM()
		VSHUFF64X2(Imm(low), b, a, x)
		VSHUFF64X2(Imm(high), b, a, y)
		VADDPS(x, y, y)
		return y
	}
	return half(half(v[0], v[1], 0x44, 0xee), half(v[2], v[3], 0x44, 0xee), 0x88, 0xdd)
}

// gradient emits the backward pass: the hidden layer once more, and histograms of its
// derivatives over the groups' numbers.
func (w *isa) gradient() {
	w.Kernel("bitGradient", fmt.Sprintf("func(dTables, dOutput, tables, output []float32, index []uint16, scale, residual *[%d]float32)", samples),
		"is bitGradientGeneric for at least one group of spins.")
	histograms, scale, residual := Address("dTables"), Number("scale"), Number("residual")
	dOutput := Address("dOutput")
	w.perceptron(func(l *layer, name string) {
		var sums []VecVirtual
		if w == avx512 {
			sums = l.hidden()
			for i, s := range sums {
				VMOVUPS(Mem{Base: dOutput, Disp: 4 * w.Lanes() * i}, s)
			}
		}
		// derive replaces the hidden layer's inputs, of a sample after b, by the
		// derivatives with respect to them.
		derive := func(u []VecVirtual, b GPVirtual, after int) {
			e, c := w.Vector(), w.Vector()
			VBROADCASTSS(Mem{Base: residual, Index: b, Scale: 4, Disp: 4 * after}, e)
			VBROADCASTSS(Mem{Base: scale, Index: b, Scale: 4, Disp: 4 * after}, c)
			VMULPS(c, e, e)
			for i, u := range u {
				y, g := l.root(u)
				VMULPS(w.full(0.5), y, y)
				VMULPS(g, y, y) // the root
				VMULPS(y, u, u) // the activation
				if w == avx512 {
					VFMADD231PS(e, u, sums[i])
				} else {
					at := Mem{Base: dOutput, Disp: 4 * w.Lanes() * i}
					VFMADD213PS(at, e, u)
					VMOVUPS(u, at)
				}
				VMULPS(l.output[i], e, u)
				VMULPS(y, u, u)
				VMULPS(y, y, y)
				VMULPS(y, u, u)
			}
		}
		b := GP64()
		XORQ(b, b)
		if w == avx512 {
			Comment("The rows of some samples are added up before the derivatives of others",
				"go to the histograms: rows that are stored hold up the loads that follow.")
			u := [2][][]VecVirtual{l.rows(), l.rows()}
			l.groups(name+"First", l.tables, b, gather, u[0]...)
			Label(name)
			for i, of := range []string{"Odd", "Even"} {
				next := AddressOf(Mem{Base: b, Disp: len(u[i])})
				ANDQ(Imm(samples-1), next) // after the last samples once more the first
				for s := range u[i] {
					derive(u[i][s], b, s)
				}
				l.groups(name+of, l.tables, next, gather, u[1-i]...)
				l.groups(name+of+"Histograms", histograms, b, scatter, u[i]...)
				MOVQ(next, b)
			}
			TESTQ(b, b)
			JNZ(LabelRef(name))
		} else {
			Label(name)
			u := l.hidden()
			l.groups(name+"Groups", l.tables, b, gather, u)
			derive(u, b, 0)
			l.groups(name+"Histograms", histograms, b, scatter, u)
			INCQ(b)
			CMPQ(b, Imm(samples))
			JB(LabelRef(name))
		}
		for i, s := range sums {
			VMOVUPS(s, Mem{Base: dOutput, Disp: 4 * w.Lanes() * i})
		}
		Leave()
	})
}
