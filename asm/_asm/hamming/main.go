// Command hamming generates the kernels of HammingSums.
//
// A kernel holds some rows in the lanes of two vectors and walks a stream of
// columns, see HammingColumns.Pack:
//
//	chunk   = segment … segment 0
//	segment = number of runs, columns in each run − 1, run …
//	run     = bucket offsets of the runs' common first configuration, column …
//	column  = words of the pair, weight
//
// For each column it looks three functions of the Hamming distance up in
// tables. Weighted values of the function Spin are summed over a run and then
// added to one bucket of every group of spins, the one that the pattern of the
// group's spins selects; hammingSigned turns buckets into sums signed by each
// spin. So the work per column does not grow with the number of spins, and that
// per run by one addition for four to six spins. More than 64 spins take the way
// of wide.go.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// A path is an instruction set.
type path struct {
	*ISA
	plain *ISA // the one of kernels that count no bits
	count bool // VPOPCNTDQ
}

var paths = []*path{
	{&ISA{Suffix: "VPOPCNT", Bytes: AVX512.Bytes}, AVX512, true},
	{AVX512, AVX512, false},
	{AVX2, AVX2, false},
}

const (
	vectors   = 2   // of rows
	rowStride = 128 // bytes between the words of the rows of one block
)

// A variant fixes how many spins a kernel can take.
type variant struct {
	name   string
	doc    string
	words  int  // of 32 bits in a column
	chunks int  // of 32 table entries
	tail   bool // one more entry
}

var variants = []variant{
	{"hamming15", "at most 15", 1, 1, false},
	{"hamming16", "at most 16", 1, 1, true},
	{"hamming31", "at most 31", 2, 2, false},
	{"hamming64", "at most 64", 4, 4, true},
}

func main() {
	ConstraintExpr("amd64,!purego")
	for _, p := range paths {
		for _, v := range variants {
			(&kernel{path: p, variant: v}).emit()
		}
	}
	for _, p := range paths {
		distances(p)
	}
	for _, p := range []*path{paths[0], paths[2]} {
		weigh(p)
		signed(p)
		tabulate(p)
		gather(p)
	}
	finish()
	Generate()
}

// A kernel is one path of one variant.
type kernel struct {
	*path
	variant
	rows, spinTable, lossTable, baseTable, buckets Register
	nibbles                                        VecVirtual // their population counts
	tables                                         map[Register][2]VecVirtual
	loss, base, spin                               [2]VecVirtual
	row                                            [2]VecVirtual // where registers suffice
}

func (k *kernel) emit() {
	k.Kernel(k.name, "func(loss *float64, base, buckets *float32, rows *uint32"+
		", stream *uint32, lossTable, baseTable, spinTable *float32, groups, skip, stride int)",
		"adds one chunk of a stream of columns of "+k.doc+" spins to the loss,",
		"the base (unless baseTable is nil) and the buckets of a block of rows.")
	lossSum, baseSum := Number("loss"), Number("base")
	k.buckets, k.rows = Number("buckets"), Number("rows")
	stream := Number("stream")
	k.lossTable, k.baseTable, k.spinTable = Number("lossTable"), Number("baseTable"), Number("spinTable")
	k.constants()
	for i := range vectors {
		k.loss[i], k.base[i], k.spin[i] = k.Vector(), k.Vector(), k.Vector()
		if k.words == 1 && k.Wide() {
			k.row[i] = k.Vector()
			k.Move(Mem{Base: k.rows, Disp: i * k.Bytes}, k.row[i])
		}
	}

	Label("segment")
	runs, rest := GP32(), GP32()
	MOVL(Mem{Base: stream}, runs)
	TESTL(runs, runs)
	JEQ(LabelRef("done"))
	MOVL(Mem{Base: stream, Disp: 4}, rest)
	ADDQ(Imm(8), stream)
	for i := range vectors {
		k.Clear(k.loss[i], k.base[i])
	}

	Label("run")
	offsets := Copy(stream)
	skip := Number("skip")
	ADDQ(skip, offsets)
	stride := Number("stride")
	ADDQ(stride, stream)
	k.Clear(k.spin[:]...)
	left := GP32()
	MOVL(rest, left)
	Label("column")
	k.column(stream)
	DECL(left)
	JNS(LabelRef("column"))

	Comment("Add the run to its bucket of every group.")
	groups := Number("groups")
	Label("group")
	offset := GP64()
	MOVL(Mem{Base: offsets}, offset.As32())
	for i := range vectors {
		sum := k.Vector()
		bucket := Mem{Base: k.buckets, Index: offset, Scale: uint8(k.Bytes / 32), Disp: i * k.Bytes}
		VADDPS(bucket, k.spin[i], sum)
		VMOVUPS(sum, bucket)
	}
	ADDQ(Imm(4), offsets)
	DECQ(groups)
	JNE(LabelRef("group"))
	DECL(runs)
	JNE(LabelRef("run"))

	Comment("Add the segment to the loss, in double precision, and to the base.")
	k.addTo(lossSum, baseSum)
	JMP(LabelRef("segment"))
	Label("done")
	Leave()
}

