// Command conditional generates the kernels of conditional probabilities of spins:
// perceptrons whose inputs are the spins of a block of samples, bit by bit, the heat
// bath and the score. The vectors of the perceptrons run along the hidden layer, as
// four spins choose a row of a table there; those of the heat bath and the score run
// along the samples.
package main

import (
	"fmt"
	"math"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

const (
	samples  = 64
	lineSize = 64 // bytes of one row of 16 hidden units
	most     = 4  // such rows of the widest layer
)

type isa struct{ *ISA }

var (
	avx512    = &isa{AVX512}
	avx2      = &isa{AVX2}
	constants = NewPool("conditionalConstants")
)

func main() {
	ConstraintExpr("amd64,!purego")
	for _, w := range []*isa{avx512, avx2} {
		w.indices()
		w.logits()
		w.gradient()
		w.expand()
		w.fold()
		w.draw()
		w.lookup()
		w.selected()
		w.categories()
		w.score(false)
		w.score(true)
	}
	Generate()
}

// full returns a vector of one number, and word of one word.
func (w *isa) full(x float64) Mem { return w.word(math.Float32bits(float32(x))) }
func (w *isa) word(x uint32) Mem  { return constants.Vector32(slices.Repeat([]uint32{x}, w.Lanes())...) }

func (w *isa) zero() VecVirtual {
	v := w.Vector()
	VXORPS(v.AsY(), v.AsY(), v.AsY())
	return v
}

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
		bit = w.Loaded(constants.Vector32(0x00020001, 0x00080004, 0x00200010, 0x00800040, 0x02000100, 0x08000400, 0x20001000, 0x80004000))
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
	for lines := 1; lines < most; lines++ {
		CMPQ(k, Imm(uint64(16*lines)))
		JE(LabelRef(fmt.Sprintf("lines%d", lines)))
	}
	for lines := most; lines > 0; lines-- {
		Label(fmt.Sprintf("lines%d", lines))
		l := &layer{isa: w, lines: lines, tables: tables, index: index, size: groups}
		for i := range lines * 16 / w.Lanes() {
			var weights Op = Mem{Base: output, Disp: 4 * w.Lanes() * i}
			if w == avx512 {
				weights = w.Loaded(weights)
			}
			l.output = append(l.output, weights)
		}
		l.one, l.three = w.Loaded(w.full(1)), w.Loaded(w.full(3))
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
					z[i] = w.Loaded(at)
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
			permutation, bias := w.Loaded(constants.Vector32(order...)), w.Vector()
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

// strips emits a loop over the groups and, within each, over the vectors of a
// row. at and table point to that vector of the group's first weight and first
// row, size is the number of bytes of a row.
func (w *isa) strips(weights, tables, n, k GPVirtual, body func(at, table, size, offset GPVirtual)) {
	size, end := GP64(), GP64()
	MOVQ(k, size)
	SHLQ(Imm(2), size)
	LEAQ(Mem{Base: weights, Index: n, Scale: 4}, end)
	Label("group")
	offset := GP64()
	XORQ(offset, offset)
	Label("strip")
	at, table := GP64(), GP64()
	LEAQ(Mem{Base: weights, Index: offset, Scale: 1}, at)
	LEAQ(Mem{Base: tables, Index: offset, Scale: 1}, table)
	body(at, table, size, offset)
	ADDQ(U32(uint32(4*w.Lanes())), offset)
	CMPQ(offset, size)
	JB(LabelRef("strip"))
	LEAQ(Mem{Base: weights, Index: size, Scale: 4}, weights)
	for range 4 {
		LEAQ(Mem{Base: tables, Index: size, Scale: 4}, tables)
	}
	CMPQ(weights, end)
	JB(LabelRef("group"))
	Leave()
}

// expand emits the filling of tables.
func (w *isa) expand() {
	w.Kernel("bitTables", "func(tables, weights, bias []float32)",
		"is bitTablesGeneric for at least one group.")
	tables, weights, n, bias := Address("tables"), Address("weights"), Length("weights"), Address("bias")
	k := Length("bias")
	w.strips(weights, tables, n, k, func(at, table, size, offset GPVirtual) {
		zero := w.zero()
		base := w.Vector()
		VMOVAPS(zero, base)
		TESTQ(bias, bias)
		JZ(LabelRef("later"))
		VMOVUPS(Mem{Base: bias, Index: offset, Scale: 1}, base)
		Label("later")
		combine := func(base, a, b VecVirtual) (sums [4]VecVirtual) {
			minus, plus := w.Vector(), w.Vector()
			VSUBPS(a, base, minus)
			VADDPS(a, base, plus)
			for i := range sums {
				sums[i] = w.Vector()
				from := minus
				if i&1 != 0 {
					from = plus
				}
				if i&2 != 0 {
					VADDPS(b, from, sums[i])
				} else {
					VSUBPS(b, from, sums[i])
				}
			}
			return sums
		}
		var v [4]VecVirtual
		for j := range v {
			v[j] = w.Loaded(Mem{Base: at})
			ADDQ(size, at)
		}
		low := combine(base, v[0], v[1])
		high := combine(zero, v[2], v[3])
		for i := range 16 {
			row := w.Vector()
			VADDPS(high[i>>2], low[i&3], row)
			VMOVUPS(row, Mem{Base: table})
			ADDQ(size, table)
		}
		Comment("Only the first group has the bias.")
		last := AddressOf(Mem{Base: offset, Disp: 4 * w.Lanes()})
		CMPQ(last, size)
		JB(LabelRef("more"))
		XORQ(bias, bias)
		Label("more")
	})
}

// fold emits the derivatives of weights.
func (w *isa) fold() {
	w.Kernel("bitFold", "func(weights, tables []float32, k int)",
		"is bitFoldGeneric for at least one group.")
	weights, n, tables, k := Address("weights"), Length("weights"), Address("tables"), Number("k")
	w.strips(weights, tables, n, k, func(at, table, size, _ GPVirtual) {
		var low, high [4]VecVirtual
		for i := range low {
			low[i], high[i] = w.zero(), w.zero()
		}
		for i := range 16 {
			row := w.Loaded(Mem{Base: table})
			ADDQ(size, table)
			VADDPS(row, low[i&3], low[i&3])
			VADDPS(row, high[i>>2], high[i>>2])
		}
		for _, s := range [][4]VecVirtual{low, high} {
			for _, order := range [2][4]int{{1, 3, 0, 2}, {2, 3, 0, 1}} {
				up, down := w.Vector(), w.Vector()
				VADDPS(s[order[1]], s[order[0]], up)
				VADDPS(s[order[3]], s[order[2]], down)
				VSUBPS(down, up, up)
				VADDPS(Mem{Base: at}, up, up)
				VMOVUPS(up, Mem{Base: at})
				ADDQ(size, at)
			}
		}
	})
}

// horner emits the polynomial with the given coefficients, lowest first.
func (w *isa) horner(x []VecVirtual, c ...float64) []VecVirtual {
	p := make([]VecVirtual, len(x))
	for k := range p {
		p[k] = w.Loaded(w.full(c[len(c)-1]))
	}
	for i := len(c) - 2; i >= 0; i-- {
		for k := range p {
			VFMADD213PS(w.full(c[i]), x[k], p[k])
		}
	}
	return p
}

// decay emits e^−|x|, not below 2^−126.
func (w *isa) decay(x []VecVirtual) []VecVirtual {
	t, n := make([]VecVirtual, len(x)), make([]VecVirtual, len(x))
	for k := range x {
		t[k], n[k] = w.Vector(), w.Vector()
		w.Or(w.word(1<<31), x[k], t[k])
		VMAXPS(w.full(-87), t[k], t[k])
		VMULPS(w.full(math.Log2E), t[k], n[k])
		if w == avx512 {
			VRNDSCALEPS(Imm(0), n[k], n[k])
		} else {
			VROUNDPS(Imm(0), n[k], n[k])
		}
		VFNMADD231PS(w.full(Ln2High), n[k], t[k])
		VFNMADD231PS(w.full(Ln2Low), n[k], t[k])
	}
	p := w.horner(t, append([]float64{1, 1}, Expm1Tail...)...)
	for k, n := range n {
		VCVTPS2DQ(n, n)
		VPADDD(w.word(127), n, n)
		VPSLLD(Imm(23), n, n)
		VMULPS(n, p[k], p[k])
	}
	return p
}

// numbers emits the numbers that samples' spins make, the first site lowest. sites and n
// are used up.
func (w *isa) numbers(state, sites, n GPVirtual) []VecVirtual {
	value, bit := w.Loaded(w.word(1)), VecVirtual(nil)
	if w == avx2 {
		bit = w.Loaded(constants.Vector32(1, 2, 4, 8, 16, 32, 64, 128))
	}
	sums := make([]VecVirtual, samples/w.Lanes())
	for i := range sums {
		sums[i] = w.zero()
	}
	TESTQ(n, n)
	JZ(LabelRef("counted"))
	Label("site")
	site := GP64()
	MOVLQSX(Mem{Base: sites}, site)
	for i, sum := range sums {
		word := Mem{Base: state, Index: site, Scale: 8, Disp: w.Lanes() / 8 * i}
		if w == avx512 {
			k := K()
			KMOVW(word, k)
			VPADDD(value, sum, k, sum)
		} else {
			v := w.Vector()
			VPBROADCASTB(word, v)
			VPAND(bit, v, v)
			VPCMPEQD(bit, v, v)
			VPAND(value, v, v)
			VPADDD(v, sum, sum)
		}
	}
	VPADDD(value, value, value)
	ADDQ(Imm(4), sites)
	DECQ(n)
	JNZ(LabelRef("site"))
	Label("counted")
	return sums
}

// draw emits the comparison of random words with a table's thresholds, as signed
// numbers with the highest bit inverted where there is no other comparison. A table
// that fits into a vector is looked up there.
func (w *isa) draw() {
	w.Kernel("bitDraw", fmt.Sprintf("func(thresholds []uint32, state []uint64, sites []int32, words *[%d]uint32) (spins uint64)", samples),
		"is bitDrawGeneric.")
	state, sites, left := Address("state"), Address("sites"), Length("sites")
	numbers := w.numbers(state, sites, left)
	thresholds, words := Address("thresholds"), Number("words")
	spins := GP64()
	XORQ(spins, spins)
	compare := func(part int, t VecVirtual) {
		at, bits := Mem{Base: words, Disp: 4 * w.Lanes() * part}, GP64()
		if w == avx512 {
			less := K()
			VPCMPUD(Imm(6), at, t, less) // threshold > word
			KMOVW(less, bits.As32())
		} else {
			word, top := w.Vector(), w.Loaded(w.word(1<<31))
			VPXOR(top, t, t)
			VPXOR(at, top, word)
			VPCMPGTD(word, t, t)
			VMOVMSKPS(t, bits.As32())
		}
		SHLQ(Imm(uint64(w.Lanes()*part)), bits)
		ORQ(bits, spins)
	}
	if w == avx512 {
		n := Length("sites")
		CMPQ(n, Imm(4))
		JA(LabelRef("gather"))
		Comment("As many of 16 numbers as there are")
		size, all, within, table := Length("thresholds"), GP64(), K(), w.Vector()
		MOVQ(I32(-1), all)
		BZHIQ(size, all, all)
		KMOVW(all.As32(), within)
		VMOVDQU32_Z(Mem{Base: thresholds}, within, table)
		for part, i := range numbers {
			t := w.Vector()
			VPERMD(table, i, t)
			compare(part, t)
		}
		Store(spins, ReturnIndex(0))
		Leave()
		Label("gather")
	}
	for part, i := range numbers {
		t := w.Vector()
		w.Xor(t, t, t)
		at := Mem{Base: thresholds, Index: i, Scale: 4}
		w.Gather(VPGATHERDD, at, t)
		compare(part, t)
	}
	Store(spins, ReturnIndex(0))
	Leave()
}

// categories emits the draws of states, of four vectors of samples at a time: the numbers of
// the table's rows, and in these a search by halves.
func (w *isa) categories() {
	const strips = 4
	w.Kernel("categoryDraw", fmt.Sprintf("func(dst *[%[1]d]byte, thresholds []uint32, rows, levels, last int, state []byte, sites, strides []int32, words *[%[1]d]uint32)", samples),
		"is categoryDrawGeneric.")
	dst, words := Number("dst"), Number("words")
	state, table := Address("state"), Address("thresholds")
	every := func(param string) (v VecVirtual) { // of the vector, a number
		x, v := XMM(), w.Vector()
		VMOVD(Number(param).As32(), x)
		VPBROADCASTD(x, v)
		return v
	}
	last, rows, left := every("last"), every("rows"), GP64()
	one := w.Loaded(w.word(1))
	VPSUBD(one, rows, rows) // the last row
	MOVQ(U32(uint64(samples/(strips*w.Lanes()))), left)

	Label("strips")
	var at, drawn [strips]VecVirtual
	for i := range at {
		at[i], drawn[i] = w.zero(), w.zero()
	}
	sites, strides := Address("sites"), Address("strides")
	n := Length("sites")
	TESTQ(n, n)
	JZ(LabelRef("numbered"))
	Label("site")
	site, stride := GP64(), w.Vector()
	MOVLQSX(Mem{Base: sites}, site)
	SHLQ(Imm(3), site)
	VPBROADCASTD(Mem{Base: strides}, stride)
	for i := range at {
		x := w.Vector()
		VPMOVZXBD(Mem{Base: state, Index: site, Scale: 8, Disp: w.Lanes() * i}, x)
		VPMULLD(stride, x, x)
		VPADDD(x, at[i], at[i])
	}
	ADDQ(Imm(4), sites)
	ADDQ(Imm(4), strides)
	DECQ(n)
	JNZ(LabelRef("site"))

	Label("numbered")
	Comment("A row is of one number less than 2 to the power of levels, and half of that is where the search begins.")
	levels, power, half, middle := Number("levels"), XMM(), w.Vector(), GP64()
	VMOVD(levels.As32(), power)
	for i := range at {
		x := w.Vector()
		VPMINUD(rows, at[i], at[i])
		VPSLLD(power, at[i], x)
		VPSUBD(at[i], x, at[i])
	}
	VPSLLD(power, one, half)
	VPSRLD(Imm(1), half, half)
	Label("level")
	VMOVD(half.(VecVirtual).AsX(), middle.As32())
	LEAQ(Mem{Base: table, Index: middle, Scale: 4, Disp: -4}, middle)
	for i := range at {
		t, entries, word := w.zero(), Mem{Base: middle, Index: at[i], Scale: 4}, Mem{Base: words, Disp: 4 * w.Lanes() * i}
		if w == avx512 {
			all := K()
			KXNORW(all, all, all)
			VPGATHERDD(entries, all, t)
			VPCMPUD(Imm(2), word, t, all) // threshold ≤ word
			VPADDD(half, at[i], all, at[i])
			VPADDD(half, drawn[i], all, drawn[i])
			continue
		}
		all := w.Vector()
		VPCMPEQD(all, all, all)
		VPGATHERDD(all, entries, t)
		VPMAXUD(word, t, t)
		VPCMPEQD(word, t, t)
		VPAND(half, t, t)
		VPADDD(t, at[i], at[i])
		VPADDD(t, drawn[i], drawn[i])
	}
	VPSRLD(Imm(1), half, half)
	DECQ(levels)
	JNZ(LabelRef("level"))

	for i := range drawn {
		VPMINUD(last, drawn[i], drawn[i])
		if w == avx512 {
			VPMOVDB(drawn[i], Mem{Base: dst, Disp: w.Lanes() * i})
		}
	}
	if w == avx2 {
		VPACKUSDW(drawn[1], drawn[0], drawn[0])
		VPACKUSDW(drawn[3], drawn[2], drawn[2])
		VPACKUSWB(drawn[2], drawn[0], drawn[0])
		order := w.Loaded(constants.Vector32(0, 4, 1, 5, 2, 6, 3, 7)) // of each strip one half in each half
		VPERMD(drawn[0], order, drawn[0])
		VMOVUPS(drawn[0], Mem{Base: dst})
	}
	ADDQ(U32(uint32(strips*w.Lanes())), state)
	ADDQ(U32(uint32(strips*w.Lanes())), dst)
	ADDQ(U32(uint32(4*strips*w.Lanes())), words)
	DECQ(left)
	JNZ(LabelRef("strips"))
	Leave()
}

// lookup emits sums of a table's numbers.
func (w *isa) lookup() {
	w.Kernel("bitLookup", fmt.Sprintf("func(dst *[%d]float64, table []float64, scale float64, state []uint64, sites []int32)", samples),
		"is bitLookupGeneric.")
	state, sites, left := Address("state"), Address("sites"), Length("sites")
	numbers := w.numbers(state, sites, left)
	dst, table := Number("dst"), Address("table")
	scale := w.Vector()
	VBROADCASTSD(Argument("scale"), scale)
	ones := GP64()
	if w == avx512 {
		MOVQ(I32(-1), ones)
	}
	for part, i := range numbers {
		for half := range 2 {
			sum, at := w.zero(), Mem{Base: dst, Disp: 8*w.Lanes()*part + 4*w.Lanes()*half}
			if w == avx512 {
				index, all := i.AsY(), K()
				if half == 1 {
					index = YMM()
					VEXTRACTI64X4(Imm(1), i, index)
				}
				KMOVB(ones.As32(), all)
				VGATHERDPD(Mem{Base: table, Index: index, Scale: 8}, all, sum)
			} else {
				index, all := i.AsX(), w.zero()
				if half == 1 {
					index = XMM()
					VEXTRACTI128(Imm(1), i, index)
				}
				VPCMPEQD(all, all, all)
				VGATHERDPD(all, Mem{Base: table, Index: index, Scale: 8}, sum)
			}
			VMULPD(scale, sum, sum)
			VADDPD(at, sum, sum)
			VMOVUPD(sum, at)
		}
	}
	Leave()
}

// selected emits a table's numbers.
func (w *isa) selected() {
	w.Kernel("bitSelect", fmt.Sprintf("func(dst *[%d]float32, table []float32, state []uint64, sites []int32)", samples),
		"is bitSelectGeneric.")
	state, sites, left := Address("state"), Address("sites"), Length("sites")
	numbers := w.numbers(state, sites, left)
	dst, table := Number("dst"), Address("table")
	for part, i := range numbers {
		x := w.zero()
		w.Gather(VGATHERDPS, Mem{Base: table, Index: i, Scale: 4}, x)
		VMOVUPS(x, Mem{Base: dst, Disp: 4 * w.Lanes() * part})
	}
	Leave()
}

// score emits the logarithms of the probabilities of spins and their derivatives, and
// before them, in heatBath, the draw of the spins.
func (w *isa) score(draw bool) {
	name, last := "bitScore", "spins uint64)"
	if draw {
		name, last = "heatBath", fmt.Sprintf("words *[%d]uint32) (spins uint64)", samples)
	}
	w.Kernel(name, fmt.Sprintf("func(logq *[%d]float64, residual, logits *[%d]float32, %s", samples, samples, last),
		"is "+name+"Generic up to rounding.")
	logq, residual, logits := Number("logq"), Number("residual"), Number("logits")
	var words, spins GPVirtual
	if draw {
		words, spins = Number("words"), GP64()
		XORQ(spins, spins)
	} else {
		spins = Number("spins")
	}
	sign := w.Loaded(w.word(1 << 31))
	var bit VecVirtual
	if w == avx2 && !draw {
		bit = w.Loaded(constants.Vector32(1, 2, 4, 8, 16, 32, 64, 128))
	}
	side := 1 // vectors side by side, whose chains of operations wait for each other
	if w == avx512 {
		side = 4
	}
	for first := 0; first < samples; first += side * w.Lanes() {
		x, up, sum, t := make([]VecVirtual, side), make([]VecVirtual, side), make([]VecVirtual, side), make([]VecVirtual, side)
		at := func(base Register, bytes, k int) Mem {
			return Mem{Base: base, Disp: bytes * (first + k*w.Lanes())}
		}
		for k := range x {
			x[k] = w.Loaded(at(logits, 4, k))
		}
		z, one := w.decay(x), w.Loaded(w.full(1))
		for k, z := range z {
			sum[k] = w.Vector()
			VADDPS(one, z, sum[k])
		}
		for k, x := range x {
			up[k], t[k] = w.Vector(), w.Vector()
			if draw {
				p, word, bits := w.Vector(), w.Vector(), GP64()
				VDIVPS(sum[k], z[k], p)
				VMULPS(w.full(1<<31), p, p)
				VCVTTPS2DQ(p, p)
				VMOVUPS(at(words, 4, k), word)
				VPSRLD(Imm(1), word, word)
				VPSUBD(p, word, word) // negative where the less likely spin is drawn
				w.Xor(x, word, word)  // of the sign opposite to the logit's
				if w == avx512 {
					k1 := K()
					VPMOVD2M(word, k1)
					KMOVW(k1, bits.As32())
					VPANDND(sign, word, up[k])
				} else {
					VMOVMSKPS(word, bits.As32())
					VPANDN(sign, word, up[k])
				}
				SHLQ(Imm(uint64(first+k*w.Lanes())), bits)
				ORQ(bits, spins)
			} else {
				if w == avx512 {
					k1 := K()
					KMOVW(spins.As32(), k1)
					VMOVDQA32_Z(sign, k1, up[k])
				} else {
					VMOVD(spins.As32(), up[k].AsX())
					VPBROADCASTD(up[k].AsX(), up[k])
					VPAND(bit, up[k], up[k])
					VPCMPEQD(bit, up[k], up[k])
					VPAND(sign, up[k], up[k])
				}
				SHRQ(Imm(uint64(w.Lanes())), spins)
			}
			w.Xor(up[k], x, t[k])
		}
		Comment("up is the sign bit where the spin is +1: t = −x·logit has the logit's sign flipped there.",
			"The residual is x·σ(t); σ(t) = 1/(1+z), or z/(1+z) for negative t.")
		TESTQ(residual, residual)
		skip := fmt.Sprintf("noResidual%d", first)
		JZ(LabelRef(skip))
		for k, t := range t {
			top := w.Vector()
			if w == avx512 {
				negative := K()
				VPMOVD2M(t, negative)
				VBLENDMPS(z[k], one, negative, top)
			} else {
				VBLENDVPS(t, z[k], one, top)
			}
			VDIVPS(sum[k], top, top)
			w.Xor(sign, up[k], up[k])
			w.Xor(up[k], top, top)
			VMOVUPS(top, at(residual, 4, k))
		}
		Label(skip)
		Comment("ln(1+z): r = z, or (z−1)/2 and ln 2 beside it where z > √2−1")
		r, more := make([]VecVirtual, side), make([]VecVirtual, side)
		for k, z := range z {
			r[k], more[k] = w.Vector(), w.Vector()
			if w == avx512 {
				k1 := K()
				VMOVAPS(z, r[k])
				VCMPPS(Imm(14), w.full(math.Sqrt2-1), z, k1)
				VSUBPS(one, z, more[k])
				VMULPS(w.full(0.5), more[k], k1, r[k])
				VMOVUPS_Z(w.full(math.Ln2), k1, more[k])
			} else {
				mask := w.Vector()
				VCMPPS(Imm(14), w.full(math.Sqrt2-1), z, mask)
				VSUBPS(one, z, more[k])
				VMULPS(w.full(0.5), more[k], more[k])
				VBLENDVPS(mask, more[k], z, r[k])
				VANDPS(w.full(math.Ln2), mask, more[k])
			}
		}
		p := w.horner(r, append([]float64{-0.5}, LogTail...)...)
		for k, p := range p {
			VMULPS(r[k], p, p)
			VFMADD213PS(r[k], r[k], p) // r + r (r tail)
			VADDPS(more[k], p, p)
			w.maxZero(t[k])
			VADDPS(t[k], p, p)
			for half := range 2 {
				part, wide, at := YMM(), w.Vector(), at(logq, 8, k).Offset(4*w.Lanes()*half)
				if w == avx512 {
					VEXTRACTF64X4(Imm(uint64(half)), p, part)
					VCVTPS2PD(part, wide)
				} else {
					VEXTRACTF128(Imm(uint64(half)), p, part.AsX())
					VCVTPS2PD(part.AsX(), wide)
				}
				old := w.Vector()
				VMOVUPD(at, old)
				VSUBPD(wide, old, old)
				VMOVUPD(old, at)
			}
		}
	}
	if draw {
		Comment("A sign for +1 where the logit is not negative and the likely spin was drawn")
		NOTQ(spins)
		Store(spins, ReturnIndex(0))
	}
	Leave()
}

func (w *isa) maxZero(t VecVirtual) {
	z := w.zero()
	VMAXPS(z, t, t)
}
