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
		radialValuesVector(&k.steps[0].kind, len(k.steps), value[:n], derivative[:n], d2[:n])
		value, derivative, d2 = value[n:], derivative[n:], d2[n:]
	}
	if len(d2) > 0 {
		var block [3][64]float32
		copy(block[0][:], d2)
		radialValuesVector(&k.steps[0].kind, len(k.steps), block[1][:], block[2][:], block[0][:])
		copy(value, block[1][:])
		copy(derivative, block[2][:])
	}
}

func gramTile(k *Radial, x *GramBatch, t GramRange, rows, cols, scratch []float32) float64 {
	if !useAVX2 {
		return gramTileGeneric(k, x, t, rows, cols, scratch)
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
		loss += gramTileVector(&k.steps[0].kind, len(k.steps), &x.Planes[0], x.Stride, x.Dim, x.N,
			row, end, t.Col0, col1, &rows[row-t.Row0], nr, &cols[0], nc, &scratch[0])
	}
	return loss
}

// kernelColumns is the most columns that are summed up in float32 one after the
// other.
const kernelColumns = 512

func kernelSums(k *Radial, value, grad []float32, gradStride int, x []float32, xStride, rows int, y []float32, yStride, cols, dim, gradDim int, scratch []float32) {
	if !useAVX2 {
		kernelSumsGeneric(k, value, grad, gradStride, x, xStride, rows, y, yStride, cols, dim, gradDim, scratch)
		return
	}
	if gradDim == 0 {
		grad = value // of which nothing is touched
	}
	cost := len(k.steps) + dim + 2
	most := min(kernelColumns, max(1, gramWork/cost)*4)
	sum := func(y []float32, yStride, cols, valid int) {
		step := max(1, gramWork/(cost*cols/4)) * 32
		for row := 0; row < rows; row += step {
			n := min(rows-row, step)
			kernelSumsVector(&k.steps[0].kind, len(k.steps), &value[row], &grad[row], gradStride, &x[row], xStride, n, &y[0], yStride, cols, valid, dim, gradDim, &scratch[0])
		}
	}
	full := cols &^ 3
	for col := 0; col < full; col += most {
		sum(y[col:], yStride, min(full-col, most), 4)
	}
	if full == cols {
		return
	}
	// The last one to three columns, as four in scratch space.
	block := scratch[gramVectors+64*dim:][:4*dim]
	clear(block)
	for c := range dim {
		copy(block[4*c:][:4], y[c*yStride+full:][:cols-full])
	}
	sum(block, 4, 4, cols-full)
}
