package mixed

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/mixture"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
)

// A generator is G_θ: Gaussian noise z through a shared perceptron whose last
// layer holds the heads, first the points, of d coordinates each, then the logits
// of the choice. A split head chooses among the modes of its one point; a branch
// head among its points, of which number r is in mode r mod M.
type generator struct {
	net         *nn.MLP
	config      GeneratorConfig
	dim, modes  int // d, M
	points      int
	coordinates int // points·d
	choices     int
	branched    bool

	base *mixture.Model // of a mixture, which has none of the above but dim and modes
}

func newGenerator(c GeneratorConfig, dim, modes int) *generator {
	g := &generator{config: c, dim: dim, modes: modes, points: 1, choices: modes, branched: c.Head == "branch"}
	if c.Kind == "mixture" {
		g.base = mixture.New(dim, modes, c.Components, c.Bent)
		return g
	}
	if g.branched {
		g.choices = modes * c.Branches
		g.points = g.choices
	}
	g.coordinates = g.points * dim
	sizes := append([]int{c.Latent}, c.Hidden...)
	g.net = nn.NewMLP(float32(c.Slope), append(sizes, g.coordinates+g.choices)...)
	return g
}

// numParams returns the number of parameters.
func (g *generator) numParams() int {
	if g.base != nil {
		return g.base.NumParams()
	}
	return g.net.NumParams()
}

func (g *generator) initialize(params []float32, seed uint64) {
	c := rng.Stream(seed, rng.Initialization, 0)
	g.net.Initialize(params, &c, 0)
	w, out := g.net.Weights(params, g.net.Layers()-1), g.net.Out()
	raised := out
	if g.branched {
		raised = g.coordinates
	}
	for first := 0; first < len(w); first += out {
		for i := range raised {
			w[first+i] *= float32(g.config.Gain)
		}
	}
}

// A batch holds the states of a number of rows and what led to them.
type batch struct {
	activations   nn.Activations
	x             []float32 // [rows][d]
	k             []uint8
	choice        []uint16  // what softmax drew
	probabilities []float32 // [rows][choices], softmax of the logits
}

func (g *generator) newBatch(rows int) *batch {
	b := &batch{x: make([]float32, rows*g.dim), k: make([]uint8, rows)}
	if g.base == nil {
		b.activations, b.choice, b.probabilities = g.net.NewActivations(rows), make([]uint16, rows), make([]float32, rows*g.choices)
	}
	return b
}

// noise names the streams of a batch's random numbers.
type noise struct{ latent, head asm.Counter }

// forward computes rows lo … hi−1 of b, whose indices in the streams start at
// first. uniforms is scratch for 4·(hi−lo) numbers: a sample's choice is made by
// the first word of its block.
func (g *generator) forward(b *batch, p *nn.Packed, params []float32, lo, hi int, from *noise, first uint64, uniforms []float32) {
	latent := g.config.Latent
	rng.Normals(b.activations[0][lo*latent:hi*latent], latent, &from.latent, first)
	g.net.Forward(b.activations, p, params, lo, hi)

	u := uniforms[:4*(hi-lo)]
	asm.Uniforms(u, &from.head, first)
	prob := b.probabilities[lo*g.choices : hi*g.choices]
	out := b.activations.Output()[lo*g.net.Out() : hi*g.net.Out()]
	for r := range hi - lo {
		logits := out[r*g.net.Out()+g.coordinates:][:g.choices]
		largest := logits[0]
		for _, v := range logits[1:] {
			largest = max(largest, v)
		}
		row := prob[r*g.choices:][:g.choices]
		for c, v := range logits {
			row[c] = v - largest
		}
	}
	asm.Exp(prob, prob)
	for r := range hi - lo {
		row := prob[r*g.choices:][:g.choices]
		choice := draw(row, u[4*r])
		b.choice[lo+r] = uint16(choice)
		b.k[lo+r] = uint8(choice % g.modes)
		copy(b.x[(lo+r)*g.dim:][:g.dim], out[r*g.net.Out()+g.point(choice)*g.dim:])
	}
}

// point returns which of the points belongs to a choice.
func (g *generator) point(choice int) int {
	if g.branched {
		return choice
	}
	return 0
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
