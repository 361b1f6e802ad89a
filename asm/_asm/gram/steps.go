package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Offsets in asm.radialStep.
const (
	stepCount    = 4
	stepUnit     = 8
	stepC        = 32
	stepWeight   = 64
	stepSlope    = 96
	stepExponent = 128
	stepSize     = 160
)

var (
	exp2c                  [6]Mem
	logc                   [9]Mem
	three, minusHalf       Mem
	minusOne, log2e        Mem
	lowest, highest        Mem // exponents of normal numbers
	largest                Mem // whose square root is far from overflow
	rootBits, mantissaBits Mem
	laneIndex, laneMask    Mem
)

// splat defines a constant, eight times.
func splat(name string, bits uint32) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32(bits))
	}
	return m
}

func splatFloat(name string, x float32) Mem { return splat(name, math.Float32bits(x)) }

func constants() {
	// Minimax polynomial of 2^f on 0 ≤ f < 1 with constant term 1, whose
	// relative error is 8.3e-8.
	for i, c := range []float32{1, 0.6931513, 0.24016444, 0.055799913, 0.00901703, 0.0018671302} {
		exp2c[i] = splatFloat(fmt.Sprintf("gramExp2c%d", i), c)
	}
	// Cephes' polynomial P of ln(1+r) = r − r²/2 + r³ P(r), √½ ≤ 1+r ≤ √2.
	for i, c := range []float32{3.3333331174e-1, -2.4999993993e-1, 2.0000714765e-1, -1.6668057665e-1,
		1.4249322787e-1, -1.2420140846e-1, 1.1676998740e-1, -1.1514610310e-1, 7.0376836292e-2} {
		logc[i] = splatFloat(fmt.Sprintf("gramLogc%d", i), c)
	}
	three = splatFloat("gramThree", 3)
	minusHalf = splatFloat("gramMinusHalf", -0.5)
	minusOne = splatFloat("gramMinusOne", -1)
	log2e = splatFloat("gramLog2e", math.Log2E)
	lowest = splatFloat("gramLowest", -126)
	highest = splatFloat("gramHighest", 127.99999)
	largest = splatFloat("gramLargest", 1e38)
	rootBits = splat("gramRootBits", math.Float32bits(math.Sqrt2/2))
	mantissaBits = splat("gramMantissaBits", 1<<23-1)
	laneIndex = GLOBL("gramLaneIndex", RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, U32(uint32(i)))
	}
	laneMask = GLOBL("gramLaneMask", RODATA|NOPTR)
	for i := range 16 {
		DATA(4*i, U32(uint32(int32(i-8)>>31)))
	}
}

// A sums holds the state of the interpreter: for squared distances d it adds
// up the derivative in slope, using y for the current value, and gives each
// step's values in y, multiplied by nothing, to value, which adds them up
// times the step's weight.
type sums struct {
	*isa
	d, slope, y []VecVirtual
	spare       int // registers left for constants
	value       func(step Register, y []VecVirtual, unit bool)
}

