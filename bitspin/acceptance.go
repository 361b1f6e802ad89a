package bitspin

import "math"

// An acceptance holds the probability min{1, exp(−β·ΔE)} (eq. (mh-accept) for
// a symmetric proposal) as a threshold: a proposal is accepted if a uniform
// 64-bit integer lies below probability·2⁶⁴. Certain acceptance is realised
// with probability 1 − 2⁻⁶⁴.
//
// Up to 64 sites there is one threshold for each pair of differences, without
// a field for each ΔB. Beyond, where such a table would outgrow the caches, it
// is the product of a factor that depends on ΔB and one that depends on ΔM.
type acceptance struct {
	n int

	table  []uint64 // threshold of ΔB/4 = b, ΔM/2 = m at origin + b + row·m
	origin int
	row    int // 2N+1, or 0 without a field

	bonds, field []scaled     // factors of ΔB/4, ΔM/2 = −N … N
	near         [5][3]uint64 // thresholds of ΔB/4 = −2 … 2, ΔM/2 = −1 … 1: single spins
}

func (a *acceptance) tabulate(model Model, beta float64) {
	n := model.N
	a.n = n
	width := 2*n + 1
	if n > 64 {
		a.bonds, a.field = make([]scaled, width), make([]scaled, width)
		for i := range width {
			a.bonds[i] = scaledExp(beta * model.J * float64(4*(i-n)))
			a.field[i] = scaledExp(beta * model.H * float64(2*(i-n)))
		}
		for b := range a.near {
			for m := range a.near[b] {
				a.near[b][m] = a.multiplied(b-2, m-1)
			}
		}
		return
	}
	a.origin = n
	rows := 1
	if model.H != 0 {
		rows, a.row = width, width
		a.origin += n * width
	}
	a.table = make([]uint64, rows*width)
	for i := range a.table {
		b, m := i%width-n, 0
		if rows > 1 {
			m = i/width - n
		}
		p := math.Exp(-beta * model.EnergyOf(4*b, 2*m))
		a.table[i] = scaled{mantissa: p}.threshold()
	}
}

// threshold returns the threshold for ΔB/4 = b and ΔM/2 = m on more than 64
// sites.
func (a *acceptance) threshold(b, m int) uint64 {
	if uint(b+2) < 5 && uint(m+1) < 3 {
		return a.near[b+2][m+1]
	}
	return a.multiplied(b, m)
}

// multiplied returns a threshold that is not tabulated.
func (a *acceptance) multiplied(b, m int) uint64 {
	x, y := a.bonds[a.n+b], a.field[a.n+m]
	return scaled{x.mantissa * y.mantissa, x.exponent + y.exponent}.threshold()
}

// A scaled is the number mantissa·2^exponent, which no product of Boltzmann
// factors can overflow.
type scaled struct {
	mantissa float64
	exponent int
}

// scaledExp returns exp(x) with a mantissa between ½ and 2.
func scaledExp(x float64) scaled {
	k := math.Round(x * math.Log2E)
	rest := math.FMA(-k, math.Ln2, x) - k*ln2Low
	return scaled{math.Exp(rest), int(k)}
}

// ln2Low is ln 2 less its float64 value.
const ln2Low = 2.3190468138462996e-17

// threshold returns the number times 2⁶⁴, at most 2⁶⁴−1.
func (s scaled) threshold() uint64 {
	if s.exponent < -80 {
		return 0
	}
	v := math.Ldexp(s.mantissa, min(s.exponent, 2)+64)
	if v >= 1<<64 {
		return math.MaxUint64
	}
	return uint64(v)
}
