package perceptron

import (
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/conf"
)

// mmdLoss is the paper's loss: the MMD between the laws of (s, s′) and (s′, s), whose kernel
// is a function of Hamming distances.
var mmdLoss = lossKind{
	name: "MMD²",
	make: func(c *Config, b *batch) loss {
		mode := mmd.Surrogate
		if c.Loss.Gradient == "difference" {
			mode = mmd.Difference
		}
		l := hamming{mmd.NewHamming(b.n, b.spins, c.Loss.Kernel, mode, c.Loss.Statistic, b.workers)}
		if c.Loss.Gradient == "full" {
			return fullGradient{l, b, make([]float32, b.n*b.spins)}
		}
		return l
	},
	validate: func(l *LossConfig) error { return conf.Under("kernel", l.Kernel.Validate()) },
	bytes:    func(_ *LossConfig, n, spins int) float64 { return mmd.HammingBytes(n, spins) },
}

type hamming struct{ *mmd.Hamming }

func (h hamming) LossGradient(ds lossGradient, s, next []uint64) float64 {
	value := h.Hamming.LossGradient(s, next, ds.bySpin)
	if ds.bySample != nil {
		h.Witness(ds.bySample)
	}
	return value
}

// fullGradient differentiates a loss that is symmetric in s and s′ with respect to both: s′
// follows s through the flips that were accepted.
type fullGradient struct {
	loss
	*batch
	nextGradient []float32 // ∂L/∂s′, [n][spins]
}

func (f fullGradient) LossGradient(ds lossGradient, s, next []uint64) float64 {
	value := f.loss.LossGradient(ds, s, next)
	f.loss.LossGradient(lossGradient{bySpin: f.nextGradient}, next, s)
	for r := range f.n {
		for i := range f.spins {
			at := r*f.words + i>>6
			flipped := (s[at] ^ next[at]) >> (i & 63) & 1 // then s′_d = −s_d
			ds.bySpin[r*f.spins+i] += (1 - 2*float32(flipped)) * f.nextGradient[r*f.spins+i]
		}
	}
	return value
}
