package perceptron

import (
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

// A lossGradient is the derivative of a loss with respect to a batch.
type lossGradient struct {
	bySpin []float32 // ∂L/∂s with s′ fixed, [n][spins]; Backward overwrites it with ∂L/∂h
	// bySample is for the score function, and nil without it: F_i, the derivative of the loss
	// with respect to the weight of s_i in the law of the samples. Backward takes F_i − b_i (see
	// score).
	bySample []float32
}

// A batch says how many samples there are, of how many spins in how many words, and how threads
// divide them.
type batch struct {
	n, spins, words int
	lanes           *nn.Lanes
	workers         *pool.Pool
}

// unpack sets rows lo … hi−1 of dst, [n][spins], to those of s as ±1.
func (b *batch) unpack(dst []float32, s []uint64, lo, hi int) {
	bitspin.Unpack(dst[lo*b.spins:hi*b.spins], s[lo*b.words:hi*b.words], b.spins)
}

// A loss of pairs of samples. If the configuration asks for differences it sets bySpin to the
// change of the loss when a spin of s is flipped.
type loss = engine.Discrepancy[[]uint64, lossGradient]

type lossKind struct {
	name     string // of the discrepancy, in a sentence
	make     func(c *Config, b *batch) loss
	validate func(l *LossConfig) error                 // checks this kind's settings
	bytes    func(l *LossConfig, n, spins int) float64 // bounds what it allocates for n samples
}

// losses has all kinds by their loss.kind. A new one is a file beside mmd.go, and a line here.
var losses = map[string]lossKind{
	"mmd":           mmdLoss,
	"discriminator": discriminatorLoss,
}

func newLoss(c *Config, b *batch) loss {
	l := losses[c.Loss.Kind].make(c, b)
	switch c.Loss.Gradient {
	case "difference":
		return newDifferences(l, b)
	case "score":
		return score{l}
	}
	return l
}

// differences turns changes of the loss by flips into a discrete ∂L/∂s: half the loss of spin +1
// less that of spin −1.
type differences struct {
	loss
	lanes *nn.Lanes
	ds    lossGradient
	s     []uint64
	halve func(_, lo, hi int, _ []float32)
}

func newDifferences(l loss, b *batch) *differences {
	d := &differences{loss: l, lanes: b.lanes}
	d.halve = func(_, lo, hi int, _ []float32) {
		for r := lo; r < hi; r++ {
			for i, g := range d.ds.bySpin[r*b.spins:][:b.spins] {
				up := d.s[r*b.words+i>>6] >> (i & 63) & 1
				d.ds.bySpin[r*b.spins+i] = g * (0.5 - float32(up))
			}
		}
	}
	return d
}

// State lists what the loss carries from step to step.
func (d *differences) State() []engine.Section { return state.Of(d.loss) }

func (d *differences) LossGradient(ds lossGradient, s, next []uint64) float64 {
	value := d.loss.LossGradient(ds, s, next)
	d.ds, d.s = ds, s
	d.lanes.Own(d.halve)
	return value
}
