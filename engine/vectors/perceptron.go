package vectors

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/nn"
)

// A chain takes Gaussian noise z = h_0 through perceptrons f_b. A residual generator has
// h_{b+1} = h_b + f_b(h_b). With modes there is one perceptron, h_1 = f_0(z). The first d coordinates of
// the last h are x. With modes a logit for each mode follows, and softmax of the logits draws k. The
// density is not known.
type chain struct {
	nets     networks
	residual bool // whether each f_b is added to its input
}

func newResidual(c GeneratorConfig, dim int) *chain {
	latent := max(c.Latent, dim)
	g := &chain{nets: networks{dim: dim, latent: latent}, residual: true}
	for b := range c.Depth {
		g.nets.add(fmt.Sprintf("block %d: ", b+1), nn.NewMLP(float32(c.Slope), slices.Concat([]int{latent}, c.Hidden, []int{latent})...))
	}
	return g
}

func newPerceptron(c GeneratorConfig, dim, modes int) *chain {
	g := &chain{nets: networks{dim: dim, modes: modes, latent: c.Latent}}
	g.nets.add("", nn.NewMLP(float32(c.Slope), slices.Concat([]int{c.Latent}, c.Hidden, []int{dim + modes})...))
	return g
}

func (g *chain) networks() *networks { return &g.nets }

// A chainPass holds the rows of the last forward.
type chainPass struct {
	*networks
	rows          int
	h             [][]float32 // h_b, [rows][width]
	added         []float32   // f_b(h_b), nil unless the chain is residual
	probabilities []float32   // softmax of the logits, [rows][M]
	recorder      recorder
	layers        []nn.Activations
}

func (g *chain) newPass(rows int, backward bool) pass {
	n := &g.nets
	p := &chainPass{networks: n, recorder: recorder{rows: rows, backward: backward}, probabilities: make([]float32, rows*n.modes)}
	if g.residual {
		p.added = make([]float32, rows*n.latent)
	}
	p.h = append(p.h, make([]float32, rows*n.latent))
	for b, net := range n.nets {
		next := make([]float32, rows*net.Out())
		p.h = append(p.h, next)
		if g.residual {
			next = p.added
		}
		p.layers = append(p.layers, p.recorder.activations(net, p.h[b], next))
	}
	return p
}

// width returns the width of the last h.
func (p *chainPass) width() int { return p.nets[len(p.nets)-1].Out() }

func (p *chainPass) forward(s States, z, u []float32, w *weights) {
	p.rows = s.Len()
	copy(p.h[0], z)
	for b, net := range p.nets {
		net.Forward(p.layers[b], w.packed[b], p.slice(w.params, b), 0, p.rows)
		if p.added != nil {
			next := p.h[b+1][:len(z)]
			copy(next, p.h[b])
			asm.Accumulate(next, p.added[:len(z)])
		}
	}
	last, width := p.h[len(p.nets)], p.width()
	for r := range p.rows {
		copy(s.X[r*p.dim:(r+1)*p.dim], last[r*width:])
	}
	if p.modes > 0 {
		p.choose(s.K, last, u)
	}
}

// choose draws modes k by the logits in the last h and the uniform numbers u, [rows][4].
func (p *chainPass) choose(k []uint8, last, u []float32) {
	width, prob := p.width(), p.probabilities[:p.rows*p.modes]
	for r := range p.rows {
		logits := last[r*width+p.dim:][:p.modes]
		largest := slices.Max(logits)
		row := prob[r*p.modes:][:p.modes]
		for c, v := range logits {
			row[c] = v - largest
		}
	}
	asm.Exp(prob, prob)
	for r := range p.rows {
		k[r] = uint8(chooseIndex(prob[r*p.modes:][:p.modes], u[4*r]))
	}
}

// chooseIndex normalises weights to probabilities and returns the index that the
// uniform number u selects.
func chooseIndex(weights []float32, u float32) int {
	var sum float32
	for _, w := range weights {
		sum += w
	}
	choice, below := len(weights)-1, float32(0)
	for c, w := range weights {
		w /= sum
		weights[c] = w
		if below <= u && u < below+w {
			choice = c
		}
		below += w
	}
	return choice
}

// backward passes the witness F straight through the draw of a mode, as if the loss were a function of
// the probabilities p_c: ∂L/∂logit_c = p_c (F_c − Σ p F). In a residual chain ∂L/∂h_b is ∂L/∂h_{b+1}
// plus the gradient through f_b.
func (p *chainPass) backward(grad []float32, ds stateGradient, w *weights, s *scratch) {
	width := p.width()
	g := s.dv[0][:p.rows*width] // ∂L/∂h_{b+1}
	clear(g)
	for r := range p.rows {
		row := g[r*width:][:width]
		copy(row, ds.x[r*p.dim:][:p.dim])
		prob, f := p.probabilities[r*p.modes:][:p.modes], ds.k[r*p.modes:][:p.modes]
		var mean float32
		for c, p := range prob {
			mean += p * f[c]
		}
		for c, q := range prob {
			row[p.dim+c] = q * (f[c] - mean)
		}
	}
	for b := len(p.nets) - 1; b >= 0; b-- {
		var din []float32
		if b > 0 { // h_0 is noise
			din = s.dInput[:len(g)]
		}
		p.recorder.backprop(p.nets[b], p.slice(grad, b), din, g, p.slice(w.params, b), p.layers[b], w.packed[b], p.rows, s.net)
		if din != nil {
			asm.Accumulate(g, din)
		}
	}
}

// forward64 returns x and the modes' probabilities of the noise z in float64. It is the specification
// of forward.
func (g *chain) forward64(params, z []float64) (x, probabilities []float64) {
	h := z
	for b, net := range g.nets.nets {
		next := net.Forward64(params[g.nets.offsets[b]:], h)
		for i := range next {
			if g.residual {
				next[i] += h[i]
			}
		}
		h = next
	}
	x, logits := h[:g.nets.dim], h[g.nets.dim:][:g.nets.modes]
	var total float64
	for _, h := range logits {
		total += math.Exp(h)
	}
	for _, h := range logits {
		probabilities = append(probabilities, math.Exp(h)/total)
	}
	return x, probabilities
}
