package perceptron

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/stat"
	"github.com/revgen/revgen/internal/state"
)

// score replaces the way from a loss to a bernoulli head's logits by the score
// function (REINFORCE). With p(s|h) = Π_d 1/(1 + exp(−2 h_d s_d)),
//
//	∂L/∂h_{i,d} = (1/N) (F_i − b_i) ∂ ln p(s_i|h_i)/∂h_{i,d} = (1/N) (F_i − b_i) (s_{i,d} − tanh h_{i,d}),
//
// which continues nothing to real spins and flips none. The baseline b_i is the
// mean of F over the other samples of s_i's half of the batch, for witnesses of
// cross-fitted halves differ by a constant.
type score struct {
	Valued
	*Batch
	pullBack func(lo, hi int)
	values   []float32
}

func newScore(of Valued, b *Batch, pullBack func(lo, hi int)) *score {
	return &score{of, b, pullBack, make([]float32, b.Rows)}
}

// State lists what the objective carries from step to step.
func (o *score) State() []engine.Section { return state.Of(o.Valued) }

func (o *score) Discrepancy() float64 {
	loss := o.Valued.Discrepancy()
	o.Contributions(o.values)
	stat.LeaveOneOut(o.values)
	return loss
}

func (o *score) LogitGradient(lo, hi int) {
	n := o.Spins
	o.unpack(o.Grad, o.States, lo, hi)
	o.pullBack(lo, hi) // to the spins that the head drew
	mean := o.Logits[lo*n : hi*n]
	asm.Tanh(mean, mean)
	scale := 1 / float32(o.Rows)
	for r := lo; r < hi; r++ {
		for i, m := range mean[(r-lo)*n:][:n] {
			o.Grad[r*n+i] = scale * o.values[r] * (o.Grad[r*n+i] - m)
		}
	}
}
