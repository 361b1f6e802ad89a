//go:build !purego

package asm

// callProducts bounds the multiply-adds of one call of the assembly, which
// the goroutine cannot be preempted in: about 20 µs with AVX-512 and 40 µs
// with AVX2 at 3 GHz.
const callProducts = 1 << 21

// rowBlock returns how many rows one call takes when each costs products
// multiply-adds: a multiple of every tile's height.
func rowBlock(products int) int { return max(1, callProducts/products/84) * 84 }

func denseForward(y, x, packed, bias []float32, rows, in, out int, slope float32) {
	if !useAVX2 {
		denseForwardGeneric(y, x, packed, bias, rows, in, out, slope)
		return
	}
	block := rowBlock(in * out)
	for first := 0; first < rows; first += block {
		n := min(block, rows-first)
		if useAVX512 {
			denseForwardAVX512(y[first*out:], x[first*in:], packed, bias, n, in, out, slope)
		} else {
			denseForwardAVX2(y[first*out:], x[first*in:], packed, bias, n, in, out, slope)
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
	block := rowBlock(in * out)
	for first := 0; first < rows; first += block {
		n := min(block, rows-first)
		if useAVX512 {
			denseBackwardInputAVX512(dx[first*in:], dy[first*out:], packedT, act[first*in:], n, in, out, slope)
		} else {
			denseBackwardInputAVX2(dx[first*in:], dy[first*out:], packedT, act[first*in:], n, in, out, slope)
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
	for first := 0; first < rows; first += depth {
		n := min(depth, rows-first)
		block := rowBlock(n * out)
		for i := 0; i < in; i += block {
			count := min(block, in-i)
			if useAVX512 {
				denseWeightsAVX512(dw[i*out:], x[first*in+i:], dy[first*out:], count, n, in, out)
			} else {
				denseWeightsAVX2(dw[i*out:], x[first*in+i:], dy[first*out:], count, n, in, out)
			}
		}
		if useAVX512 {
			columnSumsAVX512(db, dy[first*out:], n, out)
		} else {
			columnSumsAVX2(db, dy[first*out:], n, out)
		}
	}
}
