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
	var repeated [Panel]float32
	if out <= narrow {
		for i := range repeated {
			repeated[i] = bias[i%out]
		}
	}
	blockRows, blockColumns := denseBlock(in, out)
	for r := 0; r < rows; r += blockRows {
		n := min(blockRows, rows-r)
		if out <= narrow {
			if useAVX512 {
				denseForwardNarrowAVX512(y[r*out:], x[r*in:], packed, &repeated, n, in, out, slope)
			} else {
				denseForwardNarrowAVX2(y[r*out:], x[r*in:], packed, &repeated, n, in, out, slope)
			}
			continue
		}
		for o := 0; o < out; o += blockColumns {
			columns := min(blockColumns, out-o)
			if useAVX512 {
				denseForwardAVX512(y[r*out+o:], x[r*in:], packed[o*in:], bias[o:], n, in, out, columns, slope)
			} else {
				denseForwardAVX2(y[r*out+o:], x[r*in:], packed[o*in:], bias[o:], n, in, out, columns, slope)
			}
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
	blockRows, blockColumns := denseBlock(out, in)
	for r := 0; r < rows; r += blockRows {
		n := min(blockRows, rows-r)
		if in <= narrow {
			if useAVX512 {
				denseBackwardInputNarrowAVX512(dx[r*in:], dy[r*out:], packedT, act[r*in:], n, in, out, slope)
			} else {
				denseBackwardInputNarrowAVX2(dx[r*in:], dy[r*out:], packedT, act[r*in:], n, in, out, slope)
			}
			continue
		}
		for i := 0; i < in; i += blockColumns {
			columns := min(blockColumns, in-i)
			if useAVX512 {
				denseBackwardInputAVX512(dx[r*in+i:], dy[r*out:], packedT[i*out:], act[r*in+i:], n, in, out, columns, slope)
			} else {
				denseBackwardInputAVX2(dx[r*in+i:], dy[r*out:], packedT[i*out:], act[r*in+i:], n, in, out, columns, slope)
			}
		}
	}
}

func denseBackwardWeights(dw, db, x, dy []float32, rows, in, out int) {
	if !useAVX2 {
		denseBackwardWeightsGeneric(dw, db, x, dy, rows, in, out)
		return
	}
	// A block of dy's rows stays in L2 while all of dw's rows pass.
	depth := min(256, max(32, 1<<16/out))
	for r := 0; r < rows; r += depth {
		n := min(depth, rows-r)
		if useAVX512 {
			columnSumsAVX512(db, dy[r*out:], n, out)
		} else {
			columnSumsAVX2(db, dy[r*out:], n, out)
		}
	}
	// With too few columns to fill a vector the transpose of dw is computed,
	// whose columns are many.
	var transposed [1024]float32
	switch {
	case out == 1:
		denseWeights(dw, dy, x, rows, out, in, depth)
	case out <= narrow && in*out <= len(transposed):
		denseWeights(transposed[:], dy, x, rows, out, in, depth)
		for i := range in {
			for o := range out {
				dw[i*out+o] += transposed[o*in+i]
			}
		}
	default:
		denseWeights(dw, x, dy, rows, in, out, depth)
	}
}

// denseWeights adds the product of x's transpose and dy to dw.
func denseWeights(dw, x, dy []float32, rows, in, out, depth int) {
	for r := 0; r < rows; r += depth {
		n := min(depth, rows-r)
		blockRows, blockColumns := denseBlock(n, out)
		for i := 0; i < in; i += blockRows {
			count := min(blockRows, in-i)
			for o := 0; o < out; o += blockColumns {
				columns := min(blockColumns, out-o)
				if useAVX512 {
					denseWeightsAVX512(dw[i*out+o:], x[r*in+i:], dy[r*out+o:], n, in, out, count, columns)
				} else {
					denseWeightsAVX2(dw[i*out+o:], x[r*in+i:], dy[r*out+o:], n, in, out, count, columns)
				}
			}
		}
	}
}

func packPanel(panel, w []float32, rows, columns int) {
	whole := columns &^ (Panel - 1)
	switch {
	case rows < Panel || whole == 0 || !useAVX2:
		whole = 0
	case useAVX512:
		packPanelAVX512(panel, w, columns, whole)
	default:
		packPanelAVX2(panel, w, columns, whole)
	}
	packPanelGeneric(panel, w, rows, columns, whole)
}
