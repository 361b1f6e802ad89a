package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// Beyond 64 spins four kernels share the work on a tile of columns, see
// hammingWide: distances counts, weigh turns distances into weighted values of the
// table Spin,
// tabulate adds up the values of every few columns for all patterns of signs,
// and gather adds for each spin the entries that its patterns select. So a spin
// costs an addition and a load for every few columns, none of which waits for a
// store.
const (
	rowBytes     = 128 // one number of each row of a block
	halfBytes    = 64  // of half the rows
	groupColumns = 5
	tileGroups   = 8
	patterns     = 1 << groupColumns
	tableBytes   = patterns * rowBytes // of one group: of half of the rows, then of the others
)

// distances emits the kernel of Hamming distances. Columns are taken several at a
// time, so that a word of the rows is loaded once for all of them.
func distances(p *path) {
	k := &kernel{path: p}
	p.Kernel("hammingDistances", "func(distances, rows, states *uint64, columns, words, stride, add int) (least uint64)",
		"is hammingDistancesGeneric for as many rows as four vectors have",
		"lanes of 64 bits, with at least one column and word.")
	to := Number("distances")
	k.rows = Number("rows")
	states, columns, words, stride := Number("states"), Number("columns"), Number("words"), Number("stride")
	add := Number("add")
	SHLQ(Imm(3), stride)
	if !k.count {
		k.constants()
	}
	least := k.Vector()
	k.Ones(least)
	together := 4
	if !p.Wide() {
		together = 2
	}
	Label("block")
	CMPQ(columns, Imm(uint64(together)))
	JLT(LabelRef("single"))
	k.columnDistances("block", to, states, words, stride, add, least, together)
	SUBQ(Imm(uint64(together)), columns)
	JMP(LabelRef("block"))
	Label("single")
	TESTQ(columns, columns)
	JEQ(LabelRef("done"))
	k.columnDistances("single", to, states, words, stride, add, least, 1)
	DECQ(columns)
	JMP(LabelRef("single"))
	Label("done")
	Store(k.Reduce(least, func(a, b, to Op) { VPMINUD(a, b, to) }), ReturnIndex(0))
	Leave()
}

// columnDistances counts over some words of a few columns and goes to the next.
func (k *kernel) columnDistances(name string, to, states, words, stride, add Register, least VecVirtual, columns int) {
	const distanceBytes = 2 * rowBytes // of one column
	sums := make([][2 * vectors]VecVirtual, columns)
	at := func(c, i int) Mem { return Mem{Base: to, Disp: c*distanceBytes + i*k.Bytes} }
	for c := range sums {
		for i := range sums[c] {
			sums[c][i] = k.Vector()
			k.Clear(sums[c][i])
		}
	}
	TESTQ(add, add)
	JEQ(LabelRef(name + "Begin"))
	for c := range sums {
		for i, sum := range sums[c] {
			k.Move(at(c, i), sum)
		}
	}
	Label(name + "Begin")
	state := make([]Register, columns)
	for c := range state {
		state[c] = GP64()
		if c == 0 {
			MOVQ(states, state[c])
		} else {
			LEAQ(Mem{Base: state[c-1], Index: stride, Scale: 1}, state[c])
		}
	}
	LEAQ(Mem{Base: state[columns-1], Index: stride, Scale: 1}, states)
	row, index := GP64(), GP64()
	MOVQ(k.rows, row)
	XORQ(index, index)
	Label(name + "Word")
	var zero VecVirtual
	if !k.count {
		zero = k.Vector()
		k.Clear(zero)
	}
	var own [2 * vectors]VecVirtual
	for i := range own {
		if k.Wide() {
			own[i] = k.Vector()
			k.Move(Mem{Base: row, Disp: i * k.Bytes}, own[i])
		}
	}
	for c := range sums {
		column := k.Vector()
		VPBROADCASTQ(Mem{Base: state[c], Index: index, Scale: 8}, column)
		for i, sum := range sums[c] {
			bits := k.Vector()
			if k.Wide() {
				k.Xor(own[i], column, bits)
			} else {
				k.Xor(Mem{Base: row, Disp: i * k.Bytes}, column, bits)
			}
			k.bitCount(bits, VPOPCNTQ)
			if !k.count {
				VPSADBW(zero, bits, bits)
			}
			VPADDQ(bits, sum, sum)
		}
	}
	ADDQ(U32(2*rowBytes), row)
	INCQ(index)
	CMPQ(index, words)
	JNE(LabelRef(name + "Word"))
	for c := range sums {
		for i, sum := range sums[c] {
			k.Move(sum, at(c, i))
			VPMINUD(sum, least, least) // the upper half of each lane is 0
		}
	}
	ADDQ(U32(uint32(columns*distanceBytes)), to)
}

