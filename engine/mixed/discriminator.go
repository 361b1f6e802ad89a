package mixed

import (
	"math"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/internal/pool"
)

// discriminator is the learned one of package critic. A state is the vector
// (x, e_k) for it, with a unit vector for the mode. The choice that softmax draws
// counts by its mean over all choices with s′ fixed; of the points, only the one
// that was drawn gets a gradient.
type discriminator struct {
	generator *generator
	critic    *critic.Critic
	sampled   bool      // the choices that were drawn count, by their score
	from, to  []float32 // [n][d + M]
	grad      []float32 // ∂f/∂s, likewise
	values    []float32 // f of each choice less that of the one drawn, [n][choices], or of each sample

	b     *batch // of the call in progress
	alter func(state []float32, i, choice int)
}

func newDiscriminator(g *generator, n int, config critic.Config, sampled bool, seed uint64, workers *pool.Pool) (*discriminator, error) {
	judge, err := critic.New(n, g.dim+g.modes, config, seed, workers)
	if err != nil {
		return nil, err
	}
	size := n * (g.dim + g.modes)
	o := &discriminator{
		generator: g, critic: judge, sampled: sampled,
		from: make([]float32, size), to: make([]float32, size), grad: make([]float32, size),
		values: make([]float32, n*g.choices),
	}
	if sampled {
		o.values = o.values[:n]
	}
	o.alter = func(state []float32, i, choice int) {
		o.embed(state, o.b.activations.Output()[i*g.net.Out()+g.point(choice)*g.dim:][:g.dim], uint8(choice%g.modes))
	}
	return o, nil
}

// State lists what a checkpoint must hold of the discriminator.
func (o *discriminator) State() []engine.Section { return o.critic.State() }

// embed sets v to (x, e_k).
func (o *discriminator) embed(v, x []float32, k uint8) {
	clear(v)
	copy(v, x)
	v[len(x)+int(k)] = 1
}

func (o *discriminator) measure(b *batch, x []float32, k []uint8) float64 {
	d := o.generator.dim
	width := d + o.generator.modes
	lo, hi := o.critic.OwnRows()
	for i := lo; i < hi; i++ {
		o.embed(o.from[i*width:][:width], b.x[i*d:][:d], b.k[i])
		o.embed(o.to[i*width:][:width], x[i*d:][:d], k[i])
	}
	loss := o.critic.Evaluate(o.from, o.to)
	o.critic.Gradient(o.grad)
	if o.sampled {
		o.critic.Scores(o.values)
	} else {
		o.b = b
		o.critic.Changes(o.values, o.generator.choices, o.alter)
		o.b = nil
	}
	if !o.critic.Learn() {
		return math.NaN()
	}
	return loss
}

func (o *discriminator) outputGradient(dout []float32, b *batch, _, lo, hi int) {
	g, share := o.generator, 1/float32(len(b.k))
	for i := lo; i < hi; i++ {
		row := dout[(i-lo)*g.net.Out():][:g.net.Out()]
		clear(row[:g.coordinates])
		point := b.drawn(g, row, i)
		for j := range point {
			point[j] = share * o.grad[i*(g.dim+g.modes)+j]
		}
		prob, f, logits := b.probabilities[i*g.choices:][:g.choices], o.values[i*g.choices:], row[g.coordinates:]
		var mean float32
		for c, p := range prob {
			mean += p * f[c]
		}
		for c, p := range prob {
			logits[c] = share * p * (f[c] - mean)
		}
	}
}

func (o *discriminator) contributions(b *batch, gradX, values []float32) {
	share, d := 1/float32(len(b.k)), o.generator.dim
	for i, v := range o.values {
		for j := range d {
			gradX[i*d+j] = share * o.grad[i*(d+o.generator.modes)+j]
		}
		values[i] = share * v
	}
}
