package main

import (
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

var constants = NewPool("hammingConstants")

// constants loads what stays in registers: the counts of nibbles, and the
// tables where they are small.
func (k *kernel) constants() {
	if !k.count {
		k.nibbles = k.Vector()
		counts := constants.Vector32(0x02010100, 0x03020201, 0x03020201, 0x04030302)
		if k.Wide() {
			VBROADCASTI32X4(counts, k.nibbles)
		} else {
			VBROADCASTI128(counts, k.nibbles)
		}
	}
	if k.Wide() && k.chunks == 1 {
		Comment("Without a table for the base, any memory will do.")
		base := GP64()
		TESTQ(k.baseTable, k.baseTable)
		MOVQ(k.spinTable, base)
		CMOVQNE(k.baseTable, base)
		k.tables = map[Register][2]VecVirtual{}
		for _, t := range [][2]Register{{k.spinTable, k.spinTable}, {k.lossTable, k.lossTable}, {k.baseTable, base}} {
			halves := [2]VecVirtual{k.Vector(), k.Vector()}
			for i, half := range halves {
				VMOVUPS(Mem{Base: t[1], Disp: 64 * i}, half)
			}
			k.tables[t[0]] = halves
		}
	}
}

// repeated returns a 32-bit integer in all lanes, in memory.
func (k *kernel) repeated(value uint32) Mem {
	return constants.Vector32(slices.Repeat([]uint32{value}, k.Lanes())...)
}

// distances returns the Hamming distances of the column at stream, in lanes of
// 32 bits.
func (k *kernel) distances(stream Register) (h [vectors]VecVirtual) {
	for i := range h {
		h[i] = k.Vector()
	}
	for w := range k.words {
		column := k.Vector()
		VPBROADCASTD(Mem{Base: stream, Disp: 4 * w}, column)
		for i := range h {
			bits := h[i]
			if w > 0 {
				bits = k.Vector()
			}
			if k.row[i] != nil {
				k.Xor(column, k.row[i], bits)
			} else {
				k.Xor(Mem{Base: k.rows, Disp: w*rowStride + i*k.Bytes}, column, bits)
			}
			k.bitCount(bits, VPOPCNTD)
			if w > 0 {
				VPADDD(bits, h[i], h[i])
			}
		}
	}
	if !k.count {
		for i := range h {
			k.sumBytes(h[i])
		}
	}
	return h
}

// bitCount counts the bits of every lane, or without VPOPCNTDQ of every byte.
func (k *kernel) bitCount(v VecVirtual, count func(...Op)) {
	if k.count {
		count(v, v)
		return
	}
	upper := k.Vector()
	VPSRLD(Imm(4), v, upper)
	k.And(k.repeated(0x0F0F0F0F), v, v)
	k.And(k.repeated(0x0F0F0F0F), upper, upper)
	VPSHUFB(v, k.nibbles, v)
	VPSHUFB(upper, k.nibbles, upper)
	VPADDB(upper, v, v)
}

// sumBytes adds the bytes of every lane of 32 bits.
func (k *kernel) sumBytes(v VecVirtual) {
	VPMADDUBSW(k.repeated(0x01010101), v, v)
	VPMADDWD(k.repeated(0x00010001), v, v)
}

// An index is a vector of distances, prepared to be looked up.
type index struct {
	*kernel
	h     VecVirtual
	chunk []Register    // masks of the lanes of each chunk of the table
	last  Register      // mask of the lanes of the last entry
	sign  [2]VecVirtual // bits 3 and 4 of the distances as signs
}

func (k *kernel) prepare(h VecVirtual) *index {
	in := &index{kernel: k, h: h}
	switch {
	case in.permutes8():
		for b := range in.sign {
			in.sign[b] = k.Vector()
			VPSLLD(Imm(uint64(28-b)), h, in.sign[b])
		}
	case in.gathers():
	case k.chunks == 2:
		in.chunk = []Register{K(), K()}
		VPTESTNMD_BCST(constants.Vector32(32), h, in.chunk[0])
		VPTESTMD_BCST(constants.Vector32(32), h, in.chunk[1])
	case k.chunks > 2:
		number := k.Vector()
		VPSRLD(Imm(5), h, number)
		for c := range k.chunks {
			mask := K()
			VPCMPEQD_BCST(constants.Vector32(uint32(c)), number, mask)
			in.chunk = append(in.chunk, mask)
		}
	}
	if k.tail && !in.gathers() {
		in.last = K()
		VPCMPEQD_BCST(constants.Vector32(uint32(32*k.chunks)), h, in.last)
	}
	return in
}

// permutes8 tells that 32 entries are looked up in four registers of eight.
func (in *index) permutes8() bool { return !in.Wide() && in.chunks == 1 && !in.tail }

// gathers tells that entries are loaded one by one.
func (in *index) gathers() bool { return !in.Wide() && !in.permutes8() }

// lookup returns the entries of a table at the distances.
func (in *index) lookup(table Register) VecVirtual {
	switch {
	case in.permutes8():
		return in.permute8(table)
	case in.gathers():
		return in.gather(table)
	}
	value := in.Vector()
	VMOVDQA64(in.h, value)
	if halves, ok := in.tables[table]; ok {
		VPERMI2PS(halves[1], halves[0], value)
		if in.tail {
			VBROADCASTSS(Mem{Base: table, Disp: 128}, in.last, value)
		}
		return value
	}
	for c := range in.chunks {
		first, second := in.Vector(), Mem{Base: table, Disp: 128*c + 64}
		VMOVUPS(Mem{Base: table, Disp: 128 * c}, first)
		// Lanes of other chunks keep their distance, or their result.
		VPERMI2PS(second, first, in.chunk[c], value)
	}
	if in.tail {
		VBROADCASTSS(Mem{Base: table, Disp: 128 * in.chunks}, in.last, value)
	}
	return value
}

func (in *index) permute8(table Register) VecVirtual {
	var part [4]VecVirtual
	for c := range part {
		part[c] = in.Vector()
		VPERMPS(Mem{Base: table, Disp: 32 * c}, in.h, part[c])
		if c%2 == 1 {
			VBLENDVPS(in.sign[0], part[c], part[c-1], part[c-1])
		}
	}
	VBLENDVPS(in.sign[1], part[2], part[0], part[0])
	return part[0]
}

func (in *index) gather(table Register) VecVirtual {
	value := in.Vector()
	in.Clear(value)
	in.Gather(VGATHERDPS, Mem{Base: table, Index: in.h, Scale: 4}, value)
	return value
}
