package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// columnSums generates the sums over rows of dy's columns. Wide groups of
// columns, or several chains of rows in narrow ones, hide the latency of the
// additions.
func columnSums(isa isa) {
	isa.Kernel("columnSums", "func(db, dy []float32, rows, out int)",
		"adds the sums of the columns of dy:", "",
		"\tfor r := range rows { for o := range out { db[o] += dy[r*out+o] } }", "",
		"out is positive.")
	db, dy, left := Address("db"), Address("dy"), Number("out")
	stride := Copy(left)
	SHLQ(Imm(2), stride)

	for _, panels := range []int{4, 1} {
		vectors, chains := panels*isa.vectors, 8/(panels*isa.vectors)
		name, tail := fmt.Sprintf("panels%d", panels), make([]Register, vectors)
		Label(name)
		if panels > 1 {
			CMPQ(left, Imm(uint64(panel*panels)))
			JL(LabelRef(name + "_end"))
		} else {
			CMPQ(left, Imm(0))
			JLE(LabelRef(name + "_end"))
			tail = isa.tail(left)
		}
		sums := make([][]VecVirtual, chains)
		for c := range sums {
			for range vectors {
				v := isa.Zeros()
				sums[c] = append(sums[c], v)
			}
		}
		add := func(r Register, sum []VecVirtual) {
			for v := range sum {
				isa.AddLanes(Mem{Base: r, Disp: v * isa.Bytes}, tail[v], sum[v])
			}
			ADDQ(stride, r)
		}
		r, rows := GP64(), GP64()
		MOVQ(dy, r)
		Load(Param("rows"), rows)
		SUBQ(Imm(uint64(chains)), rows)
		JL(LabelRef(name + "_rest"))
		Label(name + "_rows")
		for _, sum := range sums {
			add(r, sum)
		}
		SUBQ(Imm(uint64(chains)), rows)
		JGE(LabelRef(name + "_rows"))
		Label(name + "_rest")
		ADDQ(Imm(uint64(chains)), rows)
		JZ(LabelRef(name + "_store"))
		Label(name + "_row")
		add(r, sums[0])
		DECQ(rows)
		JNZ(LabelRef(name + "_row"))

		Label(name + "_store")
		for half := chains / 2; half > 0; half /= 2 {
			for c := range half {
				for v := range vectors {
					VADDPS(sums[c+half][v], sums[c][v], sums[c][v])
				}
			}
		}
		for v, sum := range sums[0] {
			m := Mem{Base: db, Disp: v * isa.Bytes}
			isa.AddLanes(m, tail[v], sum)
			isa.StoreLanes(sum, tail[v], m)
		}
		ADDQ(U32(uint32(panels*panelBytes)), db)
		ADDQ(U32(uint32(panels*panelBytes)), dy)
		SUBQ(Imm(uint64(panels*panel)), left)
		JMP(LabelRef(name))
		Label(name + "_end")
	}
	Leave()
}
