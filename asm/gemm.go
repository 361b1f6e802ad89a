package asm

import "fmt"

// Panel is the number of columns of a packed panel: one AVX-512 register or
// two AVX2 registers of float32.
const Panel = 16

// isNarrow reports whether a layer's n outputs of a row are computed as dot products of length
// k, rather than side by side in panels.
func isNarrow(k, n int) bool { return n <= 4 || n <= maxNarrowColumns && k >= 128 }

const maxNarrowColumns = 9

// PackedLen returns the number of elements of a packed in×out matrix. Unless out is small, it
// is rounded up to a multiple of Panel.
func PackedLen(in, out int) int {
	if !isNarrow(in, out) {
		out = (out + Panel - 1) / Panel * Panel
	}
	return in * out
}

// PackWeights copies the row-major matrix w[in][out] into the order in which
// DenseForward reads it: panels of Panel columns, dst[ceil(out/Panel)][in][Panel],
// with zeros in the columns beyond out, or, for small out, columns,
// dst[out][in]. dst takes PackedLen(in, out) elements.
func PackWeights(dst, w []float32, in, out int) {
	checkShape("PackWeights", 0, in, out)
	checkLen("PackWeights", "w", len(w), in*out)
	checkLen("PackWeights", "dst", len(dst), PackedLen(in, out))
	if isNarrow(in, out) {
		transpose(dst, w, in, out)
		return
	}
	whole := out &^ (Panel - 1)
	for i := range in { // w in order, as it may not be in a cache
		row := w[i*out:][:out]
		for first := 0; first < whole; first += Panel {
			copy(dst[first*in+i*Panel:][:Panel], row[first:][:Panel])
		}
		if whole < out {
			last := dst[whole*in+i*Panel:][:Panel]
			clear(last[copy(last, row[whole:]):])
		}
	}
}

// PackWeightsTransposed packs the transpose of the row-major matrix
// w[in][out] for DenseBackwardInput: panels, dst[ceil(in/Panel)][out][Panel],
// or, for small in, a copy of w. dst takes PackedLen(out, in) elements.
func PackWeightsTransposed(dst, w []float32, in, out int) {
	checkShape("PackWeightsTransposed", 0, in, out)
	checkLen("PackWeightsTransposed", "w", len(w), in*out)
	checkLen("PackWeightsTransposed", "dst", len(dst), PackedLen(out, in))
	if isNarrow(out, in) {
		copy(dst, w[:in*out])
		return
	}
	for first := 0; first < in; first += Panel {
		panel, rows, whole := dst[first*out:][:out*Panel], min(Panel, in-first), 0
		if rows < Panel {
			clear(panel)
		} else if whole = out &^ (Panel - 1); whole > 0 {
			packPanel(panel, w[first*out:], out, whole)
		}
		packRows(panel[whole*Panel:], w[first*out+whole:], rows, out, out-whole)
	}
}

// packRows transposes up to Panel rows of w, stride apart, into a panel.
func packRows(panel, w []float32, rows, stride, columns int) {
	for r := range rows {
		k := r
		for _, v := range w[r*stride:][:columns] {
			panel[k] = v
			k += Panel
		}
	}
}

// transpose sets dst[columns][rows] to the transpose of src[rows][columns].
func transpose(dst, src []float32, rows, columns int) {
	for r := range rows {
		for c, v := range src[r*columns:][:columns] {
			dst[c*rows+r] = v
		}
	}
}

// DenseForward computes a layer of a network on a batch of rows:
//
//	y[r,o] = leaky(bias[o] + sum_i x[r,i] w[i,o]),  leaky(v) = v if v > 0, else slope v
//
// x is rows×in and y rows×out, both row-major and contiguous; packed holds w
// as PackWeights leaves it, and bias has out elements. Slope 1 makes the
// layer linear. y must not overlap the other arguments. Slices may be longer
// than the shape needs.
//
// The order of the terms depends on in, out and the path only, so that a
// batch may be split into any blocks of rows without changing a bit. The
// error of the value before leaky is at most
// (in+1) 2⁻²³ (|bias[o]| + sum_i |x[r,i] w[i,o]|), to first order, when
// nothing overflows or underflows. NaN and infinity propagate.
func DenseForward(y, x, packed, bias []float32, rows, in, out int, slope float32) {
	checkShape("DenseForward", rows, in, out)
	checkLen("DenseForward", "y", len(y), rows*out)
	checkLen("DenseForward", "x", len(x), rows*in)
	checkLen("DenseForward", "packed", len(packed), PackedLen(in, out))
	checkLen("DenseForward", "bias", len(bias), out)
	if !useAVX2 {
		denseForwardGeneric(y, x, packed, bias, rows, in, out, slope)
		return
	}
	if isNarrow(in, out) {
		denseNarrow(y, x, packed, bias, nil, rows, in, out, slope)
		return
	}
	blockRows, blockColumns := denseBlock(in, out)
	for r := 0; r < rows; r += blockRows {
		n := min(blockRows, rows-r)
		for o := 0; o < out; o += blockColumns {
			columns := min(blockColumns, out-o)
			denseForwardVector(y[r*out+o:], x[r*in:], packed[o*in:], bias[o:], n, in, out, columns, slope)
		}
	}
}

