package asm

import "math"

// Bends are monotone maps of numbers, the sinh-arcsinh transforms of Jones and Pewsey, shifted
// and scaled so that they keep the origin and have slope 1 there:
//
//	y = (sinh(δ asinh z + ε) − sinh ε) / (δ cosh ε).
//
// The slices have one length, a multiple of GaussianRows. Number i has map i mod that length.
type Bends struct {
	Epsilon []float64 // ε
	Up      []float64 // e^ε
	Delta   []float64 // δ
}

// Bent has the intermediate results of mapped numbers z that derivatives need.
type Bent struct {
	Slope []float64 // of the map that was applied
	W     []float64 // asinh z
	E     []float64 // e^W
}

// NewBends returns identity maps of n numbers, rounded up to a multiple of GaussianRows.
func NewBends(n int) Bends {
	n = Octets(n)
	b := Bends{make([]float64, n), make([]float64, n), make([]float64, n)}
	for i := range n {
		b.Up[i], b.Delta[i] = 1, 1
	}
	return b
}

// NewBent allocates for n numbers, rounded up to a multiple of GaussianRows.
func NewBent(n int) Bent {
	n = Octets(n)
	return Bent{make([]float64, n), make([]float64, n), make([]float64, n)}
}

// Octets rounds n up to a multiple of GaussianRows.
func Octets(n int) int { return (n + GaussianRows - 1) / GaussianRows * GaussianRows }

// splitCalls calls f for ranges of n numbers, each of which one call of the assembly may take.
// Numbers [lo, hi) have the maps [from, to), over and over.
func (b *Bends) splitCalls(n int, bent *Bent, f func(lo, hi, from, to int)) {
	maps := min(n, len(b.Epsilon))
	checkLengths(n%GaussianRows == 0 && maps%GaussianRows == 0 && (maps > 0 || n == 0) && min(len(b.Up), len(b.Delta)) >= maps &&
		min(len(bent.W), len(bent.E)) >= n, "Bends")
	for lo, hi := 0, 0; lo < n; lo = hi {
		from := lo % maps
		to := min(from+mathLimit, maps)
		hi = min(lo+(to-from)*max(1, mathLimit/maps), n)
		f(lo, hi, from, to)
	}
}

// Apply sets y, which may be z itself, to the maps of z, and the slopes to ∂y/∂z, up to rounding
// of the formula's terms. Arguments of sinh are clamped to ±300. No operations are fused, so that
// all paths give the same bits.
func (b *Bends) Apply(y, z []float64, bent *Bent) { b.apply(bend, y, z, bent) }

// Invert sets z, which may be y itself, to the inverses of the maps of y, and the slopes to ∂z/∂y.
func (b *Bends) Invert(z, y []float64, bent *Bent) { b.apply(unbend, z, y, bent) }

func (b *Bends) apply(kernel func(to, slope, w, e, from, epsilon, up, delta []float64), y, x []float64, bent *Bent) {
	checkLengths(len(x) == len(y) && len(bent.Slope) >= len(y), "Bends")
	b.splitCalls(len(y), bent, func(lo, hi, from, to int) {
		kernel(y[lo:hi], bent.Slope[lo:hi], bent.W[lo:hi], bent.E[lo:hi], x[lo:hi], b.Epsilon[from:to], b.Up[from:to], b.Delta[from:to])
	})
}

// Differentiate sets byY, byEpsilon and byTau to the derivatives of f(z) + c ln ∂z/∂y with respect
// to y, ε and τ = ln δ, where z is Invert's result for y and slope is f′(z). No operations are
// fused, so that all paths give the same bits.
func (b *Bends) Differentiate(byY, byEpsilon, byTau, y, slope, c []float64, bent *Bent) {
	n := len(y)
	checkLengths(min(len(byY), len(byEpsilon), len(byTau), len(slope), len(c)) >= n, "Bends: derivatives")
	b.splitCalls(n, bent, func(lo, hi, from, to int) {
		unbendSlopes(byY[lo:hi], byEpsilon[lo:hi], byTau[lo:hi], y[lo:hi], slope[lo:hi], c[lo:hi], bent.W[lo:hi], bent.E[lo:hi], b.Up[from:to], b.Delta[from:to])
	})
}

