package perceptron

import (
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
)

// streams are the random numbers of a batch: of its noise and of its spin layer.
type streams struct{ latent, head rng.Counter }

// headScratch holds what a bernoulli head computes for a block of rows.
type headScratch struct {
	uniforms []float32
	odds     []float32 // exp(−2h)
}

func (g *generator) newHeadScratch(rows int) *headScratch {
	uniforms := rows * 4 * rng.Blocks(g.spins)
	buffer := make([]float32, uniforms+rows*g.spins)
	return &headScratch{uniforms: buffer[:uniforms], odds: buffer[uniforms:]}
}

// A generator is G_θ: noise z, Gaussian but for some signs, through a perceptron
// to n logits h, and from logits to packed spins.
type generator struct {
	net    *nn.MLP
	config GeneratorConfig
	spins  int   // n
	words  int   // of a configuration
	states []int // number of states of each site, nil if spins are not states (see New)
}

func newGenerator(c GeneratorConfig, n int) *generator {
	sizes := append([]int{c.Latent}, c.Hidden...)
	return &generator{
		net:    nn.NewMLP(float32(c.Slope), append(sizes, n)...),
		config: c,
		spins:  n,
		words:  (n + 63) / 64,
	}
}

func (g *generator) initialize(params []float32, seed uint64) {
	c := rng.Stream(seed, rng.Initialization, 0)
	g.net.Initialize(params, &c, 0)
	if g.config.Gain != 1 {
		last := g.net.Layers() - 1
		for i, w := range g.net.Weights(params, last) {
			g.net.Weights(params, last)[i] = w * float32(g.config.Gain)
		}
		clear(g.net.Biases(params, last))
	}
}

// forward makes samples first, first+1, … of the streams: their activations in rows
// lo … hi−1 of a, and their packed spins in the same rows of spins.
func (g *generator) forward(a nn.Activations, spins []uint64, p *nn.Packed, params []float32, lo, hi int, from *streams, first uint64, scratch *headScratch) {
	d := g.config.Latent
	z := a[0][lo*d : hi*d]
	rng.Normals(z, d, &from.latent, first)
	for ; g.config.Signs.Number > 0 && len(z) > 0; z = z[d:] {
		for j, x := range z[:g.config.Signs.Number] {
			z[j] = float32(math.Copysign(g.config.Signs.Size, float64(x)))
		}
	}
	g.net.Forward(a, p, params, lo, hi)
	logits := a.Output()[lo*g.spins : hi*g.spins]
	out := spins[lo*g.words : hi*g.words]
	switch {
	case g.states != nil:
		g.raiseLargest(out, logits)
	case g.config.Head == "bernoulli":
		g.bernoulli(out, logits, &from.head, first, scratch)
	default:
		asm.SignMask(out, logits, hi-lo, g.spins)
	}
}

// raiseLargest sets the spin of each site's largest logit, or of the first of equal ones, and
// clears all others.
func (g *generator) raiseLargest(spins []uint64, logits []float32) {
	clear(spins)
	for row := spins; len(logits) > 0; row = row[g.words:] {
		at := 0
		for _, q := range g.states {
			largest := 0
			for c, h := range logits[:q] {
				if h > logits[largest] {
					largest = c
				}
			}
			row[(at+largest)>>6] |= 1 << ((at + largest) & 63)
			at, logits = at+q, logits[q:]
		}
	}
}

// bernoulli draws spin up with probability 1/(1+exp(−2h)).
func (g *generator) bernoulli(spins []uint64, logits []float32, head *rng.Counter, first uint64, scratch *headScratch) {
	stride := 4 * rng.Blocks(g.spins)
	rows := len(logits) / g.spins
	u, odds := scratch.uniforms[:rows*stride], scratch.odds[:len(logits)]
	asm.Uniforms(u, head, first*uint64(rng.Blocks(g.spins)))
	for i, h := range logits {
		odds[i] = -2 * h
	}
	asm.Exp(odds, odds)
	clear(spins)
	for r := range rows {
		row := u[r*stride:]
		for i, o := range odds[r*g.spins:][:g.spins] {
			if row[i]*(1+o) < 1 {
				spins[r*g.words+i>>6] |= 1 << (i & 63)
			}
		}
	}
}
