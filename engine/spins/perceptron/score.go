package perceptron

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/stat"
)

// score replaces the way from a loss to a bernoulli head's logits by the score
// function (REINFORCE). With p(s|h) = Π_d 1/(1 + exp(−2 h_d s_d)),
//
//	∂L/∂h_{i,d} = (1/N) (F_i − b_i) ∂ ln p(s_i|h_i)/∂h_{i,d} = (1/N) (F_i − b_i) (s_{i,d} − tanh h_{i,d}),
//
// which continues nothing to real spins and flips none. The baseline b_i is the
// mean of F over the other samples of s_i's half of the batch.
type score struct {
	*Batch
	values []float32 // F_i − b_i
}

func newScore(b *Batch) *score { return &score{b, make([]float32, b.Rows)} }

// look takes what an objective's last discrepancy says of the samples.
func (o *score) look(of Objective) {
	of.Contributions(o.values)
	stat.LeaveOneOut(o.values)
}

// gradient sets rows lo … hi−1 of the batch's Grad to ∂L/∂h.
func (o *score) gradient(lo, hi int) {
	n := o.Spins
	o.unpack(o.Grad, o.States, lo, hi)
	mean := o.Logits[lo*n : hi*n]
	asm.Tanh(mean, mean)
	scale := 1 / float32(o.Rows)
	for r := lo; r < hi; r++ {
		for i, m := range mean[(r-lo)*n:][:n] {
			o.Grad[r*n+i] = scale * o.values[r] * (o.Grad[r*n+i] - m)
		}
	}
}
