package asm

import "slices"

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
