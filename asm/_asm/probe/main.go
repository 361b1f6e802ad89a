// Command probe generates the loops that measure what the machine can do at
// most: chains of one instruction, as many as hide its latency, and a stream of
// loads.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// chains is the number of independent accumulators: with one constant they
// fill the registers of AVX2 but one.
const chains = 14

// unroll is the number of operations on each chain in a round.
const unroll = 4

func main() {
	ConstraintExpr("amd64,!purego")
	for _, w := range []*ISA{AVX512, AVX2} {
		probe(w, "FMA", "accumulates ones by fused multiply-adds", func(i int, one, acc VecVirtual) {
			VFMADD231PS(one, one, acc)
		})
		probe(w, "Float", "accumulates ones by fused multiply-adds and additions in turn", func(i int, one, acc VecVirtual) {
			if i%2 == 0 {
				VFMADD231PS(one, one, acc)
			} else {
				VADDPS(one, acc, acc)
			}
		})
		probe(w, "Integer", "accumulates by additions of 32-bit integers", func(i int, one, acc VecVirtual) {
			VPADDD(one, acc, acc)
		})
		probe(w, "Multiply", "takes powers by products of 32-bit integers", func(i int, c, acc VecVirtual) {
			VPMULUDQ(c, acc, acc)
		})
		lookup(w)
		readWords(w)
	}
	Generate()
}

// lookup emits the probe of look-ups: the table of successors modulo 8 fills one
// register with AVX2 and two with AVX-512.
func lookup(w *ISA) {
	successors := GLOBL("probeSuccessors"+w.Suffix, RODATA|NOPTR)
	for i := range w.Bytes / 4 {
		DATA(4*i, U32(uint32(i+1)&7))
	}
	doc := "looks numbers up in a table of their successors modulo 8, plus a constant"
	probe(w, "Lookup", doc, func(_ int, table, acc VecVirtual) {
		if w.Wide() {
			VPERMI2D(table, table, acc)
		} else {
			VPERMD(table, acc, acc)
		}
	}, func(constant VecVirtual) { VPADDD(successors, constant, constant) })
}

func probe(w *ISA, name, doc string, operation func(i int, constant, acc VecVirtual), prepare ...func(constant VecVirtual)) {
	w.Kernel("probe"+name, "func(start, constant uint64, rounds int) uint64", doc+".")
	constant, acc := w.Vector(), make([]VecVirtual, chains)
	VPBROADCASTQ(NewParamAddr("constant", 8), constant)
	for _, f := range prepare {
		f(constant)
	}
	for i := range acc {
		acc[i] = w.Vector()
		VPBROADCASTQ(NewParamAddr("start", 0), acc[i])
	}
	rounds := Number("rounds")
	JMP(LabelRef("next"))
	Label("round")
	for range unroll {
		for i, a := range acc {
			operation(i, constant, a)
		}
	}
	DECQ(rounds)
	Label("next")
	TESTQ(rounds, rounds)
	JNZ(LabelRef("round"))
	Comment("All chains hold the same: or them, so that none is idle.")
	for _, a := range acc[1:] {
		w.Or(a, acc[0], acc[0])
	}
	result := GP64()
	VMOVQ(acc[0].AsX(), result)
	Store(result, ReturnIndex(0))
	Leave()
}

func readWords(w *ISA) {
	w.Kernel("readWords", "func(x []uint64) uint64",
		"is readWordsGeneric for a multiple of 64 words.")
	x, n := Address("x"), Length("x")
	acc := make([]VecVirtual, 8)
	for i := range acc {
		acc[i] = w.Vector()
		w.Xor(acc[i], acc[i], acc[i])
	}
	end := AddressOf(Mem{Base: x, Index: n, Scale: 8})
	JMP(LabelRef("next"))
	Label("block")
	for offset := 0; offset < 512; offset += w.Bytes {
		i := offset / w.Bytes % len(acc)
		w.Xor(Mem{Base: x, Disp: offset}, acc[i], acc[i])
	}
	ADDQ(U32(512), x)
	Label("next")
	CMPQ(x, end)
	JB(LabelRef("block"))
	for _, a := range acc[1:] {
		w.Xor(a, acc[0], acc[0])
	}
	Store(w.Reduce(acc[0], VPXOR), ReturnIndex(0))
	Leave()
}
