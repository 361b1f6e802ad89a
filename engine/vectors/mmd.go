package vectors

import (
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// mmdLoss is the paper's: the MMD between the laws of (s, s′) and (s′, s).
var mmdLoss = pairLoss{
	name: "MMD²",
	make: func(l *LossConfig, n, dim, modes int, _ uint64, workers *pool.Pool) discrepancy {
		if modes > 0 {
			return modalGram{mmd.NewMixed(n, dim, modes, l.Kernel, l.Statistic, workers)}
		}
		loss := gram{mmd.NewGram(n, dim, l.Kernel, l.Statistic, workers)}
		if l.Gradient == "full" {
			return fullGradient{loss, newStateGradient(n, dim, modes)}
		}
		return loss
	},
	check: func(l *LossConfig) error { return conf.Under("kernel", l.Kernel.ValidateReal()) },
	room: func(_ *LossConfig, n, dim, modes int) float64 {
		if modes > 0 {
			return mmd.MixedBytes(n, dim, modes)
		}
		return mmd.GramBytes(n, dim)
	},
	naive: mmd.Naive,
}

// gram is the loss of vectors alone.
type gram struct{ *mmd.Gram }

func (g gram) LossGradient(ds stateGradient, s, next States) float64 {
	return g.Gram.LossGradient(s.X, next.X, ds.x)
}

// modalGram is the same with modes.
type modalGram struct{ *mmd.Mixed }

func (g modalGram) LossGradient(ds stateGradient, s, next States) float64 {
	return g.Mixed.LossGradient(s.X, next.X, s.K, next.K, ds.x, ds.k)
}

// fullGradient is the gradient of a loss that is symmetric in s and s′ when
// s′ − s, the sum of the moves that were accepted, is held fixed rather than s′.
type fullGradient struct {
	discrepancy
	byNext stateGradient
}

func (f fullGradient) LossGradient(ds stateGradient, s, next States) float64 {
	loss := f.discrepancy.LossGradient(ds, s, next)
	f.discrepancy.LossGradient(f.byNext, next, s)
	for i, g := range f.byNext.x {
		ds.x[i] += g
	}
	return loss
}