// interpret emits the loop over the steps.
func (s *sums) interpret() {
	w := s.isa
	step, left := load("steps"), load("count")
	kind := GP32()

	Label("step")
	MOVL(at(step, 0), kind)
	CMPL(kind, Imm(1))
	JEQ(LabelRef("power"))
	CMPL(kind, Imm(2))
	JEQ(LabelRef("root"))
	JHI(LabelRef("general"))

	Comment("y = 2^(c d²) = 2^floor(t) P(t - floor(t))")
	s.exp2(step)
	JMP(LabelRef("slope"))

	Label("power")
	Comment("y = y^(2^count)")
	MOVL(at(step, stepCount), kind)
	JMP(LabelRef("square_next"))
	Label("square")
	for _, y := range s.y {
		VMULPS(y, y, y)
	}
	DECL(kind)
	Label("square_next")
	TESTL(kind, kind)
	JNZ(LabelRef("square"))

	Label("slope")
	for i, y := range s.y {
		w.withConstant(VFMADD231PS, VFMADD231PS_BCST, at(step, stepSlope), y, s.slope[i])
	}
	JMP(LabelRef("value"))

	Label("general")
	Comment("y = (c + d²)^exponent; its derivative is proportional to y/(c + d²).")
	for i := range s.d {
		s.pow(step, i)
	}
	JMP(LabelRef("value"))

	Label("root")
	Comment("y = 2 (c + d²)^(-1/2): an estimate e, and one Newton step e (3 - x e e)")
	s.rsqrt(step)
	MOVL(at(step, stepCount), kind)
	CMPL(kind, Imm(1))
	JNE(LabelRef("raise"))
	Comment("The derivative of y is proportional to y³.")
	s.groups(1, func(i []int) {
		cube := w.vectors(len(i))
		for k, i := range i {
			VMULPS(s.y[i], s.y[i], cube[k])
		}
		for k, i := range i {
			VMULPS(s.y[i], cube[k], cube[k])
		}
		for k, i := range i {
			w.withConstant(VFMADD231PS, VFMADD231PS_BCST, at(step, stepSlope), cube[k], s.slope[i])
		}
	})
	JMP(LabelRef("value"))

	Label("raise")
	Comment("y = y^count; its derivative is proportional to y^(count+2).")
	for i, y := range s.y {
		label := func(name string) string { return name + string(rune('0'+i)) }
		square := w.vector()
		MOVL(at(step, stepCount), kind)
		VMULPS(y, y, square)
		SHRL(Imm(1), kind)
		JCS(LabelRef(label("odd")))
		VMOVAPS(square, y)
		DECL(kind)
		Label(label("odd"))
		JMP(LabelRef(label("raise_next")))
		Label(label("raise"))
		VMULPS(square, y, y)
		DECL(kind)
		Label(label("raise_next"))
		TESTL(kind, kind)
		JNZ(LabelRef(label("raise")))
		VMULPS(square, y, square)
		w.withConstant(VFMADD231PS, VFMADD231PS_BCST, at(step, stepSlope), square, s.slope[i])
	}

	Label("value")
	CMPL(at(step, stepUnit), Imm(0))
	JEQ(LabelRef("weighted"))
	s.value(step, s.y, true)
	JMP(LabelRef("step_next"))
	Label("weighted")
	s.value(step, s.y, false)
	Label("step_next")
	ADDQ(I32(stepSize), step)
	DECQ(left)
	JNZ(LabelRef("step"))
}

// groups calls body with the indices of as many vectors at a time as the spare
// registers allow, given what one vector needs: interleaved, few instructions
// wait for others and fill the scheduler.
func (s *sums) groups(perVector int, body func(i []int)) {
	size := max(1, (s.spare-1)/perVector)
	for first := 0; first < len(s.d); first += size {
		var i []int
		for k := first; k < min(first+size, len(s.d)); k++ {
			i = append(i, k)
		}
		body(i)
	}
}

// constant fills a register with a constant.
func (w *isa) constant(m Mem, v VecVirtual) {
	if w == avx512 {
		VBROADCASTSS(m, v)
	} else {
		VMOVUPS(m, v)
	}
}

// exp2 emits y = 2^(c·d).
func (s *sums) exp2(step Register) {
	w := s.isa
	s.groups(2, func(i []int) {
		d, y := s.d[i[0]:][:len(i)], s.y[i[0]:][:len(i)]
		t, f, c := w.vectors(len(d)), w.vectors(len(d)), w.vector()
		w.constant(at(step, stepC), c)
		for i := range d {
			VMULPS(c, d[i], t[i])
		}
		if w == avx512 {
			for i := range d {
				VREDUCEPS(Imm(1), t[i], f[i]) // t - floor(t)
			}
		} else {
			w.constant(lowest, c)
			for i := range d {
				VMAXPS(t[i], c, t[i]) // NaN in t stays
			}
			for i := range d {
				VROUNDPS(Imm(1), t[i], f[i])
			}
			for i := range d { // t = floor(t), f = t - floor(t)
				VSUBPS(f[i], t[i], t[i])
			}
			t, f = f, t
		}
		w.constant(exp2c[5], y[0])
		for i := 1; i < len(d); i++ {
			VMOVAPS(y[0], y[i])
		}
		for k := 4; k >= 0; k-- {
			w.constant(exp2c[k], c)
			for i := range d {
				VFMADD213PS(c, f[i], y[i])
			}
		}
		for i := range d { // y·2^floor(t)
			if w == avx512 {
				VSCALEFPS(t[i], y[i], y[i])
			} else {
				VCVTPS2DQ(t[i], t[i])
				VPSLLD(Imm(23), t[i], t[i])
				VPADDD(t[i], y[i], y[i])
			}
		}
	})
}