// column adds one column and advances the stream.
func (k *kernel) column(stream Register) {
	h := k.distances(stream)
	weight := k.BroadcastFloat(Mem{Base: stream, Disp: 4 * k.words})
	ADDQ(Imm(uint64(4*k.words+4)), stream)
	for i := range h {
		in := k.prepare(h[i])
		VFMADD231PS(in.lookup(k.spinTable), weight, k.spin[i])
		VFMADD231PS(in.lookup(k.lossTable), weight, k.loss[i])
		TESTQ(k.baseTable, k.baseTable)
		noBase := fmt.Sprintf("noBase%d", i)
		JEQ(LabelRef(noBase))
		VFMADD231PS(in.lookup(k.baseTable), weight, k.base[i])
		Label(noBase)
	}
}

// addTo adds the loss, in double precision, and the base of the columns so far.
func (k *kernel) addTo(lossSum, baseSum Register) {
	for i := range vectors {
		k.widen(lossSum, i)
		sum := Mem{Base: baseSum, Disp: i * k.Bytes}
		VADDPS(sum, k.base[i], k.base[i])
		VMOVUPS(k.base[i], sum)
	}
}

// widen adds the loss of a segment to the double-precision sums.
func (k *kernel) widen(to Register, i int) {
	half := func(v Register, disp int) {
		wide := k.Vector()
		sum := Mem{Base: to, Disp: disp}
		VCVTPS2PD(v, wide)
		VADDPD(sum, wide, wide)
		VMOVUPD(wide, sum)
	}
	if k.Wide() {
		half(k.loss[i].AsY(), 2*i*k.Bytes)
		upper := YMM()
		VEXTRACTF64X4(Imm(1), k.loss[i], upper)
		half(upper, (2*i+1)*k.Bytes)
		return
	}
	half(k.loss[i].AsX(), 2*i*k.Bytes)
	upper := XMM()
	VEXTRACTF128(Imm(1), k.loss[i], upper)
	half(upper, (2*i+1)*k.Bytes)
}

// signed emits the kernel that turns buckets into sums signed by each spin.
//
// With B_p the buckets by pattern p of g spins, the sum signed by the uppermost
// spin is Σ_{p < 2^(g−1)} (B_{p+2^(g−1)} − B_p), and adding the two halves leaves
// the same problem for g−1 spins. What remains in the end is the sum over all
// columns.
func signed(p *path) {
	p.plain.Kernel("hammingSigned", "func(spin, buckets *float32, bits int)",
		"writes the sums signed by each of the spins of one group, whose",
		"buckets it uses up: the sum over all columns remains in the first.")
	spin, buckets, bits := Number("spin"), Number("buckets"), Number("bits")
	size := vectors * p.Bytes
	half := GP64()
	MOVQ(U32(size), half)
	SHLXQ(bits, half, half)
	SHLQ(Imm(7), bits) // rowStride
	ADDQ(bits, spin)
	Label("bit")
	SHRQ(Imm(1), half)
	CMPQ(half, Imm(uint64(size)))
	JLT(LabelRef("done"))
	SUBQ(Imm(rowStride), spin)
	sums := [vectors]VecVirtual{p.Vector(), p.Vector()}
	p.Clear(sums[:]...)
	down, up := GP64(), GP64()
	MOVQ(buckets, down)
	LEAQ(Mem{Base: buckets, Index: half, Scale: 1}, up)
	end := Copy(up)
	Label("pattern")
	for i, sum := range sums {
		low, high, both := p.Vector(), p.Vector(), p.Vector()
		VMOVUPS(Mem{Base: down, Disp: i * p.Bytes}, low)
		VMOVUPS(Mem{Base: up, Disp: i * p.Bytes}, high)
		VADDPS(low, high, both)
		VMOVUPS(both, Mem{Base: down, Disp: i * p.Bytes})
		VSUBPS(low, high, high)
		VADDPS(high, sum, sum)
	}
	ADDQ(U32(size), down)
	ADDQ(U32(size), up)
	CMPQ(down, end)
	JLT(LabelRef("pattern"))
	for i, sum := range sums {
		VMOVUPS(sum, Mem{Base: spin, Disp: i * p.Bytes})
	}
	JMP(LabelRef("bit"))
	Label("done")
	Leave()
}
