// Package nn holds the generators' building blocks: multilayer perceptrons on
// flat parameter vectors with handwritten backward passes.
//
// Parameters and their gradient are single float32 slices carved by offset
// tables. A batch is processed in blocks of rows that stay in a core's L2 cache
// through all layers; gradients are accumulated in a fixed number of lanes and
// reduced in a fixed order, so the bits do not depend on the number of threads.
package nn

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// An MLP is a multilayer perceptron with LeakyReLU between its layers and a
// linear last layer,
//
//	x_0 → x_l = leaky(x_{l−1} W_l + b_l) → … → x_{L−1} W_L + b_L.
//
// Layer l's weights [in][out], row-major, and biases [out] stand one after the
// other in the flat parameter vector, first layer first.
type MLP struct {
	sizes   []int
	slope   float32
	offsets []int // of each layer's weights in the parameter vector
	params  int
	kinked  bool // one input: the first two layers are computed from their kinks
	summed  bool // kinked, with a third and last layer of one output
}

// NewMLP returns a perceptron whose layers have the given widths, the input's
// first, and whose LeakyReLU multiplies negative values by slope > 0.
func NewMLP(slope float32, sizes ...int) *MLP {
	if len(sizes) < 2 || !(slope > 0) {
		panic("nn: a perceptron needs an input, an output and a positive slope")
	}
	m := &MLP{sizes: append([]int(nil), sizes...), slope: slope}
	m.kinked = m.In() == 1 && m.Layers() > 2
	m.summed = m.kinked && m.Layers() == 3 && m.Out() == 1
	for l := range m.Layers() {
		m.offsets = append(m.offsets, m.params)
		m.params += (sizes[l] + 1) * sizes[l+1]
	}
	return m
}

// Layers returns the number of layers of weights.
func (m *MLP) Layers() int { return len(m.sizes) - 1 }

// NumParams returns the length of the flat parameter vector.
func (m *MLP) NumParams() int { return m.params }

// In returns the width of the input.
func (m *MLP) In() int { return m.sizes[0] }

// Out returns the width of the output.
func (m *MLP) Out() int { return m.sizes[len(m.sizes)-1] }

// Width returns the width of layer l's values; layer 0 is the input.
func (m *MLP) Width(l int) int { return m.sizes[l] }

// Widths returns the sum of all layers' widths, the input's included, and the largest.
func (m *MLP) Widths() (sum, widest int) {
	for _, n := range m.sizes {
		sum, widest = sum+n, max(widest, n)
	}
	return sum, widest
}

// Weights returns layer l's weights, [in][out] row-major, within params.
func (m *MLP) Weights(params []float32, l int) []float32 {
	n := m.sizes[l] * m.sizes[l+1]
	return params[m.offsets[l]:][:n:n]
}

// Biases returns layer l's biases within params.
func (m *MLP) Biases(params []float32, l int) []float32 {
	n := m.sizes[l+1]
	return params[m.offsets[l]+m.sizes[l]*n:][:n:n]
}

// TensorName names the tensor that holds parameter i, for error messages.
func (m *MLP) TensorName(i int) string {
	l := m.Layers() - 1
	for i < m.offsets[l] {
		l--
	}
	if i-m.offsets[l] < m.sizes[l]*m.sizes[l+1] {
		return fmt.Sprintf("layer %d weights", l+1)
	}
	return fmt.Sprintf("layer %d biases", l+1)
}

// Initialize fills params with PyTorch's default for linear layers, weights
// and biases uniform on ±1/√in. It draws from the stream c starting at the
// given block and returns the first block that it did not use.
func (m *MLP) Initialize(params []float32, c *rng.Counter, block uint64) uint64 {
	draws := make([]float32, (min(m.params, 1<<10)+3)&^3) // whole blocks of random numbers
	for l := range m.Layers() {
		bound := float32(1 / math.Sqrt(float64(m.sizes[l])))
		tensor := params[m.offsets[l]:][:(m.sizes[l]+1)*m.sizes[l+1]]
		for ; len(tensor) > 0; tensor = tensor[min(len(tensor), len(draws)):] {
			part := tensor[:min(len(tensor), len(draws))]
			blocks := rng.Blocks(len(part))
			asm.Uniforms(draws[:4*blocks], c, block)
			block += uint64(blocks)
			for i := range part {
				part[i] = bound * (2*draws[i] - 1)
			}
		}
	}
	return block
}

// Packed holds a perceptron's weights in the order in which the products
// consume them. It is refreshed from the parameters once per step.
type Packed struct {
	forward, backward [][]float32 // of each layer; nil for layers that kinks replace
	kinks             *kinks      // nil unless the perceptron is kinked

	params   []float32 // of the call of PackOn in progress
	packPart func(part int)
}

// NewPacked allocates the weights of the forward products and, if backward is set, those of
// the backward products.
func (m *MLP) NewPacked(backward bool) *Packed {
	p := &Packed{forward: make([][]float32, m.Layers()), backward: make([][]float32, m.Layers())}
	first := 0
	if m.kinked {
		p.kinks, first = m.newKinks(), 2
	}
	for l := first; l < m.Layers(); l++ {
		in, out := m.sizes[l], m.sizes[l+1]
		p.forward[l] = make([]float32, asm.PackedLen(in, out))
		if backward {
			p.backward[l] = make([]float32, asm.PackedLen(out, in))
		}
	}
	p.packPart = func(part int) { m.packPart(p, p.params, part) }
	return p
}

// Pack refreshes p from the parameters.
func (m *MLP) Pack(p *Packed, params []float32) {
	for part := range 2 * m.Layers() {
		m.packPart(p, params, part)
	}
}

