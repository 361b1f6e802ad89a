package perceptron

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/stat"
	"github.com/revgen/revgen/internal/state"
)

// score differentiates the loss with respect to a bernoulli head's logits by the score
// function (REINFORCE). With p(s|h) = Π_d 1/(1 + exp(−2 h_d s_d)),
//
//	∂L/∂h_{i,d} = (1/N) (F_i − b_i) ∂ ln p(s_i|h_i)/∂h_{i,d} = (1/N) (F_i − b_i) (s_{i,d} − tanh h_{i,d}),
//
// which needs neither real spins nor flips. The baseline b_i is the mean of F over the
// other samples of s_i's half of the batch.
type score struct{ loss }

func (o score) LossGradient(ds lossGradient, s, next []uint64) float64 {
	value := o.loss.LossGradient(ds, s, next)
	stat.LeaveOneOut(ds.bySample)
	return value
}

// State lists what the loss carries from step to step.
func (o score) State() []engine.Section { return state.Of(o.loss) }

// byScore sets rows lo … hi−1 of bySpin to ∂L/∂h by the score function. It overwrites the logits.
func (l *learner) byScore(lo, hi int) {
	n, grad := l.batch.spins, l.ds.bySpin
	l.batch.unpack(grad, l.s, lo, hi)
	mean := l.logits[lo*n : hi*n]
	asm.Tanh(mean, mean)
	scale := 1 / float32(l.batch.n)
	for r := lo; r < hi; r++ {
		for i, m := range mean[(r-lo)*n:][:n] {
			grad[r*n+i] = scale * l.ds.bySample[r] * (grad[r*n+i] - m)
		}
	}
}
