package nn

import (
	"math"

	"github.com/revgen/revgen/asm"
)

// kinks hold the first two layers of a perceptron of one input x. Each unit
// h_i = leaky(a_i x + b_i) has its kink at the knot −b_i/a_i. On the segments
// between knots the second layer is linear in x: a table of slopes and
// intercepts, refreshed from the parameters once per step, replaces the product
// with the second layer's weights, forward and backward.
type kinks struct {
	knots    []float32 // ascending, +Inf for units without a knot
	order    []int32   // unit of each knot
	table    []float32 // [units+1][2][out]
	pairs    []float32 // [units][2], see asm.PrefixRows
	factors  []float32 // [units][4], see asm.PiecewiseGradient
	weights2 []float32 // of the second layer, within the parameters
	weights3 []float32 // of the third layer, within the parameters
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

// refresh sets the table. If a_i < 0, the LeakyReLU of unit i has slope 1 left of its knot and
// m.slope right of it; otherwise the reverse.
func (k *kinks) refresh(m *MLP, params []float32) {
	a, b := m.Weights(params, 0), m.Biases(params, 0)
	w, c := m.Weights(params, 1), m.Biases(params, 1)
	out := len(c)
	k.sort(a, b)
	for p, i := range k.order {
		f := k.factors[4*p:][:4]
		f[2], f[3] = a[i], b[i]
		switch change := 1 - m.slope; {
		case math.IsInf(float64(k.knots[p]), 1): // a_i x + b_i has one sign everywhere
			f[0], f[1] = m.slope, 0
			if b[i] > 0 {
				f[0] = 1
			}
		case a[i] > 0:
			f[0], f[1] = 1, -change
		default:
			f[0], f[1] = m.slope, change
		}
		k.pairs[2*p], k.pairs[2*p+1] = (f[0]+f[1])*a[i], (f[0]+f[1])*b[i]
	}
	k.weights2, k.weights3 = w, m.Weights(params, 2)
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

// sort sorts the knots by insertion, since few have moved in the last step. Equal knots
// are in the order of their units, so that the table does not depend on the order before.
func (k *kinks) sort(a, b []float32) {
	for p, i := range k.order {
		knot := knotOf(a[i], b[i])
		for ; p > 0 && (k.knots[p-1] > knot || k.knots[p-1] == knot && k.order[p-1] > i); p-- {
			k.knots[p], k.order[p] = k.knots[p-1], k.order[p-1]
		}
		k.knots[p], k.order[p] = knot, i
	}
}

// knotOf returns the x at which a·x + b changes its sign, +Inf if there is none.
func knotOf(a, b float32) float32 {
	knot := -b / a
	if knot-knot != 0 {
		return float32(math.Inf(1))
	}
	return knot
}

// forwardKinks computes the segment of each of rows lo … hi−1, which is stored in place of
// layer 1, and from it layer 2 or, of a summed perceptron, the output. It returns the number of
// layers computed.
func (m *MLP) forwardKinks(a Activations, k *kinks, params []float32, lo, hi int) int {
	x, segment := a[0][lo:hi], a[1][lo:hi]
	asm.CountKnots(segment, x, k.knots)
	if m.summed {
		asm.PiecewiseSum(a[3][lo:hi], x, segment, k.table, m.Weights(params, 2), m.Biases(params, 2)[0], m.slope)
		return 3
	}
	m.layer2FromKinks(a, k, lo, hi)
	return 2
}

// layer2FromKinks computes layer 2 of rows whose segments are known.
func (m *MLP) layer2FromKinks(a Activations, k *kinks, lo, hi int) {
	out := m.sizes[2]
	asm.PiecewiseForward(a[2][lo*out:hi*out], a[0][lo:hi], a[1][lo:hi], k.table, out, m.slope)
}

// backwardKinks is the last part of Backward. dy is the gradient with respect to layer 2
// before its LeakyReLU or, of a summed perceptron, to the output. din is not nil, and sums are
// zero before and after.
func (m *MLP) backwardKinks(grad, din, dy, sums []float32, a Activations, k *kinks, lo, hi int) {
	sums = sums[:len(k.table)]
	x, segment, out := a[0][lo:hi], a[1][lo:hi], m.sizes[2]
	if m.summed {
		asm.PiecewiseSumBackward(sums, din, m.Weights(grad, 2), x, segment, dy, k.table, k.weights3, m.slope)
		m.Biases(grad, 2)[0] += total(dy)
	} else {
		asm.PiecewiseBackward(sums, din, x, segment, dy, k.table, out)
	}
	asm.PiecewiseGradient(m.Weights(grad, 0), m.Biases(grad, 0), m.Weights(grad, 1), m.Biases(grad, 1),
		sums, k.weights2, k.order, k.factors, out)
}

// total returns the sum of x.
func total(x []float32) float32 {
	var sums [4]float32 // four sums do not wait for each other's additions
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
