package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"

	. "github.com/revgen/revgen/asm/_asm/internal/simd"
)

// A scoredVectors is some vectors of samples side by side, whose chains of operations the processor
// overlaps: with z = e^−|l| of their logits l and sum = 1 + z, t = −x·l, and up, which is the sign
// bit where the spin x is +1.
type scoredVectors struct {
	*isa
	first          int // sample
	z, sum, t, up  []VecVirtual
	one, sign, bit VecVirtual // lane b of bit has the value 2^b, with AVX2
}

// score emits the log probabilities of spins and their derivatives with respect to the logits,
//
//	logq    −= max(t, 0) + ln(1 + z)
//	residual = x·σ(t),  σ(t) = 1/(1 + z), or z/(1 + z) for negative t
//
// and in heatBath before them the draw, of the less likely spin with probability z/(1 + z).
func (w *isa) score(draw bool) {
	name, last := "bitScore", "spins uint64)"
	if draw {
		name, last = "heatBath", fmt.Sprintf("words *[%d]uint32) (spins uint64)", samples)
	}
	w.Kernel(name, fmt.Sprintf("func(logq *[%d]float64, residual, logits *[%d]float32, %s", samples, samples, last),
		"is "+name+"Generic up to rounding.")
	logq, residual, logits := Number("logq"), Number("residual"), Number("logits")
	var words, spins GPVirtual
	if draw {
		words, spins = Number("words"), GP64()
		XORQ(spins, spins)
	} else {
		spins = Number("spins")
	}
	sign := w.LoadVector(w.word(1 << 31))
	var bit VecVirtual
	if w == avx2 && !draw {
		bit = w.LoadVector(constants.Vector32(1, 2, 4, 8, 16, 32, 64, 128))
	}
	side := 1
	if w == avx512 {
		side = 4
	}
	for first := 0; first < samples; first += side * w.Lanes() {
		v := &scoredVectors{isa: w, first: first, sign: sign, bit: bit,
			sum: make([]VecVirtual, side), up: make([]VecVirtual, side), t: make([]VecVirtual, side)}
		l := make([]VecVirtual, side)
		for k := range l {
			l[k] = w.LoadVector(v.at(logits, 4, k))
		}
		v.z, v.one = w.decay(l), w.LoadVector(w.full(1))
		for k, z := range v.z {
			v.sum[k] = w.Vector()
			VADDPS(v.one, z, v.sum[k])
		}
		for k, l := range l {
			v.up[k], v.t[k] = w.Vector(), w.Vector()
			if draw {
				v.drawSpins(k, l, words, spins)
			} else {
				v.givenSpins(k, spins)
			}
			w.Xor(v.up[k], l, v.t[k])
		}
		v.residuals(residual)
		v.subtract(logq)
	}
	if draw {
		Comment("A sign for +1 where the logit is not negative and the likely spin was drawn")
		NOTQ(spins)
		Store(spins, ReturnIndex(0))
	}
	Leave()
}

// at returns the place of vector k in an array of numbers of so many bytes.
func (v *scoredVectors) at(base Register, bytes, k int) Mem {
	return Mem{Base: base, Disp: bytes * (v.first + k*v.Lanes())}
}

// drawSpins draws the spins of vector k, and adds to spins a bit for each that is −1.
func (v *scoredVectors) drawSpins(k int, l VecVirtual, words, spins GPVirtual) {
	p, word, bits := v.Vector(), v.Vector(), GP64()
	VDIVPS(v.sum[k], v.z[k], p)
	VMULPS(v.full(1<<31), p, p)
	VCVTTPS2DQ(p, p)
	VMOVUPS(v.at(words, 4, k), word)
	VPSRLD(Imm(1), word, word)
	VPSUBD(p, word, word) // negative where the less likely spin is drawn
	v.Xor(l, word, word)  // of the sign opposite to the logit's
	if v.isa == avx512 {
		down := K()
		VPMOVD2M(word, down)
		KMOVW(down, bits.As32())
		VPANDND(v.sign, word, v.up[k])
	} else {
		VMOVMSKPS(word, bits.As32())
		VPANDN(v.sign, word, v.up[k])
	}
	SHLQ(Imm(uint64(v.first+k*v.Lanes())), bits)
	ORQ(bits, spins)
}

// givenSpins takes the spins of vector k from the lowest bits of spins, which it shifts out.
func (v *scoredVectors) givenSpins(k int, spins GPVirtual) {
	up := v.up[k]
	if v.isa == avx512 {
		mask := K()
		KMOVW(spins.As32(), mask)
		VMOVDQA32_Z(v.sign, mask, up)
	} else {
		VMOVD(spins.As32(), up.AsX())
		VPBROADCASTD(up.AsX(), up)
		VPAND(v.bit, up, up)
		VPCMPEQD(v.bit, up, up)
		VPAND(v.sign, up, up)
	}
	SHRQ(Imm(uint64(v.Lanes())), spins)
}

