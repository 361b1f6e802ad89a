package perceptron

import (
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

// slopes are what a loss says of a batch.
type slopes struct {
	spins []float32 // ∂L/∂s with s′ fixed, [n][spins]; Backward makes ∂L/∂h of them
	// For the score function instead, nil where nobody asks for it: F_i, what each sample
	// contributes, the derivative of the loss by the share of s_i in the law of the samples;
	// Backward takes F_i − b_i (see score).
	values []float32
}

// A batch is the shape of one: n samples of so many spins, packed in so many words each.
type batch struct {
	n, spins, words int
	lanes           *nn.Lanes
	workers         *pool.Pool
}

// unpack sets rows lo … hi−1 of dst, [n][spins], to those of s as ±1.
func (b *batch) unpack(dst []float32, s []uint64, lo, hi int) {
	bitspin.Unpack(dst[lo*b.spins:hi*b.spins], s[lo*b.words:hi*b.words], b.spins)
}

// A loss of pairs of samples. Where the configuration asks for differences it sets ds to the
// change of the loss when a spin of s is flipped.
type loss = engine.Discrepancy[[]uint64, slopes]

// A lossKind makes a loss, validates what of the configuration is its own, and bounds the
// bytes that it allocates for n samples.
type lossKind struct {
	name     string // of the discrepancy, in a sentence
	make     func(c *Config, b *batch) loss
	validate func(l *LossConfig) error
	bytes    func(l *LossConfig, n, spins int) float64
}

// losses are those by their loss.kind: one more is a file beside mmd.go, and a line here.
var losses = map[string]lossKind{
	"mmd":           mmdLoss,
	"discriminator": discriminatorLoss,
}

// newLoss returns what the configuration chooses.
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

// differences makes the discrete ∂L/∂s of changes of the loss: half the difference between
// the losses of spin +1 and of spin −1.
type differences struct {
	loss
	lanes *nn.Lanes
	ds    slopes
	s     []uint64
	halve func(_, lo, hi int, _ []float32)
}

func newDifferences(of loss, b *batch) *differences {
	d := &differences{loss: of, lanes: b.lanes}
	d.halve = func(_, lo, hi int, _ []float32) {
		for r := lo; r < hi; r++ {
			for i, g := range d.ds.spins[r*b.spins:][:b.spins] {
				up := d.s[r*b.words+i>>6] >> (i & 63) & 1
				d.ds.spins[r*b.spins+i] = g * (0.5 - float32(up))
			}
		}
	}
	return d
}

// State lists what the loss carries from step to step.
func (d *differences) State() []engine.Section { return state.Of(d.loss) }

func (d *differences) LossGradient(ds slopes, s, next []uint64) float64 {
	value := d.loss.LossGradient(ds, s, next)
	d.ds, d.s = ds, s
	d.lanes.Own(d.halve)
	return value
}
