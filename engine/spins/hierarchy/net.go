package hierarchy

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/pool"
)

// A Net is a perceptron of bits x = ±1 that some sites share: its value at a site is
//
//	shift + Σ_g Σ_h v_h f(b_h + Σ_j W_hj x_{g(j)}),
//
// a sum over the symmetries g that map the site's inputs on each other, f(u) = u/√(1+u²).
// A Net has no parameters, but says where they stand in θ: W [H][m], v [H], and if they are
// wanted b [H] and shift [1].
type Net struct {
	m       int     // inputs of a site
	padded  int     // m, rounded up to a multiple of 4; inputs beyond m have no weight
	images  [][]int // [symmetry][m] g(j)
	hidden  int     // H; 0 if nothing is to be learned
	lanes   int     // hidden units with their images, rounded up to whole vectors
	biased  bool    // whether there are b
	shifted bool    // whether there is a shift

	weights, output, biases, shift, end int // offsets in θ
}

// NewNet returns a net of m inputs whose parameters begin at first. images may be nil for the
// identity alone.
func NewNet(m int, images [][]int, hidden int, biased, shifted bool, first int) (*Net, error) {
	u := &Net{m: m, padded: (m + 3) &^ 3, images: images, hidden: hidden, biased: biased, shifted: shifted}
	if m == 0 {
		u.hidden = 0
	}
	if m > asm.BitInputs {
		return u, fmt.Errorf("neighbours: %d inputs are more than %d", m, asm.BitInputs)
	}
	if images == nil {
		u.images = [][]int{lists.Range(0, m)}
	}
	u.lanes = (u.hidden*len(u.images) + asm.BitLanes - 1) / asm.BitLanes * asm.BitLanes
	if u.lanes > asm.BitHidden {
		return u, fmt.Errorf("hidden: %d hidden units in %d images are more than %d", hidden, len(u.images), asm.BitHidden)
	}
	u.weights = first
	u.output = first + u.hidden*u.m
	u.biases = u.output + u.hidden
	u.shift = u.biases
	if u.biased {
		u.shift += u.hidden
	}
	u.end = u.shift
	if u.shifted {
		u.end++
	}
	return u, nil
}

// Params returns the length of the net's parameters.
func (u *Net) Params() int { return u.end - u.weights }

// Tensor returns the name of the array that parameter i belongs to, "" if it belongs to another
// net.
func (u *Net) Tensor(i int) string {
	switch {
	case i < u.weights || i >= u.end:
		return ""
	case i < u.output:
		return "weights"
	case i < u.output+u.hidden:
		return "output"
	case i < u.shift:
		return "biases"
	}
	return "shift"
}

// Kernels are nets with their parameters, in the layout that package asm reads.
type Kernels struct {
	kernels     []Kernel
	workers     *pool.Pool
	params      []float32 // of the call under way
	writeKernel func(int)
}

// maxValuesBytes bounds the tables of all nets' values.
const maxValuesBytes = 1 << 24

// NewKernels makes room for nets.
func NewKernels(nets []*Net, workers *pool.Pool) *Kernels {
	k := &Kernels{workers: workers, kernels: make([]Kernel, len(nets))}
	for i, u := range nets {
		net := &k.kernels[i]
		net.net = u
		net.bits = asm.BitPerceptron{Tables: make([]float32, u.padded/4*16*u.lanes), Output: make([]float32, u.lanes)}
		net.lanes = make([]float32, (u.padded+1)*u.lanes)
	}
	k.writeKernel = func(i int) { k.kernels[i].write(k.params) }
	return k
}

// Tabulate makes room for tables of the values of nets, those with the fewest inputs first. They
// pay if many samples are drawn with the same parameters.
func (k *Kernels) Tabulate() {
	bytes := make([]int, asm.BitNumber+1) // of the tables, by inputs of the net
	for i := range k.kernels {
		if m := k.kernels[i].net.m; m < len(bytes) {
			bytes[m] += 4 << m
		}
	}
	for m, room := 0, maxValuesBytes; m < len(bytes) && bytes[m] <= room; m++ {
		room -= bytes[m]
		for i := range k.kernels {
			if net := &k.kernels[i]; net.net.m == m && net.net.hidden > 0 {
				net.values = make([]float32, max(block, 1<<m))
			}
		}
	}
}

// Set sets the parameters of all nets to their part of θ. Nothing else may use the kernels
// meanwhile.
func (k *Kernels) Set(params []float32) {
	k.params = params
	k.workers.Run(len(k.kernels), k.writeKernel)
}

// At returns the kernel of the i-th net.
func (k *Kernels) At(i int) *Kernel { return &k.kernels[i] }

// A Kernel is a net with its parameters. If Tabulate made room, it tabulates its values once
// it has computed as many as the table has. The table has the same bits.
type Kernel struct {
	net   *Net
	bits  asm.BitPerceptron
	lanes []float32 // [padded + 1][lanes] weights and biases of all images

	computed  atomic.Int64 // blocks of values since Set
	values    []float32    // by state of the inputs, at least a block; nil without room
	tabulated atomic.Bool  // whether values are those of the parameters
}

