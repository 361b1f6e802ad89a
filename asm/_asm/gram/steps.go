package main

import (
	"math"
	"slices"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// Offsets in asm.radialStep.
const (
	stepCount    = 4
	stepUnit     = 8
	stepLimit    = 12
	stepC        = 32
	stepWeight   = 64
	stepSlope    = 96
	stepExponent = 128
	stepSize     = 160
)

// Coefficients of functions, and bounds of their arguments.
const (
	squareA    = 1.4427106380462646 // of 2^f = ((f+a)² + b) / (a² + b), see table
	squareB    = 2.0813076496124268
	tableMagic = 1.5 * (1 << 18) // rounds to multiples of 1/32
	lowest     = -126            // exponents of normal numbers
	highest    = 127.99999
	farthest   = 126 // bounds of a scaled distance
	nearest    = 0x1p-20
	largest    = 1e38 // whose square root is far from overflow
)

var (
	// Minimax polynomial of 2^f on 0 ≤ f < 1 with constant term 1, whose
	// relative error is 8.3e-8.
	exp2c = [...]float32{1, 0.6931513, 0.24016444, 0.055799913, 0.00901703, 0.0018671302}

	constants *Pool
)

// splat returns a constant, eight times.
func splat(x float32) Mem { return splatBits(math.Float32bits(x)) }

func splatBits(bits uint32) Mem { return constants.Vector32(slices.Repeat([]uint32{bits}, 8)...) }

// table returns the factors A 2^(j/32) of the minimax 2^f = ((f+a)² + b) / (a² + b) on
// -1/64 ≤ f ≤ 1/64, whose relative error is 5.4e-8, with A = 1/(a² + b).
func table() Mem {
	var powers [32]uint32
	for j := range powers {
		powers[j] = math.Float32bits(float32(math.Exp2(float64(j)/32) / 4.162721633911133))
	}
	return constants.Vector32(powers[:]...)
}

// A sums holds the state of the interpreter. For each squared distance d it
// adds up the derivative in slope, keeps the last value in y, and hands the
// values of a step to value, which adds them up times the step's weight.
//
// AVX-512 has the registers for all of it. With AVX2's sixteen, distances and
// slopes stay in memory, where each is touched once a step.
type sums struct {
	*isa
	d, slope []Op
	y        []VecVirtual
	spare    int // registers that are left
	value    func(step Register, y []VecVirtual, unit bool)
}

// newSums returns the state for n vectors, with other registers in use besides.
// Memory is where what does not fit in registers lies.
func (w *isa) newSums(n, others int, memory Mem) *sums {
	s := &sums{isa: w, y: w.Vectors(n)}
	if w == avx512 {
		s.d, s.slope = ops(w.Vectors(n)), ops(w.Vectors(n))
		s.spare = 32 - 3*n - others
		return s
	}
	s.d, s.slope = w.inMemory(memory, n), w.inMemory(memory.Offset(n*w.Bytes), n)
	s.spare = 16 - n - others
	return s
}

func ops(v []VecVirtual) []Op {
	o := make([]Op, len(v))
	for i := range v {
		o[i] = v[i]
	}
	return o
}

func (w *isa) inMemory(first Mem, n int) []Op {
	o := make([]Op, n)
	for i := range o {
		o[i] = first.Offset(i * w.Bytes)
	}
	return o
}

// zeroSlopes clears the derivatives.
func (s *sums) zeroSlopes() {
	zero := s.Zeros()
	for _, o := range s.slope {
		if r, ok := o.(VecVirtual); ok {
			Zero(r)
		} else {
			VMOVUPS(zero, o)
		}
	}
}

// inRegisters returns registers that hold o.
func (w *isa) inRegisters(o []Op) []VecVirtual {
	v := make([]VecVirtual, len(o))
	for i := range o {
		if r, ok := o[i].(VecVirtual); ok {
			v[i] = r
			continue
		}
		v[i] = w.Vector()
		VMOVUPS(o[i], v[i])
	}
	return v
}

// addSlope adds the step's slope times z to the derivative of vector i.
func (s *sums) addSlope(step Register, z VecVirtual, i int) {
	if _, ok := s.slope[i].(VecVirtual); ok {
		s.withConstant(VFMADD231PS, VFMADD231PS_BCST, At(step, stepSlope), z, s.slope[i])
		return
	}
	t := s.Vector()
	s.constant(At(step, stepSlope), t)
	VFMADD213PS(s.slope[i], z, t)
	VMOVUPS(t, s.slope[i])
}

// limited bounds squared distances.
func (w *isa) limited(d []VecVirtual) {
	if w == avx2 {
		return // each step has bounds of its own
	}
	limit := w.Vector()
	w.constant(At(Number("steps"), stepLimit), limit)
	for _, d := range d {
		VMINPS(d, limit, d) // NaN in d stays
	}
}

// interpret emits the loop over the steps.
func (s *sums) interpret() {
	w := s.isa
	step, left := Number("steps"), Number("count")
	kind := GP32()
	Zero(s.y...) // the first step sets y, which the register allocator cannot know

	Label("step")
	MOVL(At(step, 0), kind)
	CMPL(kind, Imm(1))
	JEQ(LabelRef("power"))
	CMPL(kind, Imm(2))
	JEQ(LabelRef("root"))
	CMPL(kind, Imm(3))
	JEQ(LabelRef("general"))
	JHI(LabelRef("matern"))

	Comment("y = 2^(c d²) = 2^floor(t) P(t - floor(t))")
	s.exp2(step)
	JMP(LabelRef("slope"))

	Label("power")
	Comment("y = y^(2^count)")
	MOVL(At(step, stepCount), kind)
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
		s.addSlope(step, y, i)
	}
	JMP(LabelRef("value"))

	Label("general")
	Comment("y = (c + d²)^exponent; its derivative is proportional to y/(c + d²).")
	for i := range s.d {
		s.pow(step, i)
	}
	JMP(LabelRef("value"))

	Label("matern")
	Comment("y = 2^-x P(x) with x = (c d²)^(1/2)")
	for i := range s.d {
		s.matern(step, kind, i)
	}
	JMP(LabelRef("value"))

	Label("root")
	Comment("y = 2 (c + d²)^(-1/2): an estimate e, and one Newton step e (3 - x e e)")
	s.rsqrt(step)
	MOVL(At(step, stepCount), kind)
	CMPL(kind, Imm(1))
	JNE(LabelRef("raise"))
	Comment("The derivative of y is proportional to y³.")
	s.groups(1, func(i []int) {
		cube := w.Vectors(len(i))
		for k, i := range i {
			VMULPS(s.y[i], s.y[i], cube[k])
		}
		for k, i := range i {
			VMULPS(s.y[i], cube[k], cube[k])
		}
		for k, i := range i {
			s.addSlope(step, cube[k], i)
		}
	})
	JMP(LabelRef("value"))

	Label("raise")
	Comment("y = y^count; its derivative is proportional to y^(count+2).")
	for i, y := range s.y {
		label := func(name string) string { return name + string(rune('0'+i)) }
		square := w.Vector()
		MOVL(At(step, stepCount), kind)
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
		s.addSlope(step, square, i)
	}

	Label("value")
	CMPL(At(step, stepUnit), Imm(0))
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
	size := (s.spare - 1) / perVector
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