// rsqrt emits y = 2 (c + d)^(-1/2).
func (s *sums) rsqrt(step Register) {
	w := s.isa
	s.groups(2, func(i []int) {
		d, y := s.d[i[0]:][:len(i)], s.y[i[0]:][:len(i)]
		x, h, c := w.vectors(len(d)), w.vectors(len(d)), w.vector()
		w.constant(at(step, stepC), c)
		for i := range d {
			VADDPS(c, d[i], x[i])
		}
		w.constant(largest, c)
		for i := range d {
			VMINPS(x[i], c, x[i]) // NaN in x stays
		}
		for i := range d {
			if w == avx512 {
				VRSQRT14PS(x[i], y[i])
			} else {
				VRSQRTPS(x[i], y[i])
			}
		}
		for i := range d {
			VMULPS(x[i], y[i], h[i])
		}
		w.constant(three, c)
		for i := range d {
			VFNMADD213PS(c, y[i], h[i])
		}
		for i := range d {
			VMULPS(h[i], y[i], y[i])
		}
	})
}

// pow emits y = (c + d)^exponent and adds y/(c + d) to the slope, for one
// vector.
func (s *sums) pow(step Register, i int) {
	w, y := s.isa, s.y[i]
	x, t, p := w.vector(), w.vector(), w.vector()
	w.constant(at(step, stepC), x)
	VADDPS(s.d[i], x, x)
	w.constant(largest, t)
	VMINPS(x, t, x) // NaN in x stays
	Comment("log2 x = t + log2 m, m = 1 + y between √½ and √2")
	w.withConstant(VPSUBD, VPSUBD_BCST, rootBits, x, y)
	VPSRAD(Imm(23), y, t)
	VCVTDQ2PS(t, t)
	if w == avx512 {
		VPANDD_BCST(mantissaBits, y, y)
	} else {
		VPAND(mantissaBits, y, y)
	}
	w.withConstant(VPADDD, VPADDD_BCST, rootBits, y, y)
	w.withConstant(VADDPS, VADDPS_BCST, minusOne, y, y)
	Comment("log m = y + y² (-1/2 + y P(y))")
	w.constant(logc[8], p)
	for k := 7; k >= 0; k-- {
		w.withConstant(VFMADD213PS, VFMADD213PS_BCST, logc[k], y, p)
	}
	w.withConstant(VFMADD213PS, VFMADD213PS_BCST, minusHalf, y, p)
	VMULPS(y, p, p)
	VFMADD213PS(y, y, p)
	w.withConstant(VFMADD231PS, VFMADD231PS_BCST, log2e, p, t)
	w.withConstant(VMULPS, VMULPS_BCST, at(step, stepExponent), t, t)
	Comment("y = 2^t = 2^floor(t) P(t - floor(t))")
	if w == avx512 {
		VREDUCEPS(Imm(1), t, p)
	} else {
		w.constant(lowest, p)
		VMAXPS(t, p, t)
		w.constant(highest, p)
		VMINPS(t, p, t)
		VROUNDPS(Imm(1), t, p)
		VSUBPS(p, t, t)
		t, p = p, t
	}
	w.constant(exp2c[5], y)
	for k := 4; k >= 0; k-- {
		w.withConstant(VFMADD213PS, VFMADD213PS_BCST, exp2c[k], p, y)
	}
	if w == avx512 {
		VSCALEFPS(t, y, y)
	} else {
		VCVTPS2DQ(t, t)
		VPSLLD(Imm(23), t, t)
		VPADDD(t, y, y)
	}
	Comment("The integer operations lost a NaN in x; the product brings it back.")
	w.zero(t)
	VFMADD231PS(t, x, y)
	VDIVPS(x, y, t)
	w.withConstant(VFMADD231PS, VFMADD231PS_BCST, at(step, stepSlope), t, s.slope[i])
}
