package asm

func countKnotsGeneric(dst, x, knots []float32) {
	for r, v := range x {
		count := float32(0)
		for _, k := range knots {
			if v >= k {
				count++
			}
		}
		dst[r] = count
	}
}

func prefixRowsGeneric(dst, w []float32, order []int32, factors []float32, out, columns int) {
	for k, i := range order {
		row := w[int(i)*out:][:columns]
		from, to := dst[2*k*out:][:out+columns], dst[2*(k+1)*out:][:out+columns]
		for o, v := range row {
			to[o] = from[o] + factors[2*k]*v
			to[out+o] = from[out+o] + factors[2*k+1]*v
		}
	}
}

func piecewiseForwardGeneric(y, x, piece, table []float32, last, out int, slope float32) {
	for r, v := range x {
		row := table[2*out*min(int(piece[r]), last):][:2*out]
		for o := range out {
			sum := v*row[o] + row[out+o]
			if !(sum > 0) {
				sum *= slope
			}
			y[r*out+o] = sum
		}
	}
}

func piecewiseBackwardGeneric(sums, dx, x, piece, dy, table []float32, last, out int) {
	for r, v := range x {
		at := 2 * out * min(int(piece[r]), last)
		row, to := table[at:][:2*out], sums[at:][:2*out]
		for o, g := range dy[r*out:][:out] {
			dx[r] += g * row[o]
			to[o] += v * g
			to[out+o] += g
		}
	}
}

func piecewiseGradientGeneric(da, db, dw, dc, sums, w []float32, order []int32, factors []float32, out, columns int) {
	for o := range columns {
		var moments, totals float32
		for k := range len(order) + 1 {
			moments += sums[2*k*out+o]
			totals += sums[(2*k+1)*out+o]
		}
		dc[o] += totals
		var momentsBelow, totalsBelow float32
		for k, unit := range order {
			i := int(unit)
			momentsBelow += sums[2*k*out+o]
			totalsBelow += sums[(2*k+1)*out+o]
			f := factors[4*k:][:4]
			moment := f[0]*moments + f[1]*momentsBelow
			total := f[0]*totals + f[1]*totalsBelow
			dw[i*out+o] += f[2]*moment + f[3]*total
			da[i] += moment * w[i*out+o]
			db[i] += total * w[i*out+o]
		}
		for k := range len(order) + 1 {
			sums[2*k*out+o], sums[(2*k+1)*out+o] = 0, 0
		}
	}
}

func piecewiseSumGeneric(y, x, piece, table, w []float32, last int, slope float32) {
	out := len(w)
	for r, v := range x {
		row := table[2*out*min(int(piece[r]), last):][:2*out]
		for o, weight := range w {
			h := v*row[o] + row[out+o]
			if !(h > 0) {
				h *= slope
			}
			y[r] += weight * h
		}
	}
}

func piecewiseSumBackwardGeneric(sums, dx, dw, x, piece, dy, table, w []float32, last int, slope float32) {
	out := len(w)
	for r, v := range x {
		at := 2 * out * min(int(piece[r]), last)
		row, to := table[at:][:2*out], sums[at:][:2*out]
		for o, weight := range w {
			h, g := v*row[o]+row[out+o], dy[r]*weight
			if !(h > 0) {
				h *= slope
				g *= slope
			}
			dw[o] += dy[r] * h
			dx[r] += g * row[o]
			to[o] += v * g
			to[out+o] += g
		}
	}
}
