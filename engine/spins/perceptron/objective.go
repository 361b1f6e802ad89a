package perceptron

import (
	"fmt"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/pool"
)

// A Batch is what an objective sees of a training step. Its slices stay the same
// from step to step.
type Batch struct {
	Rows, Spins, Words int       // samples, spins of each, words of each
	States             []uint64  // s, packed, [rows][words]
	Next               []uint64  // s′, likewise, unless the objective averages over it
	Logits             []float32 // h, [rows][spins], until Gradient overwrites them; for an objective of the kit a rank's own rows
	Grad               []float32 // ∂L/∂s and then ∂L/∂h, [rows][spins]

	Lanes   *nn.Lanes // blocks of rows
	Workers *pool.Pool
}

// unpack sets rows lo … hi−1 of dst, [rows][spins], to states as ±1.
func (b *Batch) unpack(dst []float32, states []uint64, lo, hi int) {
	bitspin.Unpack(dst[lo*b.Spins:hi*b.Spins], states[lo*b.Words:hi*b.Words], b.Spins)
}

// An Objective measures how far a batch's moves are from reversible.
type Objective interface {
	// Discrepancy returns the loss of the batch, NaN if it has no numbers that can
	// be used.
	Discrepancy() float64
	// Gradient sets rows lo … hi−1 of the batch's Grad, all of one block, to ∂L/∂s
	// with s′ fixed. Calls for different blocks may be concurrent.
	Gradient(lo, hi int)
}

// A Valued objective says what each sample of the last discrepancy contributes:
// values[i] = F_i, the derivative of the loss by the share of s_i in the law of
// the samples.
type Valued interface {
	Objective
	Contributions(values []float32)
}

// An Averager is an objective of all s′ at once, of which none are drawn.
type Averager interface {
	Objective
	// Anneal takes the transition to the inverse temperature fraction·β.
	Anneal(fraction float64)
	// Acceptance is that of engine.System, for the last discrepancy.
	Acceptance() float64
}

// A LogitObjective finds its own way to the logits.
type LogitObjective interface {
	Objective
	// LogitGradient is Gradient for ∂L/∂h.
	LogitGradient(lo, hi int)
}

// objective returns what the configuration chooses for a target and a batch. even is
// whether the law of its states is the same with all spins flipped.
func (c *Config) objective(b *Batch, t Target, even bool) (Objective, error) {
	switch c.Loss.Kind {
	case "kfd":
		return newWalsh(c, b, t, even), nil
	case "discriminator":
		return newDiscriminator(c, b)
	}
	o, err := newPairs(&c.Loss, b)
	if err != nil {
		return nil, fmt.Errorf("loss.%w", err)
	}
	return o, nil
}
