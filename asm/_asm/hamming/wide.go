package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Beyond 64 spins three kernels share the work on a tile of columns, see
// hammingWide: weigh turns pairs into weighted values of the table Spin,
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

// weigh emits the kernel of distances and tables.
func weigh(p *path) {
	k := &kernel{path: p}
	TEXT("hammingWeigh"+p.suffix, NOSPLIT, "func(values *float32, loss *float64, base *float32, rows *uint64, states *uint64, weights *float32, pairTable, baseTable *float32, columns, words int)")
	Doc("hammingWeigh"+p.suffix+" is hammingWeighGeneric for as many rows as two vectors have lanes,",
		"with entries of Loss and Spin side by side in pairTable.")
	Pragma("noescape")
	values := Load(Param("values"), GP64())
	k.rows = Load(Param("rows"), GP64())
	states := Load(Param("states"), GP64())
	weights := Load(Param("weights"), GP64())
	pairTable := Load(Param("pairTable"), GP64())
	k.baseTable = Load(Param("baseTable"), GP64())
	columns := Load(Param("columns"), GP64())
	k.wordCount = Load(Param("words"), GP64())
	k.constants()
	for i := range vectors {
		k.loss[i], k.base[i] = k.vector(), k.vector()
		k.zero(k.loss[i])
		k.zero(k.base[i])
	}
	var even, odd VecVirtual
	if k.wide {
		even, odd = k.vector(), k.vector()
		indices := make([]uint32, 32)
		for i := range 16 {
			indices[i], indices[16+i] = uint32(2*i), uint32(2*i+1)
		}
		at := constants.Vector32(indices...)
		VMOVDQU32(at, even)
		VMOVDQU32(at.Offset(64), odd)
	}
	Label("column")
	sums := k.wideDistances(states)
	weight := k.vector()
	VBROADCASTSS(Mem{Base: weights}, weight)
	ADDQ(Imm(4), weights)
	for i := range vectors {
		low, high := k.gatherPairs(pairTable, sums[2*i]), k.gatherPairs(pairTable, sums[2*i+1])
		loss, spin := k.vector(), k.vector()
		if k.wide {
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
		VMOVUPS(spin, Mem{Base: values, Disp: i * k.bytes})
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
	lossSum := Load(Param("loss"), GP64())
	baseSum := Load(Param("base"), GP64())
	for i := range vectors {
		k.widen(lossSum, i)
		sum := Mem{Base: baseSum, Disp: i * k.bytes}
		VADDPS(sum, k.base[i], k.base[i])
		VMOVUPS(k.base[i], sum)
	}
	VZEROUPPER()
	RET()
}

// wideDistances counts over a variable number of words, in lanes of 64 bits,
// and leaves states at the next column.
func (k *kernel) wideDistances(states Register) (sums [2 * vectors]VecVirtual) {
	for i := range sums {
		sums[i] = k.vector()
		k.zero(sums[i])
	}
	left, row := GP64(), GP64()
	MOVQ(k.wordCount, left)
	MOVQ(k.rows, row)
	Label("word")
	column := k.vector()
	VPBROADCASTQ(Mem{Base: states}, column)
	for i := range sums {
		bits := k.vector()
		k.xor(Mem{Base: row, Disp: i * k.bytes}, column, bits)
		k.bitCount(bits, VPOPCNTQ)
		if !k.count {
			zero := k.vector()
			k.zero(zero)
			VPSADBW(zero, bits, bits)
		}
		VPADDQ(bits, sums[i], sums[i])
	}
	ADDQ(Imm(8), states)
	ADDQ(U32(2*rowBytes), row)
	DECQ(left)
	JNE(LabelRef("word"))
	return sums
}

// narrowed returns the lanes of 64 bits of two vectors as one of 32 bits.
func (k *kernel) narrowed(low, high VecVirtual) VecVirtual {
	h := k.vector()
	if k.wide {
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
	pairs := k.vector()
	k.zero(pairs)
	entries := Mem{Base: table, Index: h, Scale: 8}
	if k.wide {
		all := K()
		KXNORW(all, all, all)
		VGATHERQPD(entries, all, pairs)
		return pairs
	}
	all := k.vector()
	VPCMPEQD(all, all, all)
	VGATHERQPD(all, entries, pairs)
	return pairs
}

// tabulate emits the kernel that tabulates signed sums of four columns.
func tabulate(p *path) {
	name := "hammingTabulate" + p.isa()
	TEXT(name, NOSPLIT, "func(tables, values *float32)")
	Doc(name + " is hammingTabulateGeneric.")
	Pragma("noescape")
	tables := Load(Param("tables"), GP64())
	values := Load(Param("values"), GP64())
	group := GP64()
	MOVQ(U32(tileGroups), group)
	Label("group")
	for at := 0; at < rowBytes; at += p.bytes {
		// Signed sums of the first two columns, and of the others in pairs or alone:
		// bit k of the index is set where column k is added.
		var parts [][]VecVirtual
		for first := 0; first < groupColumns; first += 2 {
			x, y := p.vector(), p.vector()
			zero := XMM()
			VXORPS(zero, zero, zero)
			VMOVUPS(Mem{Base: values, Disp: first*rowBytes + at}, x)
			if first == groupColumns-1 {
				VSUBPS(x, p.widened(zero), y)
				parts = append(parts, []VecVirtual{y, x})
				continue
			}
			VMOVUPS(Mem{Base: values, Disp: (first+1)*rowBytes + at}, y)
			sums := []VecVirtual{p.vector(), p.vector(), p.vector(), p.vector()}
			VADDPS(y, x, sums[3])
			VSUBPS(y, x, sums[1])
			VSUBPS(x, y, sums[2])
			VSUBPS(sums[3], p.widened(zero), sums[0])
			parts = append(parts, sums)
		}
		for high := range patterns / 4 {
			upper := parts[1][high%4]
			if len(parts) > 2 {
				upper = p.vector()
				VADDPS(parts[1][high%4], parts[2][high/4], upper)
			}
			for low, lower := range parts[0] {
				sum := p.vector()
				VADDPS(lower, upper, sum)
				VMOVUPS(sum, Mem{Base: tables, Disp: at/halfBytes*patterns*halfBytes + (4*high+low)*halfBytes + at%halfBytes})
			}
		}
	}
	ADDQ(U32(groupColumns*rowBytes), values)
	ADDQ(U32(tableBytes), tables)
	DECQ(group)
	JNE(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// widened returns the vector whose lowest lanes are x.
func (p *path) widened(x VecVirtual) VecVirtual {
	if p.wide {
		return x.AsZ().(VecVirtual)
	}
	return x.AsY().(VecVirtual)
}

// gather emits the kernel that adds entries of the tables of a tile.
func gather(p *path) {
	name := "hammingGather" + p.isa()
	TEXT(name, NOSPLIT, "func(sums, tables *float32, patterns *["+fmt.Sprint(tileGroups)+"]uint8, spins int)")
	Doc(name + " is hammingGatherGeneric.")
	Pragma("noescape")
	sums := Load(Param("sums"), GP64())
	tables := Load(Param("tables"), GP64())
	patternBytes := Load(Param("patterns"), GP64())
	spins := Load(Param("spins"), GP64())
	// Two sums for each vector, so that half as many additions wait in a row.
	parts := rowBytes / p.bytes
	acc := make([]VecVirtual, 2*parts)
	for i := range acc {
		acc[i] = p.vector()
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
			at := i * p.bytes
			m := Mem{Base: entry, Disp: g*tableBytes + at/halfBytes*patterns*halfBytes + at%halfBytes}
			a := acc[g%2*parts+i]
			switch g {
			case 0:
				VMOVUPS(Mem{Base: sums, Disp: i * p.bytes}, a)
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
		VMOVUPS(acc[i], Mem{Base: sums, Disp: i * p.bytes})
	}
	ADDQ(Imm(tileGroups), patternBytes)
	ADDQ(U32(rowBytes), sums)
	DECQ(spins)
	JNE(LabelRef("spin"))
	VZEROUPPER()
	RET()
}