// residuals emits x·σ(t), where there is an array for them.
func (v *scoredVectors) residuals(residual GPVirtual) {
	Comment("up is the sign bit where the spin is +1: t = −x·logit has the logit's sign flipped there.",
		"The residual is x·σ(t); σ(t) = 1/(1+z), or z/(1+z) for negative t.")
	TESTQ(residual, residual)
	skip := fmt.Sprintf("noResidual%d", v.first)
	JZ(LabelRef(skip))
	for k, t := range v.t {
		top := v.Vector()
		if v.isa == avx512 {
			negative := K()
			VPMOVD2M(t, negative)
			VBLENDMPS(v.z[k], v.one, negative, top)
		} else {
			VBLENDVPS(t, v.z[k], v.one, top)
		}
		VDIVPS(v.sum[k], top, top)
		v.Xor(v.sign, v.up[k], v.up[k])
		v.Xor(v.up[k], top, top)
		VMOVUPS(top, v.at(residual, 4, k))
	}
	Label(skip)
}

// subtract takes max(t, 0) + ln(1 + z) from logq.
func (v *scoredVectors) subtract(logq GPVirtual) {
	Comment("ln(1+z): r = z, or (z−1)/2 and ln 2 beside it where z > √2−1")
	r, more := make([]VecVirtual, len(v.z)), make([]VecVirtual, len(v.z))
	for k, z := range v.z {
		r[k], more[k] = v.Vector(), v.Vector()
		if v.isa == avx512 {
			large := K()
			VMOVAPS(z, r[k])
			VCMPPS(Imm(14), v.full(math.Sqrt2-1), z, large)
			VSUBPS(v.one, z, more[k])
			VMULPS(v.full(0.5), more[k], large, r[k])
			VMOVUPS_Z(v.full(math.Ln2), large, more[k])
		} else {
			large := v.Vector()
			VCMPPS(Imm(14), v.full(math.Sqrt2-1), z, large)
			VSUBPS(v.one, z, more[k])
			VMULPS(v.full(0.5), more[k], more[k])
			VBLENDVPS(large, more[k], z, r[k])
			VANDPS(v.full(math.Ln2), large, more[k])
		}
	}
	p := v.horner(r, append([]float64{-0.5}, LogTail...)...)
	for k, p := range p {
		VMULPS(r[k], p, p)
		VFMADD213PS(r[k], r[k], p) // r + r (r tail)
		VADDPS(more[k], p, p)
		VMAXPS(v.zero(), v.t[k], v.t[k])
		VADDPS(v.t[k], p, p)
		for half := range 2 {
			part, wide, at := YMM(), v.Vector(), v.at(logq, 8, k).Offset(4*v.Lanes()*half)
			if v.isa == avx512 {
				VEXTRACTF64X4(Imm(uint64(half)), p, part)
				VCVTPS2PD(part, wide)
			} else {
				VEXTRACTF128(Imm(uint64(half)), p, part.AsX())
				VCVTPS2PD(part.AsX(), wide)
			}
			old := v.Vector()
			VMOVUPD(at, old)
			VSUBPD(wide, old, old)
			VMOVUPD(old, at)
		}
	}
}

// horner emits the polynomial with the given coefficients, lowest first.
func (w *isa) horner(x []VecVirtual, c ...float64) []VecVirtual {
	p := make([]VecVirtual, len(x))
	for k := range p {
		p[k] = w.LoadVector(w.full(c[len(c)-1]))
	}
	for i := len(c) - 2; i >= 0; i-- {
		for k := range p {
			VFMADD213PS(w.full(c[i]), x[k], p[k])
		}
	}
	return p
}

// decay emits e^−|x|, not below 2^−126.
func (w *isa) decay(x []VecVirtual) []VecVirtual {
	t, n := make([]VecVirtual, len(x)), make([]VecVirtual, len(x))
	for k := range x {
		t[k], n[k] = w.Vector(), w.Vector()
		w.Or(w.word(1<<31), x[k], t[k])
		VMAXPS(w.full(-87), t[k], t[k])
		VMULPS(w.full(math.Log2E), t[k], n[k])
		if w == avx512 {
			VRNDSCALEPS(Imm(0), n[k], n[k])
		} else {
			VROUNDPS(Imm(0), n[k], n[k])
		}
		VFNMADD231PS(w.full(Ln2High), n[k], t[k])
		VFNMADD231PS(w.full(Ln2Low), n[k], t[k])
	}
	p := w.horner(t, append([]float64{1, 1}, Expm1Tail...)...)
	for k, n := range n {
		VCVTPS2DQ(n, n)
		VPADDD(w.word(127), n, n)
		VPSLLD(Imm(23), n, n)
		VMULPS(n, p[k], p[k])
	}
	return p
}
