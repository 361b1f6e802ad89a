//go:build !purego

package asm

// gramWork bounds the blocks of one assembly call times their steps, and with
// it the time that the goroutine cannot be preempted, to some 20 µs.
const gramWork = 2048

func radialValues(k *Radial, value, derivative, d2 []float32) {
	if !useAVX2 {
		radialValuesGeneric(k, value, derivative, d2)
		return
	}
	const most = gramWork * 8
	for len(d2) >= 64 {
		n := min(len(d2)&^63, most)
		radialValuesVector(k, value[:n], derivative[:n], d2[:n])
		value, derivative, d2 = value[n:], derivative[n:], d2[n:]
	}
	if len(d2) > 0 {
		var block [3][64]float32
		copy(block[0][:], d2)
		radialValuesVector(k, block[1][:], block[2][:], block[0][:])
		copy(value, block[1][:])
		copy(derivative, block[2][:])
	}
}

func radialValuesVector(k *Radial, value, derivative, d2 []float32) {
	if useAVX512 {
		radialValuesAVX512(&k.steps[0].kind, len(k.steps), &value[0], &derivative[0], &d2[0], len(d2))
	} else {
		radialValuesAVX2(&k.steps[0].kind, len(k.steps), &value[0], &derivative[0], &d2[0], len(d2))
	}
}

func gramTile(k *Radial, x *GramBatch, t GramRange, rows, cols, scratch []float32) float64 {
	if !useAVX2 {
		return gramTileGeneric(k, x, t, rows, cols)
	}
	clear(rows)
	nr, nc := t.Row1-t.Row0, t.Col1-t.Col0
	row1, col1 := min(t.Row1, x.N), min(t.Col1, x.N)
	if col1 <= t.Col0 {
		return 0
	}
	cost := (nc + 15) / 16 * (len(k.steps) + x.Dim + 2)
	step := max(4, gramWork/cost*4)
	var loss float64
	for row := t.Row0; row < row1; row += step {
		end := min(row+step, row1)
		if useAVX512 {
			loss += gramTileAVX512(&k.steps[0].kind, len(k.steps), &x.Planes[0], x.Stride, x.Dim, x.N,
				row, end, t.Col0, col1, &rows[row-t.Row0], nr, &cols[0], nc, &scratch[0])
		} else {
			loss += gramTileAVX2(&k.steps[0].kind, len(k.steps), &x.Planes[0], x.Stride, x.Dim, x.N,
				row, end, t.Col0, col1, &rows[row-t.Row0], nr, &cols[0], nc, &scratch[0])
		}
	}
	return loss
}

func kernelSums(k *Radial, value, grad []float32, gradStride int, x []float32, xStride, rows int, y []float32, yStride, cols, dim int, scratch []float32) {
	if !useAVX2 {
		kernelSumsGeneric(k, value, grad, gradStride, x, xStride, rows, y, yStride, cols, dim)
		return
	}
	cost := len(k.steps) + dim + 2
	step := max(4, gramWork/(cost*(min(cols, gramWork)+31)/32)*4)
	most := max(1, gramWork/cost) * 32 // columns
	full := rows &^ 3
	for col := 0; col < cols; col += most {
		n := min(cols-col, most)
		for row := 0; row < full; row += step {
			kernelSumsVector(k, value[row:], grad[row:], gradStride, x[row:], xStride, min(full-row, step), y[col:], yStride, n, dim, scratch)
		}
	}
	if full == rows {
		return
	}
	// The last one to three rows, as a block of four in scratch space.
	rest := rows - full
	block := scratch[192+64*dim:]
	clear(block[:4*(2*dim+1)])
	last, sum := block[:4*dim], block[4*dim:4*(2*dim+1)]
	for c := range dim {
		copy(last[4*c:4*c+rest], x[c*xStride+full:])
	}
	for col := 0; col < cols; col += most {
		kernelSumsVector(k, sum[4*dim:], sum, 4, last, 4, 4, y[col:], yStride, min(cols-col, most), dim, scratch)
	}
	for r := range rest {
		value[full+r] += sum[4*dim+r]
		for c := range dim {
			grad[c*gradStride+full+r] += sum[4*c+r]
		}
	}
}

func kernelSumsVector(k *Radial, value, grad []float32, gradStride int, x []float32, xStride, rows int, y []float32, yStride, cols, dim int, scratch []float32) {
	if useAVX512 {
		kernelSumsAVX512(&k.steps[0].kind, len(k.steps), &value[0], &grad[0], gradStride, &x[0], xStride, rows, &y[0], yStride, cols, dim, &scratch[0])
	} else {
		kernelSumsAVX2(&k.steps[0].kind, len(k.steps), &value[0], &grad[0], gradStride, &x[0], xStride, rows, &y[0], yStride, cols, dim, &scratch[0])
	}
}
