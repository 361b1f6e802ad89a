package asm

// Bends are monotone maps of numbers, those of Jones and Pewsey's sinh-arcsinh laws, in units
// in which they leave the origin and the slope there as they are:
//
//	y = (sinh(δ asinh z + ε) − sinh ε) / (δ cosh ε).
//
// The slices, of ε, e^ε and δ, have one length, a multiple of GaussianRows: number i has map i mod
// that length.
type Bends struct{ Epsilon, Up, Delta []float64 }

// Bent is what numbers leave that have been mapped: slopes, W = asinh z, and E = e^W, of as many.
type Bent struct{ Slope, W, E []float64 }

// NewBends returns the identity of so many numbers, and of more up to a multiple of GaussianRows.
func NewBends(n int) Bends {
	n = Octets(n)
	b := Bends{make([]float64, n), make([]float64, n), make([]float64, n)}
	for i := range n {
		b.Up[i], b.Delta[i] = 1, 1
	}
	return b
}

// NewBent makes room for what so many numbers leave, and more up to a multiple of GaussianRows.
func NewBent(n int) Bent {
	n = Octets(n)
	return Bent{make([]float64, n), make([]float64, n), make([]float64, n)}
}

// Octets rounds n up to a multiple of GaussianRows.
func Octets(n int) int { return (n + GaussianRows - 1) / GaussianRows * GaussianRows }

// each calls f for numbers [lo, hi) of n, whose maps begin at from and are repeated from to on, as
// many as one call of the assembly may take.
func (b *Bends) each(n int, left *Bent, f func(lo, hi, from, to int)) {
	maps := min(n, len(b.Epsilon))
	check(n%GaussianRows == 0 && maps%GaussianRows == 0 && (maps > 0 || n == 0) && min(len(b.Up), len(b.Delta)) >= maps &&
		min(len(left.W), len(left.E)) >= n, "Bends")
	for lo, hi := 0, 0; lo < n; lo = hi {
		from := lo % maps
		to := min(from+mathLimit, maps)
		hi = min(lo+(to-from)*max(1, mathLimit/maps), n)
		f(lo, hi, from, to)
	}
}

// Apply sets y, which may be z itself, to the maps of z, and the slopes to ∂y/∂z, up to rounding
// of the formula's terms. Arguments of sinh beyond ±300 are taken as those. No operations are fused:
// all paths give the same bits.
func (b *Bends) Apply(y, z []float64, left *Bent) { b.apply(bend, y, z, left) }

// Invert sets z to the inverses of the maps of y, likewise, and the slopes to ∂z/∂y.
func (b *Bends) Invert(z, y []float64, left *Bent) { b.apply(unbend, z, y, left) }

func (b *Bends) apply(kernel func(to, slope, w, e, from, epsilon, up, delta []float64), y, x []float64, left *Bent) {
	check(len(x) == len(y) && len(left.Slope) >= len(y), "Bends")
	b.each(len(y), left, func(lo, hi, from, to int) {
		kernel(y[lo:hi], left.Slope[lo:hi], left.W[lo:hi], left.E[lo:hi], x[lo:hi], b.Epsilon[from:to], b.Up[from:to], b.Delta[from:to])
	})
}

// Differentiate sets byY, byEpsilon and byTau to the derivatives with respect to y, ε and τ = ln δ of
// f(z) + c ln ∂z/∂y at the z that Invert has found of y, given the slope f′(z) there. No operations
// are fused: all paths give the same bits.
func (b *Bends) Differentiate(byY, byEpsilon, byTau, y, slope, c []float64, left *Bent) {
	n := len(y)
	check(min(len(byY), len(byEpsilon), len(byTau), len(slope), len(c)) >= n, "Bends: derivatives")
	b.each(n, left, func(lo, hi, from, to int) {
		unbendSlopes(byY[lo:hi], byEpsilon[lo:hi], byTau[lo:hi], y[lo:hi], slope[lo:hi], c[lo:hi], left.W[lo:hi], left.E[lo:hi], b.Up[from:to], b.Delta[from:to])
	})
}

// DifferentiateNormal is Differentiate of −z²/2 + ln ∂z/∂y.
func (b *Bends) DifferentiateNormal(byY, byEpsilon, byTau, y []float64, left *Bent) {
	n := len(y)
	check(min(len(byY), len(byEpsilon), len(byTau)) >= n, "Bends: derivatives")
	b.each(n, left, func(lo, hi, from, to int) {
		unbendNormal(byY[lo:hi], byEpsilon[lo:hi], byTau[lo:hi], y[lo:hi], left.W[lo:hi], left.E[lo:hi], b.Up[from:to], b.Delta[from:to])
	})
}
