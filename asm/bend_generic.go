package asm

import "math"

// In these kernels the conversions keep the compiler from fusing products with sums.

// bendArgument bounds the arguments of sinh: beyond, numbers of samples overflow.
const bendArgument = 300

func bendGeneric(y, slope, w, e, z, epsilon, up, delta []float64) {
	for i, v := range z {
		sinhE, coshE := halvesGeneric(up[i])
		a, exp, root := asinhGeneric(v)
		sinh, cosh, _ := sinhGeneric(float64(delta[i]*a) + epsilon[i])
		y[i], slope[i], w[i], e[i] = (sinh-sinhE)/float64(delta[i]*coshE), cosh/float64(root*coshE), a, exp
	}
}

func unbendGeneric(z, slope, w, e, y, epsilon, up, delta []float64) {
	for i, v := range y {
		sinhE, coshE := halvesGeneric(up[i])
		a, _, root := asinhGeneric(float64(float64(delta[i]*coshE)*v) + sinhE)
		at := (a - epsilon[i]) / delta[i]
		sinh, cosh, exp := sinhGeneric(at)
		z[i], slope[i], w[i], e[i] = sinh, float64(cosh*coshE)/root, at, exp
	}
}

func unbendSlopesGeneric(byY, byEpsilon, byTau, y, slope, c, w, e, up, delta []float64) {
	for i, v := range y {
		sinhE, coshE := halvesGeneric(up[i])
		steep := float64(delta[i] * coshE)
		x := float64(steep*v) + sinhE
		inverse := 1 / math.Sqrt(1+float64(x*x))
		sinh, cosh := halvesGeneric(e[i])
		byW := float64(slope[i]*cosh) + float64(c[i]*sinh)/cosh
		byA := float64(byW * (1 / delta[i]))
		byX := float64((byA - float64(float64(c[i]*x)*inverse)) * inverse)
		byY[i] = float64(byX * steep)
		byTau[i] = float64(byY[i]*v) - float64(byW*w[i])
		byEpsilon[i] = float64(byX*(float64(float64(v*delta[i])*sinhE)+coshE)) - byA + float64(c[i]*sinhE)/coshE
	}
}

// asinhGeneric returns asinh x, which is finite, its exponential, and √(1 + x²).
func asinhGeneric(x float64) (w, e, root float64) {
	finite := max(min(x, bendArgument), -bendArgument)
	nan := finite - finite // NaN of NaN, and 0
	root = math.Sqrt(1 + float64(x*x))
	e = root + math.Abs(x)
	w = logGeneric64(e)
	if math.Signbit(x) {
		w, e = -w, 1/e
	}
	return w + nan, e + nan, root + nan
}

// sinhGeneric returns sinh w, cosh w and e^w.
func sinhGeneric(w float64) (sinh, cosh, e float64) {
	e = expGeneric64(max(min(w, bendArgument), -bendArgument))
	sinh, cosh = halvesGeneric(e)
	return sinh, cosh, e
}

// halvesGeneric returns sinh and cosh of the logarithm of e.
func halvesGeneric(e float64) (sinh, cosh float64) {
	down := 1 / e
	return (e - down) * 0.5, (e + down) * 0.5
}

// Cody and Waite's reduction x = k ln 2 + r, with ln 2 in two parts, and the rational functions
// of FreeBSD's libm (e_exp.c, e_log.c; Copyright © 1993 Sun Microsystems).
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

// expGeneric64 returns e^x of |x| ≤ 300.
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

// logGeneric64 returns ln x of a positive, normal x, and 1024 ln 2 of +∞.
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
