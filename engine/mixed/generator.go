package mixed

import (
	"context"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/vectors"
)

// A generator is G_θ. There are two, each with a loss of its own: a perceptron, which
// learns from pairs of samples, and a density.
type generator interface {
	NumParams() int
	TensorName(i int) string
	// initialize sets params to what training begins with. The error is ctx's, or says
	// why the target cannot be learned.
	initialize(ctx context.Context, s *System, params []float32) error
	// learner makes room for the steps of a system.
	learner(s *System) (learner, error)
	// drawers makes drawers of samples with the given parameters.
	drawers(params []float32, seed uint64) func() vectors.Drawer
	// demands bounds the memory of a run.
	demands(c *Config) []engine.Demand
}

// newGenerator returns the generator of a configuration.
func newGenerator(c GeneratorConfig, dim, modes int) generator {
	if c.Kind == "mixture" {
		return newDensity(c, dim, modes)
	}
	return newPerceptron(c, dim, modes)
}

// A perceptron takes Gaussian noise z through a shared network whose last layer holds
// the d coordinates of x, then a logit for each mode, of which softmax draws k.
type perceptron struct {
	*nn.MLP
	config     GeneratorConfig
	dim, modes int // d, M
}

func newPerceptron(c GeneratorConfig, dim, modes int) *perceptron {
	sizes := append([]int{c.Latent}, c.Hidden...)
	return &perceptron{nn.NewMLP(float32(c.Slope), append(sizes, dim+modes)...), c, dim, modes}
}

func (g *perceptron) initialize(_ context.Context, s *System, params []float32) error {
	c := rng.Stream(s.config.Training.Seed, rng.Initialization, 0)
	g.Initialize(params, &c, 0)
	last := g.Weights(params, g.Layers()-1)
	for i := range last {
		last[i] *= float32(g.config.Gain)
	}
	return nil
}

// A batch holds the states of a number of rows and what led to them.
type batch struct {
	vectors.States
	activations   nn.Activations
	probabilities []float32 // [rows][M], softmax of the logits
}

func (g *perceptron) newBatch(rows int) *batch {
	return &batch{newStates(rows, g.dim), g.NewActivations(rows), make([]float32, rows*g.modes)}
}

func newStates(rows, dim int) vectors.States {
	return vectors.States{Dim: dim, X: make([]float32, rows*dim), K: make([]uint8, rows)}
}

// noise names the streams of a batch's random numbers.
type noise struct{ latent, head asm.Counter }

// forward computes rows lo … hi−1 of b, whose indices in the streams start at
// first. uniforms is scratch for 4·(hi−lo) numbers: a sample's mode is chosen by
// the first word of its block.
func (g *perceptron) forward(b *batch, p *nn.Packed, params []float32, lo, hi int, from *noise, first uint64, uniforms []float32) {
	latent := g.config.Latent
	rng.Normals(b.activations[0][lo*latent:hi*latent], latent, &from.latent, first)
	g.Forward(b.activations, p, params, lo, hi)

	u := uniforms[:4*(hi-lo)]
	asm.Uniforms(u, &from.head, first)
	prob := b.probabilities[lo*g.modes : hi*g.modes]
	out := b.activations.Output()[lo*g.Out() : hi*g.Out()]
	for r := range hi - lo {
		logits := out[r*g.Out()+g.dim:][:g.modes]
		largest := logits[0]
		for _, v := range logits[1:] {
			largest = max(largest, v)
		}
		row := prob[r*g.modes:][:g.modes]
		for c, v := range logits {
			row[c] = v - largest
		}
	}
	asm.Exp(prob, prob)
	for r := range hi - lo {
		b.K[lo+r] = uint8(draw(prob[r*g.modes:][:g.modes], u[4*r]))
		copy(b.X[(lo+r)*g.dim:][:g.dim], out[r*g.Out():])
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
