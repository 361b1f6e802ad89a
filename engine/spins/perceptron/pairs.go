package perceptron

import "github.com/revgen/revgen/engine/mmd"

// pairs is the paper's objective: one s′ for each s, and the maximum mean
// discrepancy of the pairs by their Hamming distances.
type pairs struct {
	*Batch
	loss        *mmd.Hamming
	byNext      []float32 // ∂L/∂s′, for the full gradient
	differences bool
}

func newPairs(c *LossConfig, b *Batch) (*pairs, error) {
	o, mode := &pairs{Batch: b}, mmd.Surrogate
	switch c.Gradient {
	case "difference":
		o.differences, mode = true, mmd.Difference
	case "full":
		o.byNext = make([]float32, len(b.Grad))
	}
	var err error
	o.loss, err = mmd.NewHamming(b.Rows, b.Spins, c.Kernel, mode, c.Statistic, b.Workers)
	return o, err
}

func (o *pairs) Discrepancy() float64 {
	loss := o.loss.LossGradient(o.States, o.Next, o.Grad)
	if o.byNext == nil {
		return loss
	}
	// The loss is symmetric in s and s′. Where a spin ended flipped, s′_d = −s_d.
	o.loss.LossGradient(o.Next, o.States, o.byNext)
	n, words := o.Spins, o.Words
	for r := range o.Rows {
		for i := range n {
			at := r*words + i>>6
			flipped := (o.States[at] ^ o.Next[at]) >> (i & 63) & 1
			o.Grad[r*n+i] += (1 - 2*float32(flipped)) * o.byNext[r*n+i]
		}
	}
	return loss
}

func (o *pairs) Gradient(lo, hi int) {
	if o.differences {
		halveDifferences(o.Grad[lo*o.Spins:hi*o.Spins], o.States[lo*o.Words:], o.Spins, o.Words)
	}
}

func (o *pairs) Contributions(values []float32) { o.loss.Witness(values) }

// halveDifferences turns L(spin flipped) − L into half the difference between
// the losses of spin +1 and of spin −1, the discrete ∂L/∂s.
func halveDifferences(grad []float32, spins []uint64, n, words int) {
	for r := 0; r*n < len(grad); r++ {
		for i, g := range grad[r*n:][:n] {
			up := spins[r*words+i>>6] >> (i & 63) & 1
			grad[r*n+i] = g * (0.5 - float32(up))
		}
	}
}
