package vectors

import (
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
)

// A generator is G_θ. It takes noise z ~ N(0, I), [latent], to a state, with modes also a uniform
// number. It is immutable; a pass holds the buffers of one evaluation.
type generator interface {
	networks() *networks
	// newPass makes room for up to the given number of rows, and for their backward pass if
	// backward is true.
	newPass(rows int, backward bool) pass
}

// A pass takes rows of a batch through a generator. Its buffers stay in a core's caches, except for
// those that the backward pass reads again.
type pass interface {
	// forward sets s to the states of the noise z, [rows][latent]. With modes u, [rows][4], has
	// a uniform number first in each row; without it is nil.
	forward(s States, z, u []float32, w *weights)
}

// A pathPass also takes ∂L/∂s back to ∂L/∂θ.
type pathPass interface {
	pass
	// backward adds ∂L/∂θ to grad, given ∂L/∂s of the states of the last forward.
	backward(grad []float32, ds stateGradient, w *weights, s *scratch)
}

// A stateGradient is ∂L/∂s of a batch of n states.
type stateGradient struct {
	dim, modes int
	x          []float32 // ∂L/∂x, [n][dim]
	k          []float32 // L with each mode in place of a state's own, up to a constant of the state, [n][modes]
}

func newStateGradient(n, dim, modes int) stateGradient {
	return stateGradient{dim: dim, modes: modes, x: make([]float32, n*dim), k: make([]float32, n*modes)}
}

// part returns the gradient of the states lo … hi−1.
func (s stateGradient) part(lo, hi int) stateGradient {
	s.x, s.k = s.x[lo*s.dim:hi*s.dim], s.k[lo*s.modes:hi*s.modes]
	return s
}

// noise holds the streams of a batch's random numbers: normal z and uniform u.
type noise struct{ latent, head rng.Counter }

// uniforms returns the length of u for a number of rows.
func (n *networks) uniforms(rows int) int {
	if n.modes == 0 {
		return 0
	}
	return 4 * rows
}

// draw sets s to the samples first, first+1, … of the streams. z and u are buffers for their noise.
func (n *networks) draw(p pass, s States, streams *noise, first uint64, z, u []float32, w *weights) {
	rng.Normals(z, n.latent, &streams.latent, first)
	if n.modes > 0 {
		asm.Uniforms(u, &streams.head, first)
	}
	p.forward(s, z, u, w)
}

// networks are the perceptrons of a generator. Their parameters stand one after the other in θ.
type networks struct {
	dim, modes, latent int
	nets               []*nn.MLP
	names              []string // prefixes of their tensors' names
	offsets            []int    // of their parameters in θ
	params             int      // length of θ

	base                  *mixture.Model // of a mixtureFlow
	placeStart, baseStart int            // first parameters of its place and of its base
}

// newLanes splits a batch into lanes, wide ones where a perceptron has one input.
func (n *networks) newLanes(rows int, workers *pool.Pool) *nn.Lanes {
	if n.modes == 0 && slices.ContainsFunc(n.nets, func(net *nn.MLP) bool { return net.In() == 1 }) {
		return nn.NewWideLanes(rows, n.params, workers)
	}
	return nn.NewLanes(rows, n.params, workers)
}

func (n *networks) add(name string, net *nn.MLP) {
	n.nets = append(n.nets, net)
	n.names = append(n.names, name)
	n.offsets = append(n.offsets, n.params)
	n.params += net.NumParams()
}

// slice returns the part of params, θ or a gradient, that belongs to a perceptron.
func (n *networks) slice(params []float32, net int) []float32 {
	return params[n.offsets[net]:][:n.nets[net].NumParams()]
}

func (n *networks) tensorName(i int) string {
	switch {
	case n.base != nil && i >= n.baseStart:
		return n.base.TensorName(i - n.baseStart)
	case n.base != nil && i >= n.placeStart:
		return "place"
	}
	net := len(n.nets) - 1
	for i < n.offsets[net] {
		net--
	}
	return n.names[net] + n.nets[net].TensorName(i-n.offsets[net])
}