// DifferentiateNormal is Differentiate for f(z) = −z²/2 and c = 1.
func (b *Bends) DifferentiateNormal(byY, byEpsilon, byTau, y []float64, bent *Bent) {
	n := len(y)
	checkLengths(min(len(byY), len(byEpsilon), len(byTau)) >= n, "Bends: derivatives")
	b.splitCalls(n, bent, func(lo, hi, from, to int) {
		unbendNormal(byY[lo:hi], byEpsilon[lo:hi], byTau[lo:hi], y[lo:hi], bent.W[lo:hi], bent.E[lo:hi], b.Up[from:to], b.Delta[from:to])
	})
}

// In these kernels the conversions keep the compiler from fusing products with sums.

// bendArgument bounds the arguments of sinh; e³⁰⁰ = 2e130, and its square does not overflow.
const bendArgument = 300

func bendGeneric(y, slope, w, e, z, epsilon, up, delta []float64) {
	for i, v := range z {
		k := i % len(up)
		sinhE, coshE := halvesGeneric(up[k])
		a, exp, root := asinhGeneric(v)
		sinh, cosh, _ := sinhGeneric(float64(delta[k]*a) + epsilon[k])
		y[i], slope[i], w[i], e[i] = (sinh-sinhE)/float64(delta[k]*coshE), cosh/float64(root*coshE), a, exp
	}
}

func unbendGeneric(z, slope, w, e, y, epsilon, up, delta []float64) {
	for i, v := range y {
		k := i % len(up)
		sinhE, coshE := halvesGeneric(up[k])
		a, _, root := asinhGeneric(float64(float64(delta[k]*coshE)*v) + sinhE)
		asinhZ := (a - epsilon[k]) / delta[k]
		sinh, cosh, exp := sinhGeneric(asinhZ)
		z[i], slope[i], w[i], e[i] = sinh, float64(cosh*coshE)/root, asinhZ, exp
	}
}

func unbendSlopesGeneric(byY, byEpsilon, byTau, y, slope, c, w, e, up, delta []float64) {
	for i, v := range y {
		sinh, cosh := halvesGeneric(e[i])
		k, byW := i%len(up), float64(slope[i]*cosh)+float64(c[i]*sinh)/cosh
		byY[i], byEpsilon[i], byTau[i] = slopesGeneric(v, byW, c[i], w[i], up[k], delta[k])
	}
}

func unbendNormalGeneric(byY, byEpsilon, byTau, y, w, e, up, delta []float64) {
	for i, v := range y {
		sinh, cosh := halvesGeneric(e[i])
		k, byW := i%len(up), sinh/cosh-float64(sinh*cosh)
		byY[i], byEpsilon[i], byTau[i] = slopesGeneric(v, byW, 1, w[i], up[k], delta[k])
	}
}

// slopesGeneric returns the derivatives for one number, given the derivative byW with respect to
// w = asinh z.
func slopesGeneric(y, byW, c, w, up, delta float64) (byY, byEpsilon, byTau float64) {
	sinhE, coshE := halvesGeneric(up)
	steep := float64(delta * coshE)
	x := float64(steep*y) + sinhE
	inverse := 1 / math.Sqrt(1+float64(x*x))
	byA := float64(byW * (1 / delta))
	byX := float64((byA - float64(float64(c*x)*inverse)) * inverse)
	byY = float64(byX * steep)
	byTau = float64(byY*y) - float64(byW*w)
	byEpsilon = float64(byX*(float64(float64(y*delta)*sinhE)+coshE)) - byA + float64(c*sinhE)/coshE
	return byY, byEpsilon, byTau
}

