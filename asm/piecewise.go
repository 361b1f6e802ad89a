package asm

// The kernels of this file compute a pair of layers of a network whose input
// is one number x,
//
//	h_i = leaky(a_i x + b_i),   y = leaky(Σ_i h_i w_i + c).
//
// Between the knots x = −b_i/a_i the vector Σ_i h_i w_i + c is a linear function
// x·P + Q. To fill a table of P and Q for all pieces takes as many operations as one or
// two rows of the product h·w. After that a row of a batch takes as many operations as
// it has outputs, for any width of h.
//
// Tables and sums are [units+1][2][out]. They have for each piece, in the order of x, a
// vector that is multiplied by x and one that is not. The number of a piece is the number of
// knots to the left of it.

// piecewiseWork bounds the numbers that one call of the assembly goes through, and
// with it the time that the goroutine cannot be preempted, to some 20 µs.
const piecewiseWork = 1 << 18

// piecewiseRows returns how many rows of the given width a call takes.
func piecewiseRows(width int) int { return max(1, piecewiseWork/width) }

// piecewiseNumbers returns how many numbers a call takes if each costs as much as given, and
// how many columns of a given height.
func piecewiseNumbers(cost int) int { return max(1, piecewiseWork/cost/64) * 64 }

// CountKnots sets dst[r] to the number of knots ≤ x[r], 0 for NaN.
func CountKnots(dst, x, knots []float32) {
	checkLengths(len(dst) == len(x) && len(knots) < 1<<24, "CountKnots")
	if len(knots) == 0 {
		clear(dst)
		return
	}
	maxCount := piecewiseNumbers(len(knots))
	for len(x) > 0 {
		n := min(len(x), maxCount)
		countKnots(dst[:n], x[:n], knots)
		dst, x = dst[n:], x[n:]
	}
}

// PrefixRows sums multiples of the rows of w, [units][out], in a given order.
// Starting from the first two rows of dst, [len(order)+1][2][out],
//
//	dst[k+1][s] = dst[k][s] + factors[k][s] · w[order[k]]
//
// for s = 0 and 1.
func PrefixRows(dst, w []float32, order []int32, factors []float32, out int) {
	n := len(order)
	checkLengths(out >= 0 && len(dst) == 2*(n+1)*out && len(factors) == 2*n && rowsExist(order, w, out), "PrefixRows")
	if n == 0 {
		return
	}
	maxColumns := piecewiseNumbers(n)
	for o := 0; o < out; o += maxColumns {
		prefixRows(dst[o:], w[o:], order, factors, out, min(maxColumns, out-o))
	}
}

// rowsExist reports whether order holds numbers of rows of w.
func rowsExist(order []int32, w []float32, out int) bool {
	for _, i := range order {
		if i < 0 || (int(i)+1)*out > len(w) {
			return false
		}
	}
	return true
}

// PiecewiseForward sets y, [rows][out], to leaky(x[r]·P + Q) for piece number
// piece[r] of a table. A number beyond the last piece means the last piece.
func PiecewiseForward(y, x, piece, table []float32, out int, slope float32) {
	rows := len(x)
	checkLengths(out >= 0 && len(y) == rows*out && len(piece) == rows && len(table) >= 2*out && len(table)%max(1, 2*out) == 0, "PiecewiseForward")
	if out == 0 {
		return
	}
	last, maxRows := len(table)/(2*out)-1, piecewiseRows(out)
	for len(x) > 0 {
		n := min(len(x), maxRows)
		piecewiseForward(y, x[:n], piece, table, last, out, slope)
		y, x, piece = y[n*out:], x[n:], piece[n:]
	}
}

