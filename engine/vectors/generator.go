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

// A generator is G_θ: noise z ~ N(0, I) of latent coordinates, and with modes a uniform
// number, to states. It is immutable; a pass holds what one evaluation needs.
type generator interface {
	networks() *networks
	// newPass makes room for up to the given number of rows, and for their
	// backward pass if backward is set.
	newPass(rows int, backward bool) pass
}

// A pass takes rows of a batch through a generator and back. Its buffers stay
// in a core's caches, but for what the backward pass reads again.
type pass interface {
	// forward sets states to those of the noise z, [rows][latent], and of uniform numbers
	// u, four a row of which it takes the first, nil without modes.
	forward(s States, z, u []float32, w *weights)
}

// A pathPass takes the gradient with respect to its states back.
type pathPass interface {
	pass
	// backward adds to grad the gradient with respect to the parameters, given that by the states of
	// the last forward.
	backward(grad []float32, ds slopes, w *weights, s *scratch)
}

// slopes are ∂L/∂s of a batch: by x, [n][d], and with modes what each in place of k adds
// to L, [n][M], up to a constant of each state.
type slopes struct {
	dim, modes int
	x, k       []float32
}

func newSlopes(n, dim, modes int) slopes {
	return slopes{dim, modes, make([]float32, n*dim), make([]float32, n*modes)}
}

// part returns those of the states lo … hi−1.
func (s slopes) part(lo, hi int) slopes {
	s.x, s.k = s.x[lo*s.dim:hi*s.dim], s.k[lo*s.modes:hi*s.modes]
	return s
}

// noise names the streams of a batch's random numbers.
type noise struct{ latent, head rng.Counter }

// uniforms returns how many uniform numbers some rows have.
func (n *networks) uniforms(rows int) int {
	if n.modes == 0 {
		return 0
	}
	return 4 * rows
}

// draw sets states to those of the streams from first on. z and u are room for their noise.
func (n *networks) draw(p pass, s States, from *noise, first uint64, z, u []float32, w *weights) {
	rng.Normals(z, n.latent, &from.latent, first)
	if n.modes > 0 {
		asm.Uniforms(u, &from.head, first)
	}
	p.forward(s, z, u, w)
}

// networks are the perceptrons that a generator consists of. Their parameters
// stand one after the other in the flat vector θ.
type networks struct {
	dim, modes, latent int
	nets               []*nn.MLP
	names              []string
	offsets            []int
	params             int

	base                  *mixture.Model // of a mixtureFlow
	placeStart, baseStart int            // first parameters of its place and of its base
}

// newLanes splits a batch of rows rows.
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

// of returns the part of params, θ or a gradient, that belongs to a perceptron.
func (n *networks) of(params []float32, net int) []float32 {
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

// initialize draws PyTorch's default for linear layers and multiplies last
// layers by gain, with modes their weights alone.
func (n *networks) initialize(params []float32, seed uint64, gain float64) {
	c := rng.Stream(seed, rng.Initialization, 0)
	var block uint64
	for i, net := range n.nets {
		own := n.of(params, i)
		block = net.Initialize(own, &c, block)
		last := net.Layers() - 1
		tensors := [][]float32{net.Weights(own, last), net.Biases(own, last)}
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

// weights are a generator's parameters in the order in which products consume
// them.
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

// packs returns how many nets pack can refresh, independently of each other.
func (n *networks) packs() int {
	if n.base != nil {
		return len(n.nets) + 1
	}
	return len(n.nets)
}

// pack refreshes the weights of one perceptron from w.params, or after the last one those of the base.
func (n *networks) pack(w *weights, net int) {
	if net == len(n.nets) {
		_, scale, base := n.place(w.params)
		w.base.Set(base)
		w.logScale = 0
		for _, v := range scale {
			w.logScale += math.Log(math.Abs(float64(v)))
		}
		return
	}
	n.nets[net].Pack(w.packed[net], n.of(w.params, net))
}

// A scratch holds the gradients between layers and between perceptrons of up to
// a number of rows. What the first perceptron of a generator sees and changes is as
// much as any other's.
type scratch struct {
	net   *nn.Scratch
	state [2][]float32 // ∂L by the parts of the state
	out   []float32    // ∂L by a perceptron's output
	shift []float32    // ∂L by a translation, of a score
	in    []float32    // ∂L by a perceptron's input

	lean, tail []float32 // ∂L by a bend
}

func (n *networks) newScratch(rows int) *scratch {
	if len(n.nets) == 0 {
		return &scratch{}
	}
	width := rows * max(n.nets[0].In(), n.nets[0].Out())
	s := &scratch{net: nn.NewScratch(rows, n.nets...), out: make([]float32, width), shift: make([]float32, width), in: make([]float32, width),
		lean: make([]float32, width), tail: make([]float32, width)}
	for part := range s.state {
		s.state[part] = make([]float32, width)
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

// A recorder lays out the activations of a pass's perceptrons. Layers that the
// backward pass computes again for next to nothing share buffers, so that less
// of a block leaves the core's caches.
type recorder struct {
	rows     int
	backward bool
	shared   [2][]float32
}

// activations returns room for the layers of net, whose input and output have
// their places already.
func (r *recorder) activations(net *nn.MLP, in, out []float32) nn.Activations {
	a := nn.Activations{in}
	for l := range net.Layers() - 1 {
		switch n := r.rows * net.Width(l+1); {
		case !r.backward, net.Kept(l+1) == 0:
			if shared := &r.shared[l%2]; len(*shared) < n {
				*shared = make([]float32, n)
			}
			a = append(a, r.shared[l%2])
		default:
			a = append(a, make([]float32, r.rows*net.Kept(l+1)))
		}
	}
	return append(a, out)
}

// backprop is net.Backward of the first rows of a, after what was not kept of
// them.
func (r *recorder) backprop(net *nn.MLP, grad, din, dout, params []float32, a nn.Activations, p *nn.Packed, rows int, s *nn.Scratch) {
	net.Recall(a, p, params, 0, rows)
	net.Backward(grad, din, dout, a, p, 0, rows, s)
}
