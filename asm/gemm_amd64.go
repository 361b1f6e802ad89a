//go:build !purego

package asm

// The tiles' heights, 14 and 6 rows, divide tileRows. A call of the assembly,
// in which the goroutine cannot be preempted, does about callAVX512 or
// callAVX2 multiply-adds: some 20 µs at 3 GHz.
const (
	tileRows   = 42
	callAVX512 = 1 << 21
	callAVX2   = 1 << 20
)

// denseBlock returns the rows and columns of the result that one call
// computes as sums of k terms.
func denseBlock(k, columns int) (blockRows, blockColumns int) {
	budget := callAVX2
	if useAVX512 {
		budget = callAVX512
	}
	k += Panel // what the start and the end of a tile cost
	calls := (tileRows*k*columns + budget - 1) / budget
	blockColumns = (columns + 2*Panel*calls - 1) / (2 * Panel * calls) * (2 * Panel)
	blockRows = max(1, budget/(tileRows*k*blockColumns)) * tileRows
	return blockRows, blockColumns
}

func denseForward(y, x, packed, bias []float32, rows, in, out int, slope float32) {
	if !useAVX2 {
		denseForwardGeneric(y, x, packed, bias, rows, in, out, slope)
		return
	}
	if narrow(in, out) {
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

func denseBackwardInput(dx, dy, packedT, act []float32, rows, in, out int, slope float32) {
	if !useAVX2 {
		denseBackwardInputGeneric(dx, dy, packedT, act, rows, in, out, slope)
		return
	}
	if act == nil { // whatever dx holds, the factor is 1
		act, slope = dx, 1
	}
	if narrow(out, in) {
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

// denseNarrow computes a product of few columns, forward if act is nil, else
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

func denseBackwardWeights(dw, db, x, dy []float32, rows, in, out int) {
	if !useAVX2 {
		denseBackwardWeightsGeneric(dw, db, x, dy, rows, in, out)
		return
	}
	switch {
	case out == 1:
		weightBlocks(dw, db, x, dy, rows, in, out, true)
	case out <= fewColumns && in >= 2*Panel && in*out <= len(fewWeights{}):
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

// With fewColumns columns or less, which do not fill vectors well, the
// transpose of the weight gradient is computed, which has few rows instead.
const fewColumns = 9

type fewWeights [fewColumns * 256]float32

// weightBlocks adds the gradients of the weights, or their transpose, and of
// the bias, in blocks of rows of x and dy that stay in L2.
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
