package vectors

import (
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/nn"
)

// A perceptron takes Gaussian noise z through a network whose last layer holds the d
// coordinates of x, then a logit for each mode, of which softmax draws k.
type perceptron struct{ nets networks }

func newPerceptron(c GeneratorConfig, dim, modes int) *perceptron {
	g := &perceptron{networks{dim: dim, modes: modes, latent: c.Latent}}
	sizes := append([]int{c.Latent}, c.Hidden...)
	g.nets.add("", nn.NewMLP(float32(c.Slope), append(sizes, dim+modes)...))
	return g
}

func (g *perceptron) networks() *networks { return &g.nets }

// A perceptronPass holds the rows of the last forward.
type perceptronPass struct {
	*networks
	rows          int
	in, out       []float32 // z; x and logits
	probabilities []float32 // [rows][M], softmax of the logits
	recorder      recorder
	layers        nn.Activations
}

func (g *perceptron) newPass(rows int, backward bool) pass {
	n := &g.nets
	p := &perceptronPass{
		networks: n, recorder: recorder{rows: rows, backward: backward},
		in: make([]float32, rows*n.latent), out: make([]float32, rows*(n.dim+n.modes)), probabilities: make([]float32, rows*n.modes),
	}
	p.layers = p.recorder.activations(n.nets[0], p.in, p.out)
	return p
}

func (p *perceptronPass) forward(s States, z, u []float32, w *weights) {
	p.rows = s.Len()
	copy(p.in, z)
	p.nets[0].Forward(p.layers, w.packed[0], w.params, 0, p.rows)
	width, prob := p.dim+p.modes, p.probabilities[:p.rows*p.modes]
	for r := range p.rows {
		logits := p.out[r*width+p.dim:][:p.modes]
		largest := logits[0]
		for _, v := range logits[1:] {
			largest = max(largest, v)
		}
		row := prob[r*p.modes:][:p.modes]
		for c, v := range logits {
			row[c] = v - largest
		}
	}
	asm.Exp(prob, prob)
	for r := range p.rows {
		s.K[r] = uint8(draw(prob[r*p.modes:][:p.modes], u[4*r]))
		copy(s.X[r*p.dim:][:p.dim], p.out[r*width:])
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
// probabilities p_c themselves: ∂L/∂h_c = p_c (F_c − Σ p F).
func (p *perceptronPass) backward(grad []float32, ds slopes, w *weights, s *scratch) {
	width := p.dim + p.modes
	dout := s.out[:p.rows*width]
	for r := range p.rows {
		row := dout[r*width:][:width]
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
	p.recorder.backprop(p.nets[0], grad, nil, dout, w.params, p.layers, w.packed[0], p.rows, s.net)
}

// forward64 returns x and the modes' probabilities in float64.
func (g *perceptron) forward64(params, z []float64) (x, probabilities []float64) {
	out := g.nets.nets[0].Forward64(params, z)
	x, logits := out[:g.nets.dim], out[g.nets.dim:]
	var total float64
	for _, h := range logits {
		total += math.Exp(h)
	}
	for _, h := range logits {
		probabilities = append(probabilities, math.Exp(h)/total)
	}
	return x, probabilities
}