// PackOn is Pack by all of the workers.
func (m *MLP) PackOn(workers *pool.Pool, p *Packed, params []float32) {
	p.params = params
	workers.Run(2*m.Layers(), p.packPart)
}

// packPart refreshes one part of p: a layer's weights for the forward or for
// the backward products. Parts are independent of each other.
func (m *MLP) packPart(p *Packed, params []float32, part int) {
	l, backward := part/2, part%2 == 1
	if m.kinked && l < 2 {
		if part == 0 { // both layers
			p.kinks.refresh(m, params)
		}
		return
	}
	in, out := m.sizes[l], m.sizes[l+1]
	w := m.Weights(params, l)
	switch {
	case !backward:
		asm.PackWeights(p.forward[l], w, in, out)
	case p.backward[l] != nil:
		asm.PackWeightsTransposed(p.backward[l], w, in, out)
	}
}

// Activations holds the values of every layer for a number of rows, [rows][width]
// row-major: element 0 is the input and the last element the output. In a
// perceptron of one input and three or more layers, elements 1 and 2 are internal.
type Activations [][]float32

// NewActivations returns activations of the given number of rows.
func (m *MLP) NewActivations(rows int) Activations {
	a := make(Activations, len(m.sizes))
	for l, width := range m.sizes {
		a[l] = make([]float32, rows*width)
	}
	return a
}

// Output returns the last layer's values.
func (a Activations) Output() []float32 { return a[len(a)-1] }

// Forward computes the layers of rows lo … hi−1 from their input a[0].
func (m *MLP) Forward(a Activations, p *Packed, params []float32, lo, hi int) {
	first := 0
	if m.kinked {
		first = m.forwardKinks(a, p.kinks, params, lo, hi)
	}
	for l := first; l < m.Layers(); l++ {
		m.forwardLayer(a, p, params, l, lo, hi)
	}
}

// cheapInput is the largest width of an input at which the first layer costs next to nothing.
const cheapInput = 8

// Kept returns how many numbers of each row of layer l must be kept between Forward and
// Backward. Recall computes the values that need not be kept, of hidden layers that cost next
// to nothing.
func (m *MLP) Kept(l int) int {
	switch {
	case m.kinked && l == 1:
		return 1
	case m.kinked && l == 2:
		return 0
	case l == 1 && m.sizes[0] <= cheapInput && m.Layers() > 1:
		return 0
	}
	return m.sizes[l]
}

// Recall computes again the values of rows lo … hi−1 that need not be kept. It comes before
// Backward.
func (m *MLP) Recall(a Activations, p *Packed, params []float32, lo, hi int) {
	switch {
	case m.summed:
	case m.kinked:
		m.layer2FromKinks(a, p.kinks, lo, hi)
	case m.Kept(1) == 0:
		m.forwardLayer(a, p, params, 0, lo, hi)
	}
}

// forwardLayer computes a[l+1] of rows lo … hi−1 from a[l].
func (m *MLP) forwardLayer(a Activations, p *Packed, params []float32, l, lo, hi int) {
	in, out, slope := m.sizes[l], m.sizes[l+1], m.slope
	if l == m.Layers()-1 {
		slope = 1
	}
	asm.DenseForward(a[l+1][lo*out:hi*out], a[l][lo*in:hi*in], p.forward[l], m.Biases(params, l), hi-lo, in, out, slope)
}

// Scratch holds one block's gradients between two layers.
type Scratch struct {
	a, b []float32
	sums []float32 // of the segments between kinks
	din  []float32 // gradient with respect to the input, where the caller wants none
}

// NewScratch returns scratch for blocks of up to rows rows of any of the perceptrons, one
// perceptron at a time.
func NewScratch(rows int, nets ...*MLP) *Scratch {
	width, sums := 0, 0
	for _, m := range nets {
		for _, w := range m.sizes {
			width = max(width, w)
		}
		if m.kinked {
			sums = max(sums, 2*(m.sizes[1]+1)*m.sizes[2])
		}
	}
	s := &Scratch{a: make([]float32, rows*width), b: make([]float32, rows*width)}
	if sums > 0 {
		s.sums, s.din = make([]float32, sums), make([]float32, rows)
	}
	return s
}

// Backward adds to grad the parameters' gradient over rows lo … hi−1 of a batch whose
// activations are a. dout is the gradient with respect to the outputs of those rows,
// [hi−lo][Out]. If din is not nil it is set to the gradient with respect to their inputs,
// [hi−lo][In].
func (m *MLP) Backward(grad, din, dout []float32, a Activations, p *Packed, lo, hi int, s *Scratch) {
	rows := hi - lo
	dy, free := dout, s.a
	for l := m.Layers() - 1; l >= 0; l-- {
		in, out := m.sizes[l], m.sizes[l+1]
		if l == 1 && m.kinked || m.summed {
			if din == nil {
				din = s.din[:rows]
			}
			m.backwardKinks(grad, din, dy, s.sums, a, p.kinks, lo, hi)
			return
		}
		x := a[l][lo*in : hi*in]
		if l == 0 {
			asm.DenseBackwardWeights(m.Weights(grad, l), m.Biases(grad, l), x, dy, rows, in, out)
			if din != nil {
				asm.DenseBackwardInput(din, dy, p.backward[l], nil, rows, in, out, 1)
			}
			return
		}
		dx := free[:rows*in]
		// This product comes first because it fetches x ahead of its use.
		asm.DenseBackwardInput(dx, dy, p.backward[l], x, rows, in, out, m.slope)
		asm.DenseBackwardWeights(m.Weights(grad, l), m.Biases(grad, l), x, dy, rows, in, out)
		if &free[0] == &s.a[0] {
			dy, free = dx, s.b
		} else {
			dy, free = dx, s.a
		}
	}
}
