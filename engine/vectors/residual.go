package vectors

import (
	"fmt"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/nn"
)

// A residual generator is a sequence of perceptrons that are each added to
// their input, h_{b+1} = h_b + f_b(h_b). The noise z is h_0, and a state is the
// first coordinates of the last h. Its density is not known.
type residual struct {
	nets networks
}

func newResidual(c GeneratorConfig, dim int) *residual {
	latent := max(c.Latent, dim)
	g := &residual{networks{dim: dim, latent: latent}}
	sizes := append([]int{latent}, c.Hidden...)
	sizes = append(sizes, latent)
	for b := range c.Depth {
		g.nets.add(fmt.Sprintf("block %d: ", b+1), nn.NewMLP(float32(c.Slope), sizes...))
	}
	return g
}

func (g *residual) networks() *networks { return &g.nets }

// A residualPass holds the rows of the last forward.
type residualPass struct {
	generator *residual
	rows      int
	versions  [][]float32 // h_b, [rows][latent]
	added     []float32   // f_b(h_b)
	recorder  recorder
	layers    []nn.Activations
}

func (g *residual) newPass(rows int, backward bool) pass {
	n := &g.nets
	p := &residualPass{generator: g, recorder: recorder{rows: rows, backward: backward}, added: make([]float32, rows*n.latent)}
	for range len(n.nets) + 1 {
		p.versions = append(p.versions, make([]float32, rows*n.latent))
	}
	for b, net := range n.nets {
		p.layers = append(p.layers, p.recorder.activations(net, p.versions[b], p.added))
	}
	return p
}

func (p *residualPass) forward(s States, z, _ []float32, w *weights) {
	n := &p.generator.nets
	p.rows = len(z) / n.latent
	copy(p.versions[0], z)
	for b, net := range n.nets {
		net.Forward(p.layers[b], w.packed[b], n.of(w.params, b), 0, p.rows)
		next := p.versions[b+1][:len(z)]
		copy(next, p.versions[b])
		asm.Accumulate(next, p.added[:len(z)])
	}
	last := p.versions[len(n.nets)]
	for r := range p.rows {
		copy(s.X[r*n.dim:(r+1)*n.dim], last[r*n.latent:])
	}
}

// backward uses that ∂L/∂h_b is ∂L/∂h_{b+1} plus what comes through f_b.
func (p *residualPass) backward(grad []float32, ds slopes, w *weights, s *scratch) {
	n := &p.generator.nets
	g := s.state[0][:p.rows*n.latent]
	clear(g)
	for r := range p.rows {
		copy(g[r*n.latent:], ds.x[r*n.dim:(r+1)*n.dim])
	}
	for b := len(n.nets) - 1; b >= 0; b-- {
		var din []float32
		if b > 0 { // h_0 is noise
			din = s.in[:len(g)]
		}
		p.recorder.backprop(n.nets[b], n.of(grad, b), din, g, n.of(w.params, b), p.layers[b], w.packed[b], p.rows, s.net)
		if din != nil {
			asm.Accumulate(g, din)
		}
	}
}

// forward64 returns the state of the noise z in float64: the specification of
// forward.
func (g *residual) forward64(params, z []float64) (x, _ []float64) {
	h := append([]float64(nil), z...)
	for b, net := range g.nets.nets {
		for i, v := range net.Forward64(params[g.nets.offsets[b]:], h) {
			h[i] += v
		}
	}
	return h[:g.nets.dim], nil
}
