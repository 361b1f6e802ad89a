package asm

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
	if narrow(len(a), columns) {
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
