package asm

import "slices"

// GaussianRows is the number of rows of a group, which the kernels for Gaussians take together.
// Arrays of one number for each row are [groups][GaussianRows], of d coordinates
// [groups][d][GaussianRows]. Lower triangles are packed row after row. Sums are in order and nothing is fused, so that all paths
// give the same bits.
const GaussianRows = 8

// An Octet has a number for each row of a group.
type Octet = [GaussianRows]float64

// Negligible is the least share of rows that count in moments and slopes.
const Negligible = 1e-9

// Whiten sets y = L⁻¹(x − μ), given L⁻¹, a lower triangle, and μ, [d].
func Whiten(y, x, mean, inverse []float64) {
	d := len(mean)
	checkLengths(d > 0 && len(y)%(d*GaussianRows) == 0 && len(x) == len(y) && len(inverse) == d*(d+1)/2, "Whiten")
	for lo, hi := 0, 0; lo < len(y); lo = hi {
		hi = min(lo+d*rowsPerCall(d), len(y))
		whiten(y[lo:hi], x[lo:hi], mean, inverse)
	}
}

// LogNormals sets log to norm − |z|²/2 + Σ_i ln slope_i; slope may be nil, for slopes of 1.
func LogNormals(log, z, slope []float64, norm float64) {
	d := coordinates(z, log, "LogNormals")
	checkLengths(slope == nil || len(slope) == len(z), "LogNormals")
	for lo, hi := 0, 0; lo < len(log); lo = hi {
		hi = min(lo+rowsPerCall(d), len(log))
		var slopes []float64
		if slope != nil {
			slopes = slope[lo*d : hi*d]
		}
		logNormals(log[lo:hi], z[lo*d:hi*d], slopes, norm, d)
	}
}

// Gather sets u and w, [groups][1+d][GaussianRows], to share·c·(1, v) and (1, y) for rows whose
// share is not negligible, and to 0 for other rows, whose v and y may be anything. It leaves out
// groups of negligible rows only, and returns the number of groups that it wrote.
func Gather(u, w, share, c, v, y []float64) (groups int) {
	d := coordinates(v, share, "Gather")
	checkLengths(len(c) == len(share) && len(y) == len(v) && min(len(u), len(w)) >= len(v)+len(share), "Gather")
	for lo, hi := 0, 0; lo < len(share); lo = hi {
		hi = min(lo+rowsPerCall(d), len(share))
		from, size := groups*(1+d)*GaussianRows, (hi-lo)*(1+d)
		groups += gather(u[from:from+size], w[from:from+size], share[lo:hi], c[lo:hi], v[lo*d:hi*d], y[lo*d:hi*d], d)
	}
	return groups
}

// AddProducts adds Σ u_i w_c over all rows to sums, for c ≤ i and c < columns; u and w are
// [groups][n][GaussianRows]. It adds over groups first, and then over the rows of a group.
func AddProducts(sums, u, w []float64, n, columns int) {
	columns = min(n, columns)
	checkLengths(n > 0 && columns > 0 && len(u)%(n*GaussianRows) == 0 && len(w) == len(u) && len(sums) == columns*(columns+1)/2+(n-columns)*columns, "AddProducts")
	for lo, hi := 0, 0; lo < len(u); lo = hi {
		hi = min(lo+n*rowsPerCall(n), len(u))
		addProducts(sums, u[lo:hi], w[lo:hi], n, columns)
	}
}

// AddSlopes adds share Σ_i v_i L⁻¹_ic to slope_c, with Whiten's L⁻¹, for rows whose share is not
// negligible. With v = −y that is the gradient of share·(−½|y|²) with respect to x.
func AddSlopes(slope, share, v, inverse []float64) {
	d := coordinates(v, share, "AddSlopes")
	checkLengths(len(slope) == len(v) && len(inverse) == d*(d+1)/2, "AddSlopes")
	for lo, hi := 0, 0; lo < len(share); lo = hi {
		hi = min(lo+rowsPerCall(d), len(share))
		addSlopes(slope[lo*d:hi*d], share[lo:hi], v[lo*d:hi*d], inverse, d)
	}
}

// coordinates returns the number of coordinates of rows, at least one.
func coordinates(x, rows []float64, kernel string) int {
	n := len(rows)
	checkLengths(n > 0 && n%GaussianRows == 0 && len(x) > 0 && len(x)%n == 0, kernel)
	return len(x) / n
}

// rowsPerCall returns how many rows of d coordinates one call of the assembly may take.
func rowsPerCall(d int) int { return max(1, mathLimit/(d*(d+1)/2)) * GaussianRows }

// In these kernels the conversions keep the compiler from fusing products with sums.

func octetOf(x []float64, i int) *Octet { return (*Octet)(x[i*GaussianRows:]) }

func whitenGeneric(y, x, mean, inverse []float64) {
	d := len(mean)
	for group := d * GaussianRows; len(y) > 0; y, x = y[group:], x[group:] {
		for i, m := range mean {
			to := octetOf(y, i)
			for r, v := range octetOf(x, i) {
				to[r] = v - m
			}
		}
		for i := d - 1; i >= 0; i-- { // y_i replaces x_i − μ_i, which only y_i and later ones need
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

// isCounted reports whether a row counts in moments and slopes. A NaN does.
func isCounted(share float64) bool { return !(share < Negligible) }

func gatherGeneric(u, w, share, c, v, y []float64, d int) (groups int) {
	for g := range len(share) / GaussianRows {
		shares := octetOf(share, g)
		if !slices.ContainsFunc(shares[:], isCounted) {
			continue
		}
		first := groups * (1 + d)
		groups++
		for i := range 1 + d {
			toU, toW := octetOf(u, first+i), octetOf(w, first+i)
			for r, s := range shares {
				var f, x, z float64
				if isCounted(s) {
					if f, x, z = float64(s*c[g*GaussianRows+r]), 1, 1; i > 0 {
						x, z = octetOf(v, g*d+i-1)[r], octetOf(y, g*d+i-1)[r]
					}
				}
				toU[r], toW[r] = f*x, z
			}
		}
	}
	return groups
}

func addProductsGeneric(sums, u, w []float64, n, columns int) {
	for i := range n {
		for c := range min(i+1, columns) {
			var sum Octet
			for first := 0; first < len(u)/GaussianRows; first += n {
				from := octetOf(w, first+c)
				for r, x := range octetOf(u, first+i) {
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
		shares := octetOf(share, g)
		if !slices.ContainsFunc(shares[:], isCounted) {
			continue
		}
		for i := range d {
			for c, l := range inverse[i*(i+1)/2:][:i+1] {
				to := octetOf(slope, g*d+c)
				for r, x := range octetOf(v, g*d+i) {
					if !isCounted(shares[r]) {
						x = 0
					}
					to[r] += float64(float64(shares[r]*x) * l)
				}
			}
		}
	}
}
