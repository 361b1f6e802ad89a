package asm

import "math"

// The functions of float64 are within 1.5 ulp of the exact value, where no other bound is given, and
// otherwise as those of float32.

// Exp64 sets dst[i] = e^x[i].
func Exp64(dst, x []float64) { byExp.each(dst, x) }

// Log64 sets dst[i] = ln x[i].
func Log64(dst, x []float64) { byLog.each(dst, x) }

// Log1p64 sets dst[i] = ln(1 + x[i]).
func Log1p64(dst, x []float64) { byLog1p.each(dst, x) }

// Softplus64 sets dst[i] = ln(1 + e^x[i]), within 2.5 ulp.
func Softplus64(dst, x []float64) {
	check(len(dst) == len(x), "Softplus64")
	var small [256]float64
	for len(x) > 0 {
		n := min(len(x), len(small))
		for i, v := range x[:n] {
			small[i] = -math.Abs(v)
		}
		Exp64(small[:n], small[:n])
		Log1p64(small[:n], small[:n])
		for i, v := range x[:n] {
			dst[i] = max(v, 0) + small[i]
		}
		dst, x = dst[n:], x[n:]
	}
}

// Combine64 sets dst[i] to the sum of weights[j]·v[j·stride+i] in the order of j, whose products are
// rounded before they are added.
func Combine64(dst, weights, v []float64, stride int) {
	check(len(weights) > 0 && stride >= 0 && len(v) >= (len(weights)-1)*stride+len(dst), "Combine64")
	whole := len(dst) &^ (eight - 1)
	if whole > 0 {
		combine64(dst[:whole], weights, v, stride)
	}
	if whole < len(dst) {
		combine64Generic(dst[whole:], weights, v[whole:], stride)
	}
}

// LogSumExp64 sets log[i] to ln Σ_j exp terms[j·n+i], n = len(log), a multiple of GaussianRows, and each
// term to its share of that sum. What is e⁻⁴⁵ of the largest or less is taken as none; all are none
// where the logarithm is −∞.
func LogSumExp64(log, terms []float64) {
	n := len(log)
	check(n > 0 && n%eight == 0 && len(terms) > 0 && len(terms)%n == 0, "LogSumExp64")
	step := max(eight, mathLimit/(len(terms)/n)&^(eight-1))
	for lo, hi := 0, 0; lo < n; lo = hi {
		hi = min(lo+step, n)
		logSumExp64(log[lo:hi], terms[lo:len(terms)-n+hi], n)
	}
}

// A function64 is an elementwise function of float64.
type function64 int

const (
	byExp function64 = iota
	byLog
	byLog1p
)

// eight is how many elements the assembly takes at a time.
const eight = 8

func (f function64) each(dst, x []float64) {
	check(len(dst) == len(x), "a function of float64")
	for len(x) >= eight {
		n := min(len(x), mathLimit) &^ (eight - 1)
		f.eights(dst[:n], x[:n])
		dst, x = dst[n:], x[n:]
	}
	if len(x) > 0 {
		var rest [eight]float64
		copy(rest[:], x)
		f.eights(rest[:], rest[:])
		copy(dst, rest[:])
	}
}

func (f function64) eights(dst, x []float64) {
	switch f {
	case byExp:
		exp64(dst, x)
	case byLog:
		log64(dst, x)
	default:
		log1p64(dst, x)
	}
}

func exp64Generic(dst, x []float64) {
	for i, v := range x {
		dst[i] = math.Exp(v)
	}
}

func log64Generic(dst, x []float64) {
	for i, v := range x {
		dst[i] = math.Log(v)
	}
}

func log1p64Generic(dst, x []float64) {
	for i, v := range x {
		dst[i] = math.Log1p(v)
	}
}

func combine64Generic(dst, weights, v []float64, stride int) {
	for i := range dst {
		sum := weights[0] * v[i]
		for j, w := range weights[1:] {
			sum += float64(w * v[(j+1)*stride+i])
		}
		dst[i] = sum
	}
}

func logSumExp64Generic(log, terms []float64, stride int) {
	for i := range log {
		highest, sum := -math.MaxFloat64, 0.0
		for at := i; at < len(terms); at += stride {
			highest = max(highest, terms[at])
		}
		for at := i; at < len(terms); at += stride {
			v := terms[at] - highest
			if terms[at] = math.Exp(v); v < -45 {
				terms[at] = 0
			}
			sum += terms[at]
		}
		for at := i; at < len(terms); at += stride {
			terms[at] /= max(1, sum)
		}
		log[i] = math.Log(sum) + highest
	}
}