// logNormalsGeneric takes one logarithm of a product of slopes, whose exponents it adds up apart.
func logNormalsGeneric(log, z, slope []float64, norm float64, d int) {
	for r := range log {
		squares, product, minSlope, exponents, sum := 0.0, 1.0, 1.0, uint64(0), 0.0
		first := r/GaussianRows*d*GaussianRows + r%GaussianRows
		for i := first; i < first+d*GaussianRows; i += GaussianRows {
			if squares += float64(z[i] * z[i]); len(slope) > 0 {
				minSlope = min(minSlope, slope[i])
				bits := math.Float64bits(product * slope[i])
				exponents += bits >> 52
				product = math.Float64frombits(bits&(1<<52-1) | 1023<<52)
			}
		}
		if len(slope) > 0 {
			sum = float64((float64(exponents)-float64(d*1023))*math.Ln2) + logGeneric64(product)
		}
		if minSlope == 0 {
			sum = math.Inf(-1)
		}
		log[r] = norm + (sum - float64(0.5*squares))
	}
}

// asinhGeneric returns asinh x, its exponential, and √(1 + x²). asinh x is finite, also for
// infinite x.
func asinhGeneric(x float64) (w, e, root float64) {
	finite := max(min(x, bendArgument), -bendArgument)
	nan := finite - finite // NaN if x is, else 0
	root = math.Sqrt(1 + float64(x*x))
	e = root + math.Abs(x)
	w = logGeneric64(e)
	if math.Signbit(x) {
		w, e = -w, 1/e
	}
	return w + nan, e + nan, root + nan
}

// sinhGeneric returns sinh w, cosh w and e^w, for w clamped to ±bendArgument.
func sinhGeneric(w float64) (sinh, cosh, e float64) {
	e = expGeneric64(max(min(w, bendArgument), -bendArgument))
	sinh, cosh = halvesGeneric(e)
	return sinh, cosh, e
}

// halvesGeneric returns sinh and cosh of ln e.
func halvesGeneric(e float64) (sinh, cosh float64) {
	inverse := 1 / e
	return (e - inverse) * 0.5, (e + inverse) * 0.5
}

// Exponential and logarithm take Cody and Waite's reduction x = k ln 2 + r, with ln 2 in two
// parts, and the rational functions of FreeBSD's libm (e_exp.c, e_log.c; Copyright © 1993 Sun
// Microsystems).
const (
	log2e    = 1.44269504088896338700
	ln2High  = 6.93147180369123816490e-01
	ln2Low   = 1.90821492927058770002e-10
	shifter  = 3 << 51            // x + shifter has round(x) in its lowest bits
	sqrtHalf = 0x3fe6a09e667f3bcd // bits of √½
)

var (
	expP = [5]float64{1.66666666666666657415e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05, -1.65339022054652515390e-06, 4.13813679705723846039e-08}
	logL = [7]float64{6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01}
)

// expGeneric64 returns e^x for |x| ≤ 300.
func expGeneric64(x float64) float64 {
	shifted := float64(x*log2e) + shifter
	k := shifted - shifter
	high, low := x-float64(k*ln2High), float64(k*ln2Low)
	r := high - low
	t := float64(r * r)
	p := expP[4]
	for i := 3; i >= 0; i-- {
		p = float64(p*t) + expP[i]
	}
	c := r - float64(p*t)
	y := 1 - ((low - float64(r*c)/(2-c)) - high)
	return math.Float64frombits(math.Float64bits(y)+math.Float64bits(shifted)<<52) + (x - x) // NaN stays
}

// logGeneric64 returns ln x for a positive, normal x, and 1024 ln 2 for +∞.
func logGeneric64(x float64) float64 {
	bits := math.Float64bits(x) + (0x3ff0000000000000 - sqrtHalf)
	k := float64(int64(bits>>52) - 1023)
	f := math.Float64frombits(bits&(1<<52-1)+sqrtHalf) - 1
	s := f / (2 + f)
	z := float64(s * s)
	r := logL[6]
	for i := 5; i >= 0; i-- {
		r = float64(r*z) + logL[i]
	}
	r = float64(r * z)
	half := float64(float64(f*f) * 0.5)
	return float64(k*ln2High) - ((half - (float64(s*(half+r)) + float64(k*ln2Low))) - f)
}