// initialize draws PyTorch's default for linear layers, and multiplies the weights of last layers by
// gain, and without modes their biases.
func (n *networks) initialize(params []float32, seed uint64, gain float64) {
	c := rng.Stream(seed, rng.Initialization, 0)
	var block uint64
	for i, net := range n.nets {
		netParams := n.slice(params, i)
		block = net.Initialize(netParams, &c, block)
		last := net.Layers() - 1
		tensors := [][]float32{net.Weights(netParams, last), net.Biases(netParams, last)}
		if n.modes > 0 {
			tensors = tensors[:1]
		}
		for _, tensor := range tensors {
			for j := range tensor {
				tensor[j] *= float32(gain)
			}
		}
	}
}

// weights are a generator's parameters, packed in the order in which matrix products read them.
type weights struct {
	params []float32
	packed []*nn.Packed

	base     *mixture.Packed // nil without a mixture
	logScale float64         // Σ_i ln s_i of its place
}

func (n *networks) newWeights(backward bool) *weights {
	w := &weights{}
	for _, net := range n.nets {
		w.packed = append(w.packed, net.NewPacked(backward))
	}
	if n.base != nil {
		w.base = n.base.NewPacked()
	}
	return w
}

// packs returns how many parts, perceptrons and the base, pack can refresh independently.
func (n *networks) packs() int {
	if n.base != nil {
		return len(n.nets) + 1
	}
	return len(n.nets)
}

// pack refreshes the weights of one perceptron from w.params, or after the last one those of the base.
func (n *networks) pack(w *weights, net int) {
	if net == len(n.nets) {
		_, scale, base := n.placeAndBase(w.params)
		w.base.Set(base)
		w.logScale = 0
		for _, v := range scale {
			w.logScale += math.Log(math.Abs(float64(v)))
		}
		return
	}
	n.nets[net].Pack(w.packed[net], n.slice(w.params, net))
}

// A scratch holds gradients between the layers and perceptrons of a backward pass.
type scratch struct {
	net    *nn.Scratch
	dv     [2][]float32 // with respect to both parts of the state, or the h of a chain
	dInput []float32    // with respect to a perceptron's input

	// With respect to the outputs of a coupling's perceptrons:
	dScale, dShift, dLean, dTail []float32
}

func (n *networks) newScratch(rows int) *scratch {
	if len(n.nets) == 0 {
		return &scratch{}
	}
	size := rows * max(n.nets[0].In(), n.nets[0].Out()) // as for any other of the nets
	s := &scratch{net: nn.NewScratch(rows, n.nets...)}
	for _, buffer := range []*[]float32{&s.dv[0], &s.dv[1], &s.dInput, &s.dScale, &s.dShift, &s.dLean, &s.dTail} {
		*buffer = make([]float32, size)
	}
	return s
}

func newGenerator(c GeneratorConfig, dim, modes int) generator {
	switch c.Kind {
	case "residual":
		return newResidual(c, dim)
	case "mixture":
		return newMixtureFlow(c, dim, modes)
	case "perceptron":
		return newPerceptron(c, dim, modes)
	}
	return newFlow(c, dim)
}

// A recorder lays out the activations of a pass's perceptrons. Layers that the backward pass can
// compute again at little cost share buffers, so that more of a block stays in the core's caches.
type recorder struct {
	rows     int
	backward bool
	shared   [2][]float32
}

// activations returns buffers for the layers of net between the given input and output.
func (r *recorder) activations(net *nn.MLP, in, out []float32) nn.Activations {
	a := nn.Activations{in}
	for l := range net.Layers() - 1 {
		if kept := net.Kept(l + 1); r.backward && kept > 0 {
			a = append(a, make([]float32, r.rows*kept))
			continue
		}
		shared := &r.shared[l%2]
		if n := r.rows * net.Width(l+1); len(*shared) < n {
			*shared = make([]float32, n)
		}
		a = append(a, *shared)
	}
	return append(a, out)
}

// backprop is net.Backward of the first rows, after activations that were not kept are recomputed.
func (r *recorder) backprop(net *nn.MLP, grad, din, dout, params []float32, a nn.Activations, p *nn.Packed, rows int, s *nn.Scratch) {
	net.Recall(a, p, params, 0, rows)
	net.Backward(grad, din, dout, a, p, 0, rows, s)
}
