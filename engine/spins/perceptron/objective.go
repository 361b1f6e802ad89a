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
	Next               []uint64  // s′, likewise
	Logits             []float32 // h, [rows][spins], until Gradient overwrites them; of a rank its own rows
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
	// Contributions says what each sample of the last discrepancy contributes:
	// values[i] = F_i, the derivative of the loss by the share of s_i in the law of
	// the samples.
	Contributions(values []float32)
}

// objective returns what the configuration chooses for a batch.
func (c *Config) objective(b *Batch) (Objective, error) {
	if c.Loss.Kind == "discriminator" {
		return newDiscriminator(c, b)
	}
	o, err := newPairs(&c.Loss, b)
	if err != nil {
		return nil, fmt.Errorf("loss.%w", err)
	}
	return o, nil
}
