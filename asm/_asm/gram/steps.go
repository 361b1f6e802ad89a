package main

import (
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
	three, largest, lowest Mem
	laneIndex, laneMask    Mem
)

// splat defines a constant, eight times.
func splat(name string, x float32) Mem {
	m := GLOBL(name, RODATA|NOPTR)
	for i := range 8 {
		DATA(4*i, F32(x))
	}
	return m
}

func constants() {
	// Minimax polynomial of 2^f on 0 ≤ f < 1 with constant term 1, whose
	// relative error is 8.3e-8.
	for i, c := range []float32{1, 0.6931513, 0.24016444, 0.055799913, 0.00901703, 0.0018671302} {
		exp2c[i] = splat("gramExp2c"+string(rune('0'+i)), c)
	}
	three = splat("gramThree", 3)
	largest = splat("gramLargest", 1e38)
	lowest = splat("gramLowest", -126)
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
	JHI(LabelRef("root"))

	Comment("y = 2^(c d²) = 2^floor(t) P(t - floor(t))")
	for i := range s.d {
		s.exp2(step, s.d[i], s.y[i])
	}
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

	Label("root")
	Comment("y = 2 (c + d²)^(-1/2): an estimate e, and one Newton step e (3 - x e e)")
	for i, y := range s.y {
		x, h := w.vector(), w.vector()
		if w == avx512 {
			VADDPS_BCST(at(step, stepC), s.d[i], x)
			VBROADCASTSS(largest, y)
			VMINPS(x, y, x) // NaN in x stays
			VRSQRT14PS(x, y)
		} else {
			VADDPS(at(step, stepC), s.d[i], x)
			VMOVUPS(largest, y)
			VMINPS(x, y, x)
			VRSQRTPS(x, y)
		}
		VMULPS(x, y, h)
		w.withConstant(VFNMADD213PS, VFNMADD213PS_BCST, three, y, h)
		VMULPS(h, y, y)
	}
	Comment("y = y^count; its derivative is proportional to y^(count+2)")
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

// exp2 emits y = 2^(c·d) for one vector.
func (s *sums) exp2(step Register, d, y VecVirtual) {
	w := s.isa
	t, f := w.vector(), w.vector()
	if w == avx512 {
		VMULPS_BCST(at(step, stepC), d, t)
		VREDUCEPS(Imm(1), t, f) // t - floor(t)
		VBROADCASTSS(exp2c[5], y)
		for i := 4; i >= 0; i-- {
			VFMADD213PS_BCST(exp2c[i], f, y)
		}
		VSCALEFPS(t, y, y) // y·2^floor(t)
		return
	}
	VMULPS(at(step, stepC), d, t)
	VMOVUPS(lowest, f)
	VMAXPS(t, f, t) // NaN in t stays
	VROUNDPS(Imm(1), t, f)
	VSUBPS(f, t, t)
	VMOVUPS(exp2c[5], y)
	for i := 4; i >= 0; i-- {
		VFMADD213PS(exp2c[i], t, y)
	}
	VCVTPS2DQ(f, f)
	VPSLLD(Imm(23), f, f)
	VPADDD(f, y, y)
}
