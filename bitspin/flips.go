package bitspin

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
)

// Flips are the transition kernel p(s, s′) of the Metropolis–Hastings algorithm for
// any law of n spins. A step proposes to flip all spins, with a fixed probability, or
// else one spin, chosen uniformly. Flips are immutable.
type Flips struct {
	law      Flippable
	n, words int
	spin     bound
	global   uint64 // probability of proposing to flip all, in units of 2⁻³²
}

// Flippable is a law that gives the probabilities with which flips are accepted, as
// Threshold does.
type Flippable interface {
	// FlipOne returns the probability for spin i.
	FlipOne(config []uint64, i int) uint64
	// FlipAll returns the probability for all spins together.
	FlipAll(config []uint64) uint64
}

// Threshold returns the probability min{1, e^x} in units of 2⁻⁶⁴, at most 2⁶⁴−1.
func Threshold(x float64) uint64 {
	if x >= 0 {
		return math.MaxUint64
	}
	p := math.Exp(x) * (1 << 64)
	if p >= 1<<64 {
		return math.MaxUint64
	}
	return uint64(p)
}

// NewFlips returns the kernel of a law of n spins, with flips of all proposed with
// probability global in [0, 1], rounded to a multiple of 2⁻³².
func NewFlips(n int, global float64, law Flippable) (*Flips, error) {
	if !(global >= 0 && global <= 1) {
		return nil, fmt.Errorf("the probability of flipping all spins, %v, is not in [0, 1]", global)
	}
	return &Flips{law, n, Words(n), newBound(uint32(n)), uint64(math.RoundToEven(math.Ldexp(global, 32)))}, nil
}

// MaxSteps returns the number of steps that one stream has draws for.
func (f *Flips) MaxSteps() int { return 1 << (perSampleBits - blockBits) }

// BlockSize returns 1: each sample's draws are its own.
func (f *Flips) BlockSize() int { return 1 }

// Run takes steps as Metropolis.Run does.
func (f *Flips) Run(halted func() bool, dst, src []uint64, lo, hi int, steps int, c *asm.Counter, firstSample uint64, st *Count) {
	first := firstSample + uint64(lo)
	checkStream(first, hi-lo, steps, f.MaxSteps())
	dst, src = dst[lo*f.words:hi*f.words], src[lo*f.words:hi*f.words]
	copy(dst, src)
	var draws [4 * stripSize]uint32
	for ; len(dst) > 0; first += stripSize {
		n := min(stripSize, len(dst)/f.words)
		for step := range steps {
			if ended(halted, step) {
				return
			}
			asm.PhiloxBlocks(draws[:4*n], c, blockIndex(first, step, 0))
			for k := range n {
				f.step(dst[k*f.words:][:f.words], (*[4]uint32)(draws[4*k:]), c, first+uint64(k), step, st)
			}
		}
		dst = dst[n*f.words:]
	}
}

// step takes one step with one configuration.
func (f *Flips) step(config []uint64, draw *[4]uint32, c *asm.Counter, sample uint64, step int, st *Count) {
	u, accepted := join(draw[2], draw[3]), uint64(0)
	if uint64(draw[1]) < f.global {
		if u < f.law.FlipAll(config) {
			accepted = 1
			Invert(config, f.n)
		}
		st.Add(Count{1, accepted})
		return
	}
	i, ok := f.spin.draw(draw[0])
	if !ok {
		i = f.spin.redraw(c, sample, step, 0)
	}
	if u < f.law.FlipOne(config, int(i)) {
		accepted = 1
	}
	config[i>>6] ^= accepted << (i & 63)
	st.Add(Count{1, accepted})
}