// DenseBackwardInput computes the gradient with respect to a layer's input:
//
//	dx[r,i] = (sum_o dy[r,o] w[i,o]) · (1 if act[r,i] > 0, else slope)
//
// dy is rows×out, dx rows×in, both row-major and contiguous; packedT holds w
// as PackWeightsTransposed leaves it. act is the layer's input, rows×in: the
// output of the LeakyReLU before it, whose derivative is the second factor.
// A nil act leaves that factor out. dx must not overlap the other arguments,
// except that it may be act itself. Slices may be longer than the shape needs.
//
// The error is at most (out+1) 2⁻²³ sum_o |dy[r,o] w[i,o]| to first order,
// when nothing overflows or underflows. NaN and infinity propagate; where act
// is NaN the factor is slope.
func DenseBackwardInput(dx, dy, packedT, act []float32, rows, in, out int, slope float32) {
	checkShape("DenseBackwardInput", rows, in, out)
	checkLen("DenseBackwardInput", "dx", len(dx), rows*in)
	checkLen("DenseBackwardInput", "dy", len(dy), rows*out)
	checkLen("DenseBackwardInput", "packedT", len(packedT), PackedLen(out, in))
	if act != nil {
		checkLen("DenseBackwardInput", "act", len(act), rows*in)
	}
	if !useAVX2 {
		denseBackwardInputGeneric(dx, dy, packedT, act, rows, in, out, slope)
		return
	}
	if act == nil { // with slope 1 the factor is 1, whatever dx holds
		act, slope = dx, 1
	}
	if isNarrow(out, in) {
		denseNarrow(dx, dy, packedT, nil, act, rows, out, in, slope)
		return
	}
	blockRows, blockColumns := denseBlock(out, in)
	for r := 0; r < rows; r += blockRows {
		n := min(blockRows, rows-r)
		for i := 0; i < in; i += blockColumns {
			columns := min(blockColumns, in-i)
			denseBackwardInputVector(dx[r*in+i:], dy[r*out:], packedT[i*out:], act[r*in+i:], n, in, out, columns, slope)
		}
	}
}

// DenseBackwardWeights adds the gradients with respect to a layer's weights
// and bias:
//
//	dw[i,o] += sum_r x[r,i] dy[r,o]
//	db[o]   += sum_r dy[r,o]
//
// x is rows×in, dy rows×out, dw in×out, all row-major and contiguous. dw and
// db must not overlap the other arguments. Slices may be longer than the
// shape needs.
//
// The order of the terms depends on the shape and the path only. The error is
// at most (rows+1) 2⁻²³ (|dw[i,o]| + sum_r |x[r,i] dy[r,o]|) to first order,
// when nothing overflows or underflows. NaN and infinity propagate.
func DenseBackwardWeights(dw, db, x, dy []float32, rows, in, out int) {
	checkShape("DenseBackwardWeights", rows, in, out)
	checkLen("DenseBackwardWeights", "dw", len(dw), in*out)
	checkLen("DenseBackwardWeights", "db", len(db), out)
	checkLen("DenseBackwardWeights", "x", len(x), rows*in)
	checkLen("DenseBackwardWeights", "dy", len(dy), rows*out)
	if !useAVX2 {
		denseBackwardWeightsGeneric(dw, db, x, dy, rows, in, out)
		return
	}
	switch {
	case out == 1:
		weightBlocks(dw, db, x, dy, rows, in, out, true)
	case out <= maxTransposedColumns && in >= 2*Panel && in*out <= len(fewWeights{}):
		var transposed fewWeights
		weightBlocks(transposed[:], db, x, dy, rows, in, out, true)
		for o := range out {
			for i, v := range transposed[o*in:][:in] {
				dw[i*out+o] += v
			}
		}
	default:
		weightBlocks(dw, db, x, dy, rows, in, out, false)
	}
}

// The goroutine cannot be preempted in a call of the assembly, which does about callAVX512 or
// callAVX2 multiply-adds, in some 20 µs at 3 GHz.
const (
	tileRows   = 42 // a multiple of the tiles' heights, 14 and 6
	callAVX512 = 1 << 21
	callAVX2   = 1 << 20
)

// denseBlock returns how many rows and columns one call computes of a result whose elements
// are sums of k terms.
func denseBlock(k, columns int) (blockRows, blockColumns int) {
	budget := callAVX2
	if useAVX512 {
		budget = callAVX512
	}
	k += Panel // the start and the end of a tile cost as much as these terms
	calls := (tileRows*k*columns + budget - 1) / budget
	blockColumns = (columns + 2*Panel*calls - 1) / (2 * Panel * calls) * (2 * Panel)
	blockRows = max(1, budget/(tileRows*k*blockColumns)) * tileRows
	return blockRows, blockColumns
}

