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
// It says how many inputs and hidden units there are, and where in θ they stand: W [H][m],
// v [H], and if they are wanted b [H] and shift [1].
type Net struct {
	m       int     // inputs of a site
	padded  int     // m, rounded up to a multiple of 4: those beyond m are of no weight
	images  [][]int // [symmetry][m] g(j)
	hidden  int     // H; 0 if nothing is to be learned
	lanes   int     // hidden units with their images, rounded up to whole vectors
	biased  bool    // there are b
	shifted bool    // there is shift

	weights, output, biases, shift, end int
}

// NewNet returns a net of m inputs with images nil for the identity alone, whose parameters
// begin at first.
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

// Tensor returns the name of the array that parameter i belongs to, "" if it is none of the
// net's.
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

// Kernels are nets as kernels read them, with the parameters of the last Set.
type Kernels struct {
	all     []Kernel
	workers *pool.Pool
	params  []float32
	set     func(int)
}

// valuesBytes is how long the tables of a model's values may be.
const valuesBytes = 1 << 24

// NewKernels makes room for nets.
func NewKernels(nets []*Net, workers *pool.Pool) *Kernels {
	k := &Kernels{workers: workers, all: make([]Kernel, len(nets))}
	for i, u := range nets {
		net := &k.all[i]
		net.net = u
		net.bits = asm.BitPerceptron{Tables: make([]float32, u.padded/4*16*u.lanes), Output: make([]float32, u.lanes)}
		net.lanes = make([]float32, (u.padded+1)*u.lanes)
	}
	k.set = func(i int) { k.all[i].write(k.params) }
	return k
}

// Tabulate makes room for tables of values, for parameters that many samples are drawn with:
// of the nets of fewest inputs.
func (k *Kernels) Tabulate() {
	bytes := make([]int, asm.BitNumber+1) // of nets by their inputs
	for i := range k.all {
		if m := k.all[i].net.m; m < len(bytes) {
			bytes[m] += 4 << m
		}
	}
	for m, left := 0, valuesBytes; m < len(bytes) && bytes[m] <= left; m++ {
		left -= bytes[m]
		for i := range k.all {
			if net := &k.all[i]; net.net.m == m && net.net.hidden > 0 {
				net.values = make([]float32, max(block, 1<<m))
			}
		}
	}
}

// Set takes the parameters of all nets. Nothing else may use the kernels meanwhile.
func (k *Kernels) Set(params []float32) {
	k.params = params
	k.workers.Run(len(k.all), k.set)
}

// Of returns that of the i-th net.
func (k *Kernels) Of(i int) *Kernel { return &k.all[i] }

// A Kernel is one net's. Where Tabulate made room, it has a table of its values once it was
// asked for as many of them as that has. They are the same bits.
type Kernel struct {
	net   *Net
	bits  asm.BitPerceptron
	lanes []float32

	asked  atomic.Int64 // blocks of values since Set
	values []float32    // of all states of the inputs, a block's at least; nil without room for them
	ready  atomic.Bool  // they are there
}

// Logits sets dst[i] to the net's values of inputs in block i of the states, constants
// where there is nothing to learn.
func (net *Kernel) Logits(dst [][block]float32, states []uint64, inputs []int32) {
	if net.net.hidden == 0 {
		for i := range dst {
			for b := range dst[i] {
				dst[i][b] = net.bits.Bias
			}
		}
		return
	}
	if net.ready.Load() {
		asm.BitSelect(dst, net.values[:1<<net.net.m], states, inputs[:net.net.m])
		return
	}
	net.bits.Logits(dst, states, inputs)
	if net.values != nil {
		n, enough := int64(len(dst)), int64(len(net.values)/block)
		if all := net.asked.Add(n); all >= enough && all-n < enough {
			net.tabulate()
		}
	}
}

// tabulate sets values, by one of the goroutines that ask for some.
func (net *Kernel) tabulate() {
	m := net.net.m
	var state [asm.BitNumber + 1]uint64 // and a zero
	var inputs [asm.BitNumber]int32
	for j := range inputs {
		inputs[j] = int32(min(j, m))
	}
	copy(state[:m], []uint64{0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0, 0xff00ff00ff00ff00, 0xffff0000ffff0000, 0xffffffff00000000})
	var dst [1][block]float32
	for i := 0; i < len(net.values); i += block {
		for j := 6; j < m; j++ {
			state[j] = -(uint64(i) >> j & 1)
		}
		net.bits.Logits(dst[:], state[:m+1], inputs[:net.net.padded])
		copy(net.values[i:], dst[0][:])
	}
	net.ready.Store(true)
}

// Gradient adds Σ_b scale[b] residual[b] times the derivatives of the values to those with
// respect to tables and output weights.
func (net *Kernel) Gradient(tables, output []float32, scale, residual *[block]float32, state []uint64, inputs []int32) {
	if net.net.hidden > 0 {
		net.bits.Gradient(tables, output, scale, residual, state, inputs)
	}
}

// write writes the sums of every four inputs' weights, for all symmetries side by side.
func (net *Kernel) write(params []float32) {
	u := net.net
	net.asked.Store(0)
	net.ready.Store(false)
	if u.shifted {
		net.bits.Bias = params[u.shift]
	}
	if u.hidden == 0 {
		return
	}
	w, v := params[u.weights:][:u.hidden*u.m], params[u.output:][:u.hidden]
	bias := net.lanes[u.padded*u.lanes:]
	for g, image := range u.images {
		copy(net.bits.Output[g*u.hidden:], v)
		if u.biased {
			copy(bias[g*u.hidden:], params[u.biases:][:u.hidden])
		}
		for j, from := range image {
			row := net.lanes[j*u.lanes+g*u.hidden:][:u.hidden]
			for h := range row {
				row[h] = w[h*u.m+from]
			}
		}
	}
	asm.BitTables(net.bits.Tables, net.lanes[:u.padded*u.lanes], bias)
}

// Derivatives is the length of what Gradient needs: the derivatives with respect to
// the output weights, the inputs' weights and the tables of all images.
func (u *Net) Derivatives() int { return (1 + u.padded + 4*u.padded) * u.lanes }

// Parts returns the derivatives with respect to tables and output weights, where
// asm.BitPerceptron's Gradient adds up.
func (u *Net) Parts(derivatives []float32) (tables, output []float32) {
	return derivatives[(1+u.padded)*u.lanes:], derivatives[:u.lanes]
}

// Fold sets grad, of Params, to the derivatives with respect to θ.
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
			for row := range 16 { // of the first group
				for h, d := range tables[row*u.lanes+g*u.hidden:][:u.hidden] {
					biases[h] += d
				}
			}
		}
	}
}

// Value64 is the net by its definition, in float64, of inputs x.
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
