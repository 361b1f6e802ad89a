package perceptron

import (
	"fmt"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/critic"
)

// discriminator is the learned one of pairs (s, s′) as vectors of ±1.
type discriminator struct {
	*Batch
	gradient string
	critic   *critic.Critic
	from     []float32 // s, [rows][spins]
	to       []float32 // s′
	scores   []float32 // of each sample, nil if nobody asks for them

	unpackMoves func(block, lo, hi int, _ []float32)
	flip        func(state []float32, _, spin int)
}

func newDiscriminator(c *Config, b *Batch) (*discriminator, error) {
	judge, err := critic.New(b.Rows, b.Spins, c.Loss.Discriminator, c.Training.Seed, b.Workers)
	if err != nil {
		return nil, fmt.Errorf("loss.discriminator.%w", err)
	}
	n := b.Rows * b.Spins
	o := &discriminator{Batch: b, gradient: c.Loss.Gradient, critic: judge, from: make([]float32, n), to: make([]float32, n)}
	if c.Loss.Gradient == "score" {
		o.scores = make([]float32, b.Rows)
	}
	o.unpackMoves = func(_, lo, hi int, _ []float32) {
		b.unpack(o.from, b.States, lo, hi)
		b.unpack(o.to, b.Next, lo, hi)
	}
	o.flip = func(state []float32, _, spin int) { state[spin] = -state[spin] }
	return o, nil
}

// State lists what a checkpoint must hold of the discriminator.
func (o *discriminator) State() []engine.Section { return o.critic.State() }

func (o *discriminator) Discrepancy() float64 {
	o.Lanes.Own(o.unpackMoves)
	o.critic.Evaluate(o.from, o.to)
	switch o.gradient {
	case "surrogate":
		o.critic.Gradient(o.Grad)
	case "difference":
		o.critic.Changes(o.Grad, o.Spins, o.flip)
	}
	if o.scores != nil {
		o.critic.Scores(o.scores)
	}
	return o.critic.Learn()
}

func (o *discriminator) Contributions(values []float32) { copy(values, o.scores) }

func (o *discriminator) Gradient(lo, hi int) {
	if o.gradient == "difference" {
		halveDifferences(o.Grad[lo*o.Spins:hi*o.Spins], o.States[lo*o.Words:], o.Spins, o.Words)
	}
}