// Logits sets dst[i] to the net's values of the inputs in block i of the states. Without hidden
// units they are the shift.
func (k *Kernel) Logits(dst [][block]float32, states []uint64, inputs []int32) {
	if k.net.hidden == 0 {
		for i := range dst {
			for b := range dst[i] {
				dst[i][b] = k.bits.Bias
			}
		}
		return
	}
	if k.tabulated.Load() {
		asm.BitSelect(dst, k.values[:1<<k.net.m], states, inputs[:k.net.m])
		return
	}
	k.bits.Logits(dst, states, inputs)
	if k.values != nil {
		n, tableBlocks := int64(len(dst)), int64(len(k.values)/block)
		if computed := k.computed.Add(n); computed >= tableBlocks && computed-n < tableBlocks {
			k.tabulate() // in the one goroutine that crosses the threshold
		}
	}
}

func (k *Kernel) tabulate() {
	m := k.net.m
	var state [asm.BitNumber + 1]uint64 // a word for each input, and a zero for padding
	var inputs [asm.BitNumber]int32
	for j := range inputs {
		inputs[j] = int32(min(j, m))
	}
	copy(state[:m], []uint64{0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0, 0xff00ff00ff00ff00, 0xffff0000ffff0000, 0xffffffff00000000})
	var dst [1][block]float32
	for i := 0; i < len(k.values); i += block {
		for j := 6; j < m; j++ {
			state[j] = -(uint64(i) >> j & 1)
		}
		k.bits.Logits(dst[:], state[:m+1], inputs[:k.net.padded])
		copy(k.values[i:], dst[0][:])
	}
	k.tabulated.Store(true)
}

// Gradient adds Σ_b scale[b] residual[b] ∂ value_b to tables and output, the derivatives with
// respect to the tables and the output weights.
func (k *Kernel) Gradient(tables, output []float32, scale, residual *[block]float32, state []uint64, inputs []int32) {
	if k.net.hidden > 0 {
		k.bits.Gradient(tables, output, scale, residual, state, inputs)
	}
}

// write makes the tables of the parameters: the sums of every four inputs' weights, for all
// symmetries side by side.
func (k *Kernel) write(params []float32) {
	u := k.net
	k.computed.Store(0)
	k.tabulated.Store(false)
	if u.shifted {
		k.bits.Bias = params[u.shift]
	}
	if u.hidden == 0 {
		return
	}
	w, v := params[u.weights:][:u.hidden*u.m], params[u.output:][:u.hidden]
	bias := k.lanes[u.padded*u.lanes:]
	for g, image := range u.images {
		copy(k.bits.Output[g*u.hidden:], v)
		if u.biased {
			copy(bias[g*u.hidden:], params[u.biases:][:u.hidden])
		}
		for j, from := range image {
			row := k.lanes[j*u.lanes+g*u.hidden:][:u.hidden]
			for h := range row {
				row[h] = w[h*u.m+from]
			}
		}
	}
	asm.BitTables(k.bits.Tables, k.lanes[:u.padded*u.lanes], bias)
}

// Derivatives returns the length of the array in which derivatives with respect to the output
// weights, the inputs' weights and the tables of all images are computed.
func (u *Net) Derivatives() int { return (1 + u.padded + 4*u.padded) * u.lanes }

// Parts returns the parts of that array to which Kernel.Gradient adds.
func (u *Net) Parts(derivatives []float32) (tables, output []float32) {
	return derivatives[(1+u.padded)*u.lanes:], derivatives[:u.lanes]
}

// Fold sets grad, of length Params, to the derivatives with respect to θ.
func (u *Net) Fold(grad, derivatives []float32, shift float64) {
	clear(grad)
	if u.shifted {
		grad[u.shift-u.weights] = float32(shift)
	}
	if u.hidden == 0 {
		return
	}
	tables, output := u.Parts(derivatives)
	lanes := derivatives[u.lanes:][:u.padded*u.lanes]
	clear(lanes)
	asm.BitFold(lanes, tables, u.lanes)
	w, v := grad[:u.hidden*u.m], grad[u.output-u.weights:][:u.hidden]
	for g, image := range u.images {
		for h := range v {
			v[h] += output[g*u.hidden+h]
		}
		for j, to := range image {
			row := lanes[j*u.lanes+g*u.hidden:][:u.hidden]
			for h, d := range row {
				w[h*u.m+to] += d
			}
		}
		if u.biased {
			biases := grad[u.biases-u.weights:][:u.hidden]
			for row := range 16 { // the tables of the first four inputs, which include the biases
				for h, d := range tables[row*u.lanes+g*u.hidden:][:u.hidden] {
					biases[h] += d
				}
			}
		}
	}
}

// Value64 returns the net's value by its definition, in float64, for inputs x.
func (u *Net) Value64(params []float64, x func(j int) float64) (value float64) {
	if u.shifted {
		value = params[u.shift]
	}
	for _, image := range u.images {
		for h := range u.hidden {
			var sum float64
			if u.biased {
				sum = params[u.biases+h]
			}
			for j := range u.m {
				sum += params[u.weights+h*u.m+image[j]] * x(j)
			}
			value += params[u.output+h] * sum / math.Sqrt(1+sum*sum)
		}
	}
	return value
}