// weigh emits the kernel of tables.
func weigh(p *path) {
	k := &kernel{path: p}
	p.plain.Kernel("hammingWeigh", "func(values *float32, loss *float64, base *float32, distances *uint64, weights *float32, pairTable, baseTable *float32, columns int)",
		"is hammingWeighGeneric for as many rows as two vectors have lanes,",
		"with entries of Loss and Spin side by side in pairTable.")
	values, distances, weights := Number("values"), Number("distances"), Number("weights")
	pairTable := Number("pairTable")
	k.baseTable = Number("baseTable")
	columns := Number("columns")
	for i := range vectors {
		k.loss[i], k.base[i] = k.Vector(), k.Vector()
		k.Clear(k.loss[i], k.base[i])
	}
	var even, odd VecVirtual
	if k.Wide() {
		even, odd = k.Vector(), k.Vector()
		indices := make([]uint32, 32)
		for i := range 16 {
			indices[i], indices[16+i] = uint32(2*i), uint32(2*i+1)
		}
		at := constants.Vector32(indices...)
		VMOVDQU32(at, even)
		VMOVDQU32(at.Offset(64), odd)
	}
	Label("column")
	var sums [2 * vectors]VecVirtual
	for i := range sums {
		sums[i] = k.Vector()
		k.Move(Mem{Base: distances, Disp: i * k.Bytes}, sums[i])
	}
	ADDQ(U32(2*rowBytes), distances)
	weight := k.BroadcastFloat(Mem{Base: weights})
	ADDQ(Imm(4), weights)
	for i := range vectors {
		low, high := k.gatherPairs(pairTable, sums[2*i]), k.gatherPairs(pairTable, sums[2*i+1])
		loss, spin := k.Vector(), k.Vector()
		if k.Wide() {
			VMOVDQA64(even, loss)
			VPERMI2PS(high, low, loss)
			VMOVDQA64(odd, spin)
			VPERMI2PS(high, low, spin)
		} else {
			VSHUFPS(Imm(0x88), high, low, loss)
			VPERMPD(Imm(0xD8), loss, loss)
			VSHUFPS(Imm(0xDD), high, low, spin)
			VPERMPD(Imm(0xD8), spin, spin)
		}
		VFMADD231PS(loss, weight, k.loss[i])
		VMULPS(spin, weight, spin)
		VMOVUPS(spin, Mem{Base: values, Disp: i * k.Bytes})
		noBase, next := fmt.Sprintf("noBase%d", i), fmt.Sprintf("next%d", i)
		TESTQ(k.baseTable, k.baseTable)
		JEQ(LabelRef(noBase))
		h := k.narrowed(sums[2*i], sums[2*i+1])
		entries := (&index{kernel: k, h: h}).gather(k.baseTable)
		VFMADD231PS(entries, weight, k.base[i])
		JMP(LabelRef(next))
		Label(noBase)
		VADDPS(spin, k.base[i], k.base[i])
		Label(next)
	}
	ADDQ(U32(rowBytes), values)
	DECQ(columns)
	JNE(LabelRef("column"))

	Comment("Add the tile to the loss, in double precision, and to the base.")
	k.addTo(Number("loss"), Number("base"))
	Leave()
}

// narrowed returns the lanes of 64 bits of two vectors as one of 32 bits.
func (k *kernel) narrowed(low, high VecVirtual) VecVirtual {
	h := k.Vector()
	if k.Wide() {
		VPMOVQD(low, h.AsY())
		upper := YMM()
		VPMOVQD(high, upper)
		VINSERTI64X4(Imm(1), upper, h, h)
		return h
	}
	// The even lanes of 32 bits of both, in order.
	VSHUFPS(Imm(0x88), high, low, h)
	VPERMQ(Imm(0xD8), h, h)
	return h
}

// gatherPairs loads one pair of entries for every lane of 64 bits.
func (k *kernel) gatherPairs(table Register, h VecVirtual) VecVirtual {
	pairs := k.Vector()
	k.Clear(pairs)
	k.Gather(VGATHERQPD, Mem{Base: table, Index: h, Scale: 8}, pairs)
	return pairs
}