// PiecewiseBackward takes dy, [rows][out], the gradient with respect to x[r]·P + Q, back
// to x, and adds to the sums of each piece, which PiecewiseGradient takes:
//
//	dx[r] = Σ_o dy[r,o] P[o],   sums[piece[r]] += (x[r]·dy[r], dy[r])
func PiecewiseBackward(sums, dx, x, piece, dy, table []float32, out int) {
	rows := len(x)
	checkLengths(out >= 0 && len(dx) == rows && len(piece) == rows && len(dy) == rows*out, "PiecewiseBackward: rows")
	checkLengths(len(sums) == len(table) && len(table) >= 2*out && len(table)%max(1, 2*out) == 0, "PiecewiseBackward: table")
	clear(dx)
	if out == 0 {
		return
	}
	last, maxRows := len(table)/(2*out)-1, piecewiseRows(out)
	for len(x) > 0 {
		n := min(len(x), maxRows)
		piecewiseBackward(sums, dx, x[:n], piece, dy, table, last, out)
		dx, x, piece, dy = dx[n:], x[n:], piece[n:], dy[n*out:]
	}
}

// PiecewiseSum is PiecewiseForward followed by a layer of one output with weights w,
// [out]: y[r] = bias + Σ_o w[o]·leaky(x[r]·P + Q)[o].
func PiecewiseSum(y, x, piece, table, w []float32, bias, slope float32) {
	rows, out := len(x), len(w)
	checkLengths(len(y) == rows && len(piece) == rows && out > 0 && len(table) > 0 && len(table)%(2*out) == 0, "PiecewiseSum")
	for r := range y {
		y[r] = bias
	}
	last, maxRows := len(table)/(2*out)-1, piecewiseRows(out)
	for len(x) > 0 {
		n := min(len(x), maxRows)
		piecewiseSum(y, x[:n], piece, table, w, last, slope)
		y, x, piece = y[n:], x[n:], piece[n:]
	}
}

// PiecewiseSumBackward takes dy, the gradient with respect to PiecewiseSum's y, back to x as
// PiecewiseBackward does, and adds the gradient with respect to w to dw.
func PiecewiseSumBackward(sums, dx, dw, x, piece, dy, table, w []float32, slope float32) {
	rows, out := len(x), len(w)
	checkLengths(len(dx) == rows && len(piece) == rows && len(dy) == rows && len(dw) == out, "PiecewiseSumBackward: rows")
	checkLengths(out > 0 && len(sums) == len(table) && len(table) > 0 && len(table)%(2*out) == 0, "PiecewiseSumBackward: table")
	clear(dx)
	last, maxRows := len(table)/(2*out)-1, piecewiseRows(out)
	for len(x) > 0 {
		n := min(len(x), maxRows)
		piecewiseSumBackward(sums, dx, dw, x[:n], piece, dy, table, w, last, slope)
		dx, x, piece, dy = dx[n:], x[n:], piece[n:], dy[n:]
	}
}

// PiecewiseGradient adds the gradients with respect to the weights and biases of the two
// layers, given the sums of PiecewiseBackward. The unit i = order[k] has knot number k. Its
// sums over pieces, each times the derivative of leaky there, are
//
//	(X, T) = factors[k][0] Σ_all sums + factors[k][1] Σ_{p ≤ k} sums[p]
//
// and with them
//
//	da[i] += X·w[i],   db[i] += T·w[i],   dw[i] += a_i X + b_i T,
//
// where a_i and b_i are factors[k][2] and factors[k][3]. To dc it adds Σ_all sums[p][1].
// It sets the sums to zero for the next rows.
func PiecewiseGradient(da, db, dw, dc, sums, w []float32, order []int32, factors []float32, out int) {
	n := len(order)
	checkLengths(out >= 0 && len(sums) == 2*(n+1)*out && len(factors) == 4*n, "PiecewiseGradient: sums")
	checkLengths(len(dw) == len(w) && rowsExist(order, w, out) && len(dc) == out, "PiecewiseGradient: weights")
	checkLengths(len(da)*out == len(w) && len(db) == len(da), "PiecewiseGradient: units")
	if n == 0 {
		return
	}
	maxColumns := piecewiseNumbers(n)
	for o := 0; o < out; o += maxColumns {
		piecewiseGradient(da, db, dw[o:], dc[o:], sums[o:], w[o:], order, factors, out, min(maxColumns, out-o))
	}
}

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
		offset := 2 * out * min(int(piece[r]), last)
		row, to := table[offset:][:2*out], sums[offset:][:2*out]
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
		offset := 2 * out * min(int(piece[r]), last)
		row, to := table[offset:][:2*out], sums[offset:][:2*out]
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
