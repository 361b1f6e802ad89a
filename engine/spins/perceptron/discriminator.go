package perceptron

import (
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
)

var discriminatorLoss = lossKind{
	name:     "a learned discriminator",
	make:     func(c *Config, b *batch) loss { return newDiscriminator(c, b) },
	validate: func(*LossConfig) error { return nil },
	bytes: func(l *LossConfig, n, spins int) float64 {
		return l.Discriminator.Bytes(n, spins) + 4*3*float64(n*spins)
	},
}

// discriminator is the loss that a critic of pairs (s, s′), as vectors of ±1, learns.
type discriminator struct {
	*batch
	gradient string // LossConfig.Gradient
	critic   *critic.Critic
	from, to []float32 // s and s′ as ±1, [n][spins]

	s, next []uint64 // of the call under way
	unpack  func(block, lo, hi int, _ []float32)
	flip    func(state []float32, _, spin int)
}

func newDiscriminator(c *Config, b *batch) *discriminator {
	size := b.n * b.spins
	o := &discriminator{
		batch: b, gradient: c.Loss.Gradient, critic: critic.New(b.n, b.spins, c.Loss.Discriminator, c.Training.Seed, b.workers),
		from: make([]float32, size), to: make([]float32, size),
	}
	o.unpack = func(_, lo, hi int, _ []float32) {
		b.unpack(o.from, o.s, lo, hi)
		b.unpack(o.to, o.next, lo, hi)
	}
	o.flip = func(state []float32, _, spin int) { state[spin] = -state[spin] }
	return o
}

// State lists what a checkpoint must hold of the discriminator.
func (o *discriminator) State() []engine.Section { return o.critic.State() }

func (o *discriminator) LossGradient(ds lossGradient, s, next []uint64) float64 {
	o.s, o.next = s, next
	o.lanes.Own(o.unpack)
	o.critic.Evaluate(o.from, o.to)
	switch o.gradient {
	case "surrogate":
		o.critic.Gradient(ds.bySpin)
	case "difference":
		o.critic.Changes(ds.bySpin, o.spins, o.flip)
	case "score":
		o.critic.Scores(ds.bySample)
	}
	return o.critic.Learn()
}