// denseNarrow computes a product of few columns: forward if act is nil, else
// backward.
func denseNarrow(c, a, b, bias, act []float32, rows, k, n int, slope float32) {
	var repeated [32]float32
	if bias != nil {
		for i := range repeated {
			repeated[i] = bias[i%n]
		}
	}
	blockRows, _ := denseBlock(k, n)
	for r := 0; r < rows; r += blockRows {
		var factor []float32
		if act != nil {
			factor = act[r*n:]
		}
		denseNarrowVector(c[r*n:], a[r*k:], b, &repeated, factor, min(blockRows, rows-r), k, n, slope)
	}
}

// maxTransposedColumns bounds the columns of a weight gradient of which the transpose is computed, as
// so few columns do not fill vectors well.
const maxTransposedColumns = 9

type fewWeights [maxTransposedColumns * 256]float32

// weightBlocks adds the gradient of the weights, transposed if asked, to dw and that of the
// bias to db, in blocks of rows of x and dy that stay in L2.
func weightBlocks(dw, db, x, dy []float32, rows, in, out int, transposed bool) {
	depth := min(256, max(32, 1<<16/out))
	for r := 0; r < rows; r += depth {
		n := min(depth, rows-r)
		if transposed {
			denseWeights(dw, dy[r*out:], x[r*in:], n, out, in)
		} else {
			denseWeights(dw, x[r*in:], dy[r*out:], n, in, out)
		}
		columnSumsVector(db, dy[r*out:], n, out)
	}
}

// denseWeights adds the product of x's transpose and dy to dw.
func denseWeights(dw, x, dy []float32, rows, in, out int) {
	blockRows, blockColumns := denseBlock(rows, out)
	for i := 0; i < in; i += blockRows {
		count := min(blockRows, in-i)
		for o := 0; o < out; o += blockColumns {
			columns := min(blockColumns, out-o)
			denseWeightsVector(dw[i*out+o:], x[i:], dy[o:], rows, in, out, count, columns)
		}
	}
}

func checkShape(kernel string, rows, in, out int) {
	if in < 1 || out < 1 {
		panic(fmt.Sprintf("asm: %s: widths %d and %d; both must be positive", kernel, in, out))
	}
	if rows < 0 {
		panic(fmt.Sprintf("asm: %s: %d rows", kernel, rows))
	}
}

func denseForwardGeneric(y, x, packed, bias []float32, rows, in, out int, slope float32) {
	var acc [Panel]float32
	for r := range rows {
		xr := x[r*in:][:in]
		yr := y[r*out:][:out]
		for first := 0; first < out; first += Panel {
			width := min(Panel, out-first)
			copy(acc[:], bias[first:][:width])
			multiplyPanel(&acc, xr, packed[first*in:], out)
			for j, v := range acc[:width] {
				if !(v > 0) {
					v *= slope
				}
				yr[first+j] = v
			}
		}
	}
}

func denseBackwardInputGeneric(dx, dy, packedT, act []float32, rows, in, out int, slope float32) {
	var acc [Panel]float32
	for r := range rows {
		dyr := dy[r*out:][:out]
		dxr := dx[r*in:][:in]
		for first := 0; first < in; first += Panel {
			width := min(Panel, in-first)
			clear(acc[:])
			multiplyPanel(&acc, dyr, packedT[first*out:], in)
			for j, v := range acc[:width] {
				if act != nil && !(act[r*in+first+j] > 0) {
					v *= slope
				}
				dxr[first+j] = v
			}
		}
	}
}

// multiplyPanel adds the product of the row vector a and a packed panel of a
// matrix of the given number of columns.
func multiplyPanel(acc *[Panel]float32, a, panel []float32, columns int) {
	if isNarrow(len(a), columns) {
		for j := range columns {
			for i, w := range panel[j*len(a):][:len(a)] {
				acc[j] += a[i] * w
			}
		}
		return
	}
	for i, v := range a {
		w := (*[Panel]float32)(panel[i*Panel:])
		for j := range acc {
			acc[j] += v * w[j]
		}
	}
}

func denseBackwardWeightsGeneric(dw, db, x, dy []float32, rows, in, out int) {
	for r := range rows {
		dyr := dy[r*out:][:out]
		for o, g := range dyr {
			db[o] += g
		}
		for i, v := range x[r*in:][:in] {
			row := dw[i*out:][:out]
			for o, g := range dyr {
				row[o] += v * g
			}
		}
	}
}

func packPanelGeneric(panel, w []float32, stride, columns int) {
	packRows(panel, w, Panel, stride, columns)
}
