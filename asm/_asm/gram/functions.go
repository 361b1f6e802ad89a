package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// exp2 emits y = 2^(c·d).
func (s *sums) exp2(step Register) {
	if s.isa == avx512 {
		s.exp2Table(step)
		return
	}
	w := s.isa
	s.groups(2, func(i []int) {
		d, y := s.d[i[0]:][:len(i)], s.y[i[0]:][:len(i)]
		t, f, c := w.Vectors(len(d)), w.Vectors(len(d)), w.Vector()
		w.constant(At(step, stepC), c)
		ForEach(VMULPS, d, c, t)
		w.constant(splat(lowest), c)
		ForEach(VMAXPS, t, c, t) // NaN in t stays
		for i := range d {
			VROUNDPS(Imm(1), t[i], f[i])
		}
		ForEach(VSUBPS, f, t, t) // t = floor(t), f = t - floor(t)
		t, f = f, t
		w.constant(splat(exp2c[5]), y[0])
		for i := 1; i < len(d); i++ {
			VMOVAPS(y[0], y[i])
		}
		for k := 4; k >= 0; k-- {
			w.constant(splat(exp2c[k]), c)
			ForEach(VFMADD213PS, c, f, y)
		}
		for i := range d { // y·2^floor(t)
			VCVTPS2DQ(t[i], t[i])
			VPSLLD(Imm(23), t[i], t[i])
			VPADDD(t[i], y[i], y[i])
		}
	})
}

// exp2Table emits y = 2^(c·d): with k the multiple of 1/32 next to t = c·d,
// and 2^(t-k) = A ((t-k+a)² + b),
//
//	y = 2^floor(k) T[32 (k - floor(k))] ((t+a-k)² + b), T[j] = A 2^(j/32).
//
// t + magic has 32k in its last bits, of which the permutation uses five. The
// limit on d keeps t+a-k small enough where k has no fraction and y is zero.
// Half of the arithmetic is additions: some processors have units for them
// beside those of products.
func (s *sums) exp2Table(step Register) {
	w := s.isa
	low, high, c, magic, b := w.Vector(), w.Vector(), w.Vector(), w.Vector(), w.Vector()
	VMOVUPS(table(), low)
	VMOVUPS(table().Offset(64), high)
	w.constant(At(step, stepC), c)
	w.constant(splat(tableMagic), magic)
	w.constant(splat(squareB), b)
	s.spare -= 4 // groups subtracts one
	s.groups(2, func(i []int) {
		d, y := s.d[i[0]:][:len(i)], s.y[i[0]:][:len(i)]
		t, k := w.Vectors(len(d)), w.Vectors(len(d))
		for i := range d {
			VMOVAPS(magic, t[i])
			VFMADD231PS(d[i], c, t[i])
		}
		for i := range d {
			VMOVAPS(d[i], y[i])
			VFMADD213PS_BCST(splat(squareA), c, y[i])
		}
		ForEach(VSUBPS, magic, t, k)
		ForEach(VPERMI2PS, high, low, t)
		ForEach(VSUBPS, k, y, y)
		ForEach(VFMADD213PS, b, y, y)
		ForEach(VMULPS, t, y, y)
		ForEach(VSCALEFPS, k, y, y)
	})
	s.spare += 4
}

// rsqrt emits y = 2 (c + d)^(-1/2).
func (s *sums) rsqrt(step Register) {
	w := s.isa
	s.groups(2, func(i []int) {
		d, y := s.d[i[0]:][:len(i)], s.y[i[0]:][:len(i)]
		x, h, c := w.Vectors(len(d)), w.Vectors(len(d)), w.Vector()
		w.constant(At(step, stepC), c)
		ForEach(VADDPS, d, c, x)
		if w == avx2 { // AVX-512 limits d
			w.constant(splat(largest), c)
			ForEach(VMINPS, x, c, x) // NaN in x stays
		}
		for i := range d {
			if w == avx512 {
				VRSQRT14PS(x[i], y[i])
			} else {
				VRSQRTPS(x[i], y[i])
			}
		}
		ForEach(VMULPS, x, y, h)
		w.constant(splat(3), c)
		ForEach(VFNMADD213PS, c, y, h)
		ForEach(VMULPS, h, y, y)
	})
}

