package nn

import (
	"math"

	"github.com/revgen/revgen/asm"
)

// kinks hold the first two layers of a perceptron of one input x. Each unit
// h_i = leaky(a_i x + b_i) has its kink at the knot −b_i/a_i, and between the
// knots what the second layer makes of all of them is linear in x: a table of
// slopes and intercepts, refreshed from the parameters once per step, takes the
// place of the product with the second layer's weights, forward and backward.
type kinks struct {
	knots   []float32 // ascending, +Inf for units without
	order   []int32   // unit of each knot
	table   []float32 // [units+1][2][out]
	pairs   []float32 // [units][2], see asm.PrefixRows
	factors []float32 // [units][4], see asm.PiecewiseGradient
	weights []float32 // of the second layer, within the parameters
	last    []float32 // of the third layer, within the parameters
}

func (m *MLP) newKinks() *kinks {
	units, out := m.sizes[1], m.sizes[2]
	k := &kinks{
		knots:   make([]float32, units),
		order:   make([]int32, units),
		table:   make([]float32, 2*(units+1)*out),
		pairs:   make([]float32, 2*units),
		factors: make([]float32, 4*units),
	}
	for i := range k.order {
		k.order[i] = int32(i)
	}
	return k
}

// refresh sets the table. From left to right, unit i begins with the slope 1 if
// a_i < 0, else that of leaky, and changes to the other at its knot.
func (k *kinks) refresh(m *MLP, params []float32) {
	a, b := m.Weights(params, 0), m.Biases(params, 0)
	w, c := m.Weights(params, 1), m.Biases(params, 1)
	out := len(c)
	k.sort(a, b)
	for p, i := range k.order {
		f := k.factors[4*p:][:4]
		f[2], f[3] = a[i], b[i]
		switch above := 1 - m.slope; {
		case math.IsInf(float64(k.knots[p]), 1): // of the same sign everywhere
			f[0], f[1] = m.slope, 0
			if b[i] > 0 {
				f[0] = 1
			}
		case a[i] > 0:
			f[0], f[1] = 1, -above
		default:
			f[0], f[1] = m.slope, above
		}
		k.pairs[2*p], k.pairs[2*p+1] = (f[0]+f[1])*a[i], (f[0]+f[1])*b[i]
	}
	k.weights, k.last = w, m.Weights(params, 2)
	first, last := k.table[:2*out], k.table[len(k.table)-2*out:]
	clear(first[:out])
	copy(first[out:], c)
	asm.PrefixRows(k.table, w, k.order, k.pairs, out)
	copy(first, last)
	for p := range k.order {
		f := k.factors[4*p:][:4]
		k.pairs[2*p], k.pairs[2*p+1] = -f[1]*f[2], -f[1]*f[3]
	}
	asm.PrefixRows(k.table, w, k.order, k.pairs, out)
}

// sort puts the knots in order, by insertion as few have moved since the last
// step. Equal knots stand in the order of their units, so that the same table
// results whatever the order before.
func (k *kinks) sort(a, b []float32) {
	for p, i := range k.order {
		knot := knotOf(a[i], b[i])
		for ; p > 0 && (k.knots[p-1] > knot || k.knots[p-1] == knot && k.order[p-1] > i); p-- {
			k.knots[p], k.order[p] = k.knots[p-1], k.order[p-1]
		}
		k.knots[p], k.order[p] = knot, i
	}
}

// knotOf returns where a·x + b changes its sign, +Inf if that is nowhere.
func knotOf(a, b float32) float32 {
	knot := -b / a
	if knot-knot != 0 {
		return float32(math.Inf(1))
	}
	return knot
}

// forwardKinks computes the piece that each of rows lo … hi−1 is in, which stands
// in place of layer 1, and from it the output or layer 2. It returns the number
// of layers computed.
func (m *MLP) forwardKinks(a Activations, k *kinks, params []float32, lo, hi int) int {
	x, piece := a[0][lo:hi], a[1][lo:hi]
	asm.CountKnots(piece, x, k.knots)
	if m.summed {
		asm.PiecewiseSum(a[3][lo:hi], x, piece, k.table, m.Weights(params, 2), m.Biases(params, 2)[0], m.slope)
		return 3
	}
	m.secondFromKinks(a, k, lo, hi)
	return 2
}

// secondFromKinks computes layer 2 of rows whose pieces are known.
func (m *MLP) secondFromKinks(a Activations, k *kinks, lo, hi int) {
	out := m.sizes[2]
	asm.PiecewiseForward(a[2][lo*out:hi*out], a[0][lo:hi], a[1][lo:hi], k.table, out, m.slope)
}

// backwardKinks is the last part of Backward, given the gradient dy by layer 2
// before its LeakyReLU or, of a summed perceptron, by the output. din is not
// nil, and sums are zero before and after.
func (m *MLP) backwardKinks(grad, din, dy, sums []float32, a Activations, k *kinks, lo, hi int) {
	sums = sums[:len(k.table)]
	x, piece, out := a[0][lo:hi], a[1][lo:hi], m.sizes[2]
	if m.summed {
		asm.PiecewiseSumBackward(sums, din, m.Weights(grad, 2), x, piece, dy, k.table, k.last, m.slope)
		m.Biases(grad, 2)[0] += total(dy)
	} else {
		asm.PiecewiseBackward(sums, din, x, piece, dy, k.table, out)
	}
	asm.PiecewiseGradient(m.Weights(grad, 0), m.Biases(grad, 0), m.Weights(grad, 1), m.Biases(grad, 1),
		sums, k.weights, k.order, k.factors, out)
}

// total returns the sum of x.
func total(x []float32) float32 {
	var sums [4]float32 // as chains that do not wait for each other
	for ; len(x) >= 4; x = x[4:] {
		for i := range sums {
			sums[i] += x[i]
		}
	}
	for i, v := range x {
		sums[i] += v
	}
	return sums[0] + sums[1] + (sums[2] + sums[3])
}
