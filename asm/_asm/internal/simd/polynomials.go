package simd

import "math"

// The natural logarithm of 2 in two parts, the first exact when multiplied by a small integer.
const (
	Ln2High = 0x1.62e3p-1
	Ln2Low  = math.Ln2 - Ln2High
)

var (
	// Expm1Tail is the minimax polynomial of e^r−1 = r + r²(…) on |r| ≤ ln 2 / 2, with
	// relative error 1.4e-8.
	Expm1Tail = []float64{0.49999997, 0.16666543, 0.0416672, 0.0083665205, 0.0013882521}
	// LogTail is Cephes' polynomial P of ln(1+r) = r − r²/2 + r³ P(r), √½ ≤ 1+r ≤ √2.
	LogTail = []float64{3.3333331174e-1, -2.4999993993e-1, 2.0000714765e-1, -1.6668057665e-1,
		1.4249322787e-1, -1.2420140846e-1, 1.1676998740e-1, -1.1514610310e-1, 7.0376836292e-2}
	// LogTail64 is that of FreeBSD's e_log.c: ln(1+f) = f − f²/2 + s(f²/2 + R(s²)) with
	// s = f/(2+f).
	LogTail64 = []float64{
		6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
		1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
	}
)
