package asm

import "slices"

// GaussianRows is the number of rows that the kernels for Gaussians take together, a group. What
// rows have is [groups][GaussianRows], or [groups][d][GaussianRows] of coordinates; lower triangles
// are row after row. Sums are one number after the other and nothing is fused: all paths give the
// same bits.
const GaussianRows = 8

// An Octet has a number of each row of a group.
type Octet = [GaussianRows]float64

// Negligible is the share below which a row takes no part in moments and slopes.
const Negligible = 1e-9

// Whiten sets y = L⁻¹(x − μ), given L⁻¹, a lower triangle, and μ, [d].
func Whiten(y, x, mean, inverse []float64) {
	d := len(mean)
	check(d > 0 && len(y)%(d*GaussianRows) == 0 && len(x) == len(y) && len(inverse) == d*(d+1)/2, "Whiten")
	for lo, hi := 0, 0; lo < len(y); lo = hi {
		hi = min(lo+d*rowsAtOnce(d), len(y))
		whiten(y[lo:hi], x[lo:hi], mean, inverse)
	}
}

// LogNormals sets log to norm − |z|²/2 + Σ_i ln slope_i; slope may be nil, for slopes of 1.
func LogNormals(log, z, slope []float64, norm float64) {
	d := coordinates(z, log, "LogNormals")
	check(slope == nil || len(slope) == len(z), "LogNormals")
	for lo, hi := 0, 0; lo < len(log); lo = hi {
		hi = min(lo+rowsAtOnce(d), len(log))
		var own []float64
		if slope != nil {
			own = slope[lo*d : hi*d]
		}
		logNormals(log[lo:hi], z[lo*d:hi*d], own, norm, d)
	}
}

// Gather sets u and w, [groups][1+d][GaussianRows], to share·c·(1, v) and (1, y) of rows that take
// part, and to 0 of others, whose v and y may be anything. It leaves out groups of which no row takes
// part, and returns the number of the rest.
func Gather(u, w, share, c, v, y []float64) (groups int) {
	d := coordinates(v, share, "Gather")
	check(len(c) == len(share) && len(y) == len(v) && min(len(u), len(w)) >= len(v)+len(share), "Gather")
	for lo, hi := 0, 0; lo < len(share); lo = hi {
		hi = min(lo+rowsAtOnce(d), len(share))
		from, size := groups*(1+d)*GaussianRows, (hi-lo)*(1+d)
		groups += gather(u[from:from+size], w[from:from+size], share[lo:hi], c[lo:hi], v[lo*d:hi*d], y[lo*d:hi*d], d)
	}
	return groups
}

// AddProducts adds the sums of u_i w_c, c ≤ i and c < columns, over all rows to sums; u and w are
// [groups][n][GaussianRows]. Those of the places in a group are added last.
func AddProducts(sums, u, w []float64, n, columns int) {
	columns = min(n, columns)
	check(n > 0 && columns > 0 && len(u)%(n*GaussianRows) == 0 && len(w) == len(u) && len(sums) == columns*(columns+1)/2+(n-columns)*columns, "AddProducts")
	for lo, hi := 0, 0; lo < len(u); lo = hi {
		hi = min(lo+n*rowsAtOnce(n), len(u))
		addProducts(sums, u[lo:hi], w[lo:hi], n, columns)
	}
}

// AddSlopes adds share Σ_i v_i L⁻¹_ic to slope_c, given L⁻¹ as Whiten has it, of rows that take part.
// With v = −y that is the slope of share·(−½|y|²) by x.
func AddSlopes(slope, share, v, inverse []float64) {
	d := coordinates(v, share, "AddSlopes")
	check(len(slope) == len(v) && len(inverse) == d*(d+1)/2, "AddSlopes")
	for lo, hi := 0, 0; lo < len(share); lo = hi {
		hi = min(lo+rowsAtOnce(d), len(share))
		addSlopes(slope[lo*d:hi*d], share[lo:hi], v[lo*d:hi*d], inverse, d)
	}
}

// coordinates returns the number of coordinates of rows, at least one.
func coordinates(x, rows []float64, of string) int {
	n := len(rows)
	check(n > 0 && n%GaussianRows == 0 && len(x) > 0 && len(x)%n == 0, of)
	return len(x) / n
}

// rowsAtOnce returns how many rows of d coordinates one call of the assembly may take.
func rowsAtOnce(d int) int { return max(1, mathLimit/(d*(d+1)/2)) * GaussianRows }

// In these kernels the conversions keep the compiler from fusing products with sums.

func octetOf(all []float64, i int) *Octet { return (*Octet)(all[i*GaussianRows:]) }

func whitenGeneric(y, x, mean, inverse []float64) {
	d := len(mean)
	for group := d * GaussianRows; len(y) > 0; y, x = y[group:], x[group:] {
		for i, m := range mean {
			to := octetOf(y, i)
			for r, v := range octetOf(x, i) {
				to[r] = v - m
			}
		}
		for i := d - 1; i >= 0; i-- { // the last first: what is left needs those before
			var sum Octet
			for c, f := range inverse[i*(i+1)/2:][:i+1] {
				for r, v := range octetOf(y, c) {
					sum[r] += float64(f * v)
				}
			}
			*octetOf(y, i) = sum
		}
	}
}

// takesPart reports whether a row takes part in moments and slopes; NaN does.
func takesPart(share float64) bool { return !(share < Negligible) }

func gatherGeneric(u, w, share, c, v, y []float64, d int) (groups int) {
	for g := range len(share) / GaussianRows {
		own := octetOf(share, g)
		if !slices.ContainsFunc(own[:], takesPart) {
			continue
		}
		first := groups * (1 + d)
		groups++
		for i := range 1 + d {
			to, other := octetOf(u, first+i), octetOf(w, first+i)
			for r, s := range own {
				var f, x, z float64
				if takesPart(s) {
					if f, x, z = float64(s*c[g*GaussianRows+r]), 1, 1; i > 0 {
						x, z = octetOf(v, g*d+i-1)[r], octetOf(y, g*d+i-1)[r]
					}
				}
				to[r], other[r] = f*x, z
			}
		}
	}
	return groups
}

func addProductsGeneric(sums, u, w []float64, n, columns int) {
	for i := range n {
		for c := range min(i+1, columns) {
			var sum Octet
			for at := 0; at < len(u)/GaussianRows; at += n {
				from := octetOf(w, at+c)
				for r, x := range octetOf(u, at+i) {
					sum[r] += float64(x * from[r])
				}
			}
			sums[0] += ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]))
			sums = sums[1:]
		}
	}
}

func addSlopesGeneric(slope, share, v, inverse []float64, d int) {
	for g := range len(share) / GaussianRows {
		own := octetOf(share, g)
		if !slices.ContainsFunc(own[:], takesPart) {
			continue
		}
		for i := range d {
			for c, of := range inverse[i*(i+1)/2:][:i+1] {
				to := octetOf(slope, g*d+c)
				for r, x := range octetOf(v, g*d+i) {
					if !takesPart(own[r]) {
						x = 0
					}
					to[r] += float64(float64(own[r]*x) * of)
				}
			}
		}
	}
}
