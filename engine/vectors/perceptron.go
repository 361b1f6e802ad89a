package vectors

import (
	"fmt"
	"math"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/nn"
)

// A chain takes Gaussian noise z = h_0 through perceptrons f_b. A residual generator adds each to its
// input, h_{b+1} = h_b + f_b(h_b); with modes there is one alone, h_1 = f_0(z). The first d
// coordinates of the last h are x, and those after them, with modes, a logit for each, of which
// softmax draws k. The density is not known.
type chain struct {
	nets networks
	adds bool
}

func newResidual(c GeneratorConfig, dim int) *chain {
	latent := max(c.Latent, dim)
	g := &chain{networks{dim: dim, latent: latent}, true}
	for b := range c.Depth {
		g.nets.add(fmt.Sprintf("block %d: ", b+1), nn.NewMLP(float32(c.Slope), slices.Concat([]int{latent}, c.Hidden, []int{latent})...))
	}
	return g
}

func newPerceptron(c GeneratorConfig, dim, modes int) *chain {
	g := &chain{networks{dim: dim, modes: modes, latent: c.Latent}, false}
	g.nets.add("", nn.NewMLP(float32(c.Slope), slices.Concat([]int{c.Latent}, c.Hidden, []int{dim + modes})...))
	return g
}

func (g *chain) networks() *networks { return &g.nets }

// A chainPass holds the rows of the last forward.
type chainPass struct {
	*networks
	rows          int
	versions      [][]float32 // h_b, [rows][its width]
	added         []float32   // f_b(h_b), if they are added
	probabilities []float32   // [rows][M], softmax of the logits
	recorder      recorder
	layers        []nn.Activations
}

func (g *chain) newPass(rows int, backward bool) pass {
	n := &g.nets
	p := &chainPass{networks: n, recorder: recorder{rows: rows, backward: backward}, probabilities: make([]float32, rows*n.modes)}
	if g.adds {
		p.added = make([]float32, rows*n.latent)
	}
	p.versions = append(p.versions, make([]float32, rows*n.latent))
	for b, net := range n.nets {
		next := make([]float32, rows*net.Out())
		p.versions = append(p.versions, next)
		if g.adds {
			next = p.added
		}
		p.layers = append(p.layers, p.recorder.activations(net, p.versions[b], next))
	}
	return p
}

// width is that of the last h.
func (p *chainPass) width() int { return p.nets[len(p.nets)-1].Out() }

func (p *chainPass) forward(s States, z, u []float32, w *weights) {
	p.rows = s.Len()
	copy(p.versions[0], z)
	for b, net := range p.nets {
		net.Forward(p.layers[b], w.packed[b], p.of(w.params, b), 0, p.rows)
		if p.added != nil {
			next := p.versions[b+1][:len(z)]
			copy(next, p.versions[b])
			asm.Accumulate(next, p.added[:len(z)])
		}
	}
	last, width := p.versions[len(p.nets)], p.width()
	for r := range p.rows {
		copy(s.X[r*p.dim:(r+1)*p.dim], last[r*width:])
	}
	if p.modes > 0 {
		p.choose(s.K, last, u)
	}
}

// choose draws modes by the logits of the last h.
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
		k[r] = uint8(draw(prob[r*p.modes:][:p.modes], u[4*r]))
	}
}

// draw normalises weights to probabilities and returns the index that the
// uniform number u selects.
func draw(weights []float32, u float32) int {
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

// backward passes the witness F straight through the draw of a mode, as if the loss saw the
// probabilities p_c themselves: ∂L/∂logit_c = p_c (F_c − Σ p F). Where f_b is added, ∂L/∂h_b is
// ∂L/∂h_{b+1} plus what comes through f_b.
func (p *chainPass) backward(grad []float32, ds slopes, w *weights, s *scratch) {
	width := p.width()
	g := s.state[0][:p.rows*width]
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
			din = s.in[:len(g)]
		}
		p.recorder.backprop(p.nets[b], p.of(grad, b), din, g, p.of(w.params, b), p.layers[b], w.packed[b], p.rows, s.net)
		if din != nil {
			asm.Accumulate(g, din)
		}
	}
}

// forward64 returns x and the modes' probabilities of the noise z in float64: the specification of
// forward.
func (g *chain) forward64(params, z []float64) (x, probabilities []float64) {
	h := z
	for b, net := range g.nets.nets {
		next := net.Forward64(params[g.nets.offsets[b]:], h)
		for i := range next {
			if g.adds {
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