// pow emits y = (c + d)^exponent and adds y/(c + d) to the slope, for one
// vector.
func (s *sums) pow(step Register, i int) {
	w, y := s.isa, s.y[i]
	x, t, p := w.Vector(), w.Vector(), w.Vector()
	w.constant(At(step, stepC), x)
	VADDPS(s.d[i], x, x)
	if w == avx2 { // AVX-512 limits d
		w.constant(splat(largest), t)
		VMINPS(x, t, x) // NaN in x stays
	}
	Comment("log2 x = t + log2 m, m = 1 + y between √½ and √2")
	root, mantissa := splat(math.Sqrt2/2), splatBits(1<<23-1)
	w.withConstant(VPSUBD, VPSUBD_BCST, root, x, y)
	VPSRAD(Imm(23), y, t)
	VCVTDQ2PS(t, t)
	if w == avx512 {
		VPANDD_BCST(mantissa, y, y)
	} else {
		VPAND(mantissa, y, y)
	}
	w.withConstant(VPADDD, VPADDD_BCST, root, y, y)
	w.withConstant(VADDPS, VADDPS_BCST, splat(-1), y, y)
	Comment("log m = y + y² (-1/2 + y P(y))")
	w.constant(splat(float32(LogTail[8])), p)
	for k := 7; k >= 0; k-- {
		w.withConstant(VFMADD213PS, VFMADD213PS_BCST, splat(float32(LogTail[k])), y, p)
	}
	w.withConstant(VFMADD213PS, VFMADD213PS_BCST, splat(-0.5), y, p)
	VMULPS(y, p, p)
	VFMADD213PS(y, y, p)
	w.withConstant(VFMADD231PS, VFMADD231PS_BCST, splat(math.Log2E), p, t)
	w.withConstant(VMULPS, VMULPS_BCST, At(step, stepExponent), t, t)
	Comment("y = 2^t = 2^floor(t) P(t - floor(t))")
	if w == avx2 { // AVX-512 scales by any power
		w.constant(splat(lowest), p)
		VMAXPS(t, p, t)
		w.constant(splat(highest), p)
		VMINPS(t, p, t)
	}
	t, _ = w.exp2(y, t, p)
	Comment("The integer operations lost a NaN in x; the product brings it back.")
	Zero(t)
	VFMADD231PS(t, x, y)
	VDIVPS(x, y, t)
	s.addSlope(step, t, i)
}

// exp2 emits y = 2^t = 2^floor(t) P(t - floor(t)), which uses up t and p, and returns those
// two: that of the power of 2, and that of the rest.
func (w *isa) exp2(y, t, p VecVirtual) (power, rest VecVirtual) {
	if w == avx512 {
		VREDUCEPS(Imm(1), t, p)
	} else {
		VROUNDPS(Imm(1), t, p)
		VSUBPS(p, t, t)
		t, p = p, t
	}
	w.constant(splat(exp2c[5]), y)
	for k := 4; k >= 0; k-- {
		w.withConstant(VFMADD213PS, VFMADD213PS_BCST, splat(exp2c[k]), p, y)
	}
	if w == avx512 {
		VSCALEFPS(t, y, y)
	} else {
		VCVTPS2DQ(t, t)
		VPSLLD(Imm(23), t, t)
		VPADDD(t, y, y)
	}
	return t, p
}

// matern emits, for one vector, y = 2^(-x) P(x) with x = (c·d)^(1/2), and adds
// what its derivative is proportional to: by the step's count 2^(-x)/x, with
// P = 1; 2^(-x), with P = 1 + x ln 2; or 2^(-x) (1 + x ln 2), with
// P = 1 + x ln 2 + (x ln 2)²/3.
func (s *sums) matern(step, count Register, i int) {
	w, y := s.isa, s.y[i]
	x, t, p := w.Vector(), w.Vector(), w.Vector()
	label := func(name string) string { return name + string(rune('0'+i)) }
	w.constant(At(step, stepC), x)
	VMULPS(s.d[i], x, x)
	VSQRTPS(x, x)
	w.constant(splat(farthest), t)
	VMINPS(x, t, x) // NaN in x stays
	w.withConstant(VMULPS, VMULPS_BCST, splat(-1), x, t)
	_, p = w.exp2(y, t, p)
	MOVL(At(step, stepCount), count)
	CMPL(count, Imm(1))
	JEQ(LabelRef(label("three_halves")))
	JHI(LabelRef(label("five_halves")))
	w.constant(splat(nearest), p)
	VMAXPS(x, p, p) // NaN in x stays
	VDIVPS(p, y, p)
	s.addSlope(step, p, i)
	JMP(LabelRef(label("distance_next")))

	Label(label("three_halves"))
	s.addSlope(step, y, i)
	w.withConstant(VMULPS, VMULPS_BCST, splat(math.Ln2), x, x)
	VFMADD231PS(x, y, y)
	JMP(LabelRef(label("distance_next")))

	Label(label("five_halves"))
	w.constant(splat(math.Ln2), p)
	VMULPS(x, p, p)
	VFMADD213PS(y, y, p) // y (1 + x ln 2)
	s.addSlope(step, p, i)
	VMULPS(x, x, x)
	w.withConstant(VMULPS, VMULPS_BCST, splat(math.Ln2*math.Ln2/3), x, x)
	VFMADD213PS(p, x, y)
	Label(label("distance_next"))
}
