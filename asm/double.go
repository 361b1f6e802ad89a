package asm

import "math"

// The elementwise functions of float64 are specified like those of float32. Their error is at
// most 1.5 ulp where no other bound is given.

// Exp64 sets dst[i] = e^x[i].
func Exp64(dst, x []float64) { exp64Function.apply(dst, x) }

// Log64 sets dst[i] = ln x[i].
func Log64(dst, x []float64) { log64Function.apply(dst, x) }

// Log1p64 sets dst[i] = ln(1 + x[i]).
func Log1p64(dst, x []float64) { log1p64Function.apply(dst, x) }

// Softplus64 sets dst[i] = ln(1 + e^x[i]), within 2.5 ulp.
func Softplus64(dst, x []float64) {
	checkLengths(len(dst) == len(x), "Softplus64")
	var buffer [256]float64 // ln(1 + e^x) = max(x, 0) + ln(1 + e^−|x|)
	for len(x) > 0 {
		n := min(len(x), len(buffer))
		for i, v := range x[:n] {
			buffer[i] = -math.Abs(v)
		}
		Exp64(buffer[:n], buffer[:n])
		Log1p64(buffer[:n], buffer[:n])
		for i, v := range x[:n] {
			dst[i] = max(v, 0) + buffer[i]
		}
		dst, x = dst[n:], x[n:]
	}
}

// Combine64 sets dst[i] to Σ_j weights[j]·v[j·stride+i]. The products are rounded and added in
// the order of j.
func Combine64(dst, weights, v []float64, stride int) {
	checkLengths(len(weights) > 0 && stride >= 0 && len(v) >= (len(weights)-1)*stride+len(dst), "Combine64")
	whole := len(dst) &^ (doubleGroup - 1)
	if whole > 0 {
		combine64(dst[:whole], weights, v, stride)
	}
	if whole < len(dst) {
		combine64Generic(dst[whole:], weights, v[whole:], stride)
	}
}

// LogSumExp64 sets log[i] to ln Σ_j exp terms[j·n+i], where n = len(log) is a multiple of
// GaussianRows, and overwrites each term with its share of that sum. An exponential less than
// e⁻⁴⁵ times the largest counts as 0: that is 3e-20, far less than the sum's rounding. All
// shares are 0 where the logarithm is −∞.
func LogSumExp64(log, terms []float64) {
	n := len(log)
	checkLengths(n > 0 && n%doubleGroup == 0 && len(terms) > 0 && len(terms)%n == 0, "LogSumExp64")
	step := max(doubleGroup, mathLimit/(len(terms)/n)&^(doubleGroup-1))
	for lo, hi := 0, 0; lo < n; lo = hi {
		hi = min(lo+step, n)
		logSumExp64(log[lo:hi], terms[lo:len(terms)-n+hi], n)
	}
}

// A function64 is an elementwise function of float64.
type function64 int

const (
	exp64Function function64 = iota
	log64Function
	log1p64Function
)

// doubleGroup is the number of elements that the assembly takes at a time.
const doubleGroup = 8

func (f function64) apply(dst, x []float64) {
	checkLengths(len(dst) == len(x), "a function of float64")
	for len(x) >= doubleGroup {
		n := min(len(x), mathLimit) &^ (doubleGroup - 1)
		f.applyGroups(dst[:n], x[:n])
		dst, x = dst[n:], x[n:]
	}
	if len(x) > 0 {
		var padded [doubleGroup]float64
		copy(padded[:], x)
		f.applyGroups(padded[:], padded[:])
		copy(dst, padded[:])
	}
}

func (f function64) applyGroups(dst, x []float64) {
	switch f {
	case exp64Function:
		exp64(dst, x)
	case log64Function:
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
	const negligible = -45 // see LogSumExp64
	for i := range log {
		highest, sum := -math.MaxFloat64, 0.0
		for k := i; k < len(terms); k += stride {
			highest = max(highest, terms[k])
		}
		for k := i; k < len(terms); k += stride {
			v := terms[k] - highest
			if terms[k] = math.Exp(v); v < negligible {
				terms[k] = 0
			}
			sum += terms[k]
		}
		for k := i; k < len(terms); k += stride {
			terms[k] /= max(1, sum) // the sum is at least 1, or 0 if all terms are −∞
		}
		log[i] = math.Log(sum) + highest
	}
}
