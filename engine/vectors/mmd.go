package vectors

import (
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// mmdLoss is the paper's loss, the MMD between the laws of (s, s′) and (s′, s).
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

// gram is the MMD of vectors without modes.
type gram struct{ *mmd.Gram }

func (g gram) LossGradient(ds stateGradient, s, next States) float64 {
	return g.Gram.LossGradient(s.X, next.X, ds.x)
}

// modalGram is the MMD of vectors with modes.
type modalGram struct{ *mmd.Mixed }

func (g modalGram) LossGradient(ds stateGradient, s, next States) float64 {
	return g.Mixed.LossGradient(s.X, next.X, s.K, next.K, ds.x, ds.k)
}

// fullGradient is the gradient of a loss that is symmetric in s and s′, with s′ − s held fixed instead of
// s′: the sum of the moves that were accepted.
type fullGradient struct {
	discrepancy
	dNext stateGradient // ∂L/∂s′
}

func (f fullGradient) LossGradient(ds stateGradient, s, next States) float64 {
	loss := f.discrepancy.LossGradient(ds, s, next)
	f.discrepancy.LossGradient(f.dNext, next, s)
	for i, g := range f.dNext.x {
		ds.x[i] += g
	}
	return loss
}