// tabulate emits the kernel that tabulates signed sums of four columns.
func tabulate(p *path) {
	p.plain.Kernel("hammingTabulate", fmt.Sprintf("func(table *[%d]float32, values *[%d]float32)", tileGroups*tableBytes/4, tileGroups*groupColumns*rowBytes/4),
		"is hammingTabulateGeneric.")
	tables, values := Number("table"), Number("values")
	group := GP64()
	MOVQ(U32(tileGroups), group)
	Label("group")
	for at := 0; at < rowBytes; at += p.Bytes {
		// Signed sums of the first two columns, and of the others in pairs or alone:
		// bit k of the index is set where column k is added.
		var parts [][]VecVirtual
		for first := 0; first < groupColumns; first += 2 {
			x, y := p.Vector(), p.Vector()
			zero := XMM()
			VXORPS(zero, zero, zero)
			VMOVUPS(Mem{Base: values, Disp: first*rowBytes + at}, x)
			if first == groupColumns-1 {
				VSUBPS(x, p.widened(zero), y)
				parts = append(parts, []VecVirtual{y, x})
				continue
			}
			VMOVUPS(Mem{Base: values, Disp: (first+1)*rowBytes + at}, y)
			sums := []VecVirtual{p.Vector(), p.Vector(), p.Vector(), p.Vector()}
			VADDPS(y, x, sums[3])
			VSUBPS(y, x, sums[1])
			VSUBPS(x, y, sums[2])
			VSUBPS(sums[3], p.widened(zero), sums[0])
			parts = append(parts, sums)
		}
		for high := range patterns / 4 {
			upper := parts[1][high%4]
			if len(parts) > 2 {
				upper = p.Vector()
				VADDPS(parts[1][high%4], parts[2][high/4], upper)
			}
			for low, lower := range parts[0] {
				sum := p.Vector()
				VADDPS(lower, upper, sum)
				VMOVUPS(sum, Mem{Base: tables, Disp: at/halfBytes*patterns*halfBytes + (4*high+low)*halfBytes + at%halfBytes})
			}
		}
	}
	ADDQ(U32(groupColumns*rowBytes), values)
	ADDQ(U32(tableBytes), tables)
	DECQ(group)
	JNE(LabelRef("group"))
	Leave()
}

// widened returns the vector whose lowest lanes are x.
func (p *path) widened(x VecVirtual) VecVirtual {
	if p.Wide() {
		return x.AsZ().(VecVirtual)
	}
	return x.AsY().(VecVirtual)
}

// gather emits the kernel that adds entries of the tables of a tile.
func gather(p *path) {
	p.plain.Kernel("hammingGather", fmt.Sprintf("func(sums []float32, table *[%d]float32, patterns [][%d]uint8)", tileGroups*tableBytes/4, tileGroups),
		"is hammingGatherGeneric.")
	sums, tables, patternBytes, spins := Address("sums"), Number("table"), Address("patterns"), Length("patterns")
	// Two sums for each vector, so that half as many additions wait in a row.
	parts := rowBytes / p.Bytes
	acc := make([]VecVirtual, 2*parts)
	for i := range acc {
		acc[i] = p.Vector()
	}
	Label("spin")
	var word Register
	for g := range tileGroups {
		// Loads are what bounds the loop, so patterns are taken from a register.
		offset := GP64()
		if g%8 == 0 {
			word = GP64()
			MOVQ(Mem{Base: patternBytes, Disp: g}, word)
		}
		MOVBQZX(word.(GPVirtual).As8(), offset)
		if g%8 < 7 {
			SHRQ(Imm(8), word)
		}
		entry := GP64()
		LEAQ(Mem{Base: tables, Index: offset, Scale: 8}, entry) // an address without an index is loaded from and added in one
		for i := range parts {
			at := i * p.Bytes
			m := Mem{Base: entry, Disp: g*tableBytes + at/halfBytes*patterns*halfBytes + at%halfBytes}
			a := acc[g%2*parts+i]
			switch g {
			case 0:
				VMOVUPS(Mem{Base: sums, Disp: i * p.Bytes}, a)
				VADDPS(m, a, a)
			case 1:
				VMOVUPS(m, a)
			default:
				VADDPS(m, a, a)
			}
		}
	}
	for i := range parts {
		VADDPS(acc[parts+i], acc[i], acc[i])
		VMOVUPS(acc[i], Mem{Base: sums, Disp: i * p.Bytes})
	}
	ADDQ(Imm(tileGroups), patternBytes)
	ADDQ(U32(rowBytes), sums)
	DECQ(spins)
	JNE(LabelRef("spin"))
	Leave()
}
