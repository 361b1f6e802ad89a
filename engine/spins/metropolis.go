package spins

import (
	"fmt"
	"math"
	"sync"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/rng"
)

// A Metropolis is the transition kernel p(s, s′) of the Metropolis–Hastings
// algorithm on a graph: a step proposes to flip one spin, any with the same
// probability, or with probability Global all spins, and accepts with probability
// min{1, e^(−βΔE)}. It is immutable and may be used by any number of goroutines.
type Metropolis struct {
	graph  *Graph
	beta   float64
	n      uint32
	reject uint32 // 2³² mod n
	global uint64 // probability of a flip of all, in units of 2⁻³²
	free   sync.Pool
}

// NewMetropolis returns the kernel of a graph at inverse temperature beta ≥ 0,
// with flips of all spins proposed with probability global in [0, 1], rounded to
// a multiple of 2⁻³².
func NewMetropolis(g *Graph, beta, global float64) (*Metropolis, error) {
	if err := g.CheckTemperature(beta); err != nil {
		return nil, err
	}
	if !(global >= 0 && global <= 1) {
		return nil, fmt.Errorf("the probability of flipping all spins, %v, is not in [0, 1]", global)
	}
	n := uint32(g.N())
	m := &Metropolis{graph: g, beta: beta, n: n, reject: -n % n, global: uint64(math.RoundToEven(math.Ldexp(global, 32)))}
	m.free.New = func() any { return new([4 * stripSize]uint32) }
	return m, nil
}

// Randomness is that of package bitspin: block b of a step of a sample is
//
//	(step·2⁶ + b)·2³⁶ + sample
//
// of the stream. In block 0 word 0 chooses the spin, word 1 whether all flip, and
// words 2 and 3 decide. Word 0 of later blocks serves where a draw was rejected
// for uniformity.
const (
	// MaxSamples bounds the indices of samples.
	MaxSamples = bitspin.MaxSamples
	sampleBits = 36
	blockBits  = 6
	stripSize  = 64
	maxSteps   = 1 << (64 - sampleBits - blockBits)
)

// MaxSteps returns the number of steps that one stream has draws for.
func (m *Metropolis) MaxSteps() int { return maxSteps }

// Together returns 1: each sample's draws are its own.
func (m *Metropolis) Together() int { return 1 }

// Run implements Kernel, for samples below MaxSamples.
func (m *Metropolis) Run(halted func() bool, dst, src []uint64, lo, hi int, steps int, c *rng.Counter, firstSample uint64, st *bitspin.Count) {
	words := m.graph.Words()
	first := firstSample + uint64(lo)
	if hi < lo || first+uint64(hi-lo) > MaxSamples || steps < 0 || steps > maxSteps {
		panic(fmt.Sprintf("spins: %d steps of samples %d to %d exceed a stream", steps, first, first+uint64(hi-lo)))
	}
	dst, src = dst[lo*words:hi*words], src[lo*words:hi*words]
	copy(dst, src)
	draws := m.free.Get().(*[4 * stripSize]uint32)
	defer m.free.Put(draws)
	for ; len(dst) > 0; first += stripSize {
		n := min(stripSize, len(dst)/words)
		for step := range steps {
			if halted != nil && halted() {
				return
			}
			asm.PhiloxBlocks(draws[:4*n], c, uint64(step)<<(blockBits+sampleBits)|first)
			for k := range n {
				m.step(dst[k*words:][:words], (*[4]uint32)(draws[4*k:]), c, first+uint64(k), step, st)
			}
		}
		dst = dst[n*words:]
	}
}

// step takes one step with one configuration.
func (m *Metropolis) step(config []uint64, draw *[4]uint32, c *asm.Counter, sample uint64, step int, st *bitspin.Count) {
	u := uint64(draw[2])<<32 | uint64(draw[3])
	st.Proposed++
	if uint64(draw[1]) < m.global {
		if u < m.threshold(m.difference(config)) {
			st.Accepted++
			bitspin.Invert(config, m.graph.N())
		}
		return
	}
	product := uint64(draw[0]) * uint64(m.n)
	if uint32(product) < m.reject {
		product = m.redraw(c, sample, step)
	}
	i := int(product >> 32)
	if u < m.threshold(m.graph.Difference(config, i)) {
		st.Accepted++
		config[i>>6] ^= 1 << (i & 63)
	}
}

// redraw is outlined because fewer than n in 2³² draws need it.
//
//go:noinline
func (m *Metropolis) redraw(c *asm.Counter, sample uint64, step int) uint64 {
	var words [4]uint32
	for block := uint64(1); ; block++ {
		asm.PhiloxBlocks(words[:], c, (uint64(step)<<blockBits|block)<<sampleBits|sample)
		if product := uint64(words[0]) * uint64(m.n); uint32(product) >= m.reject {
			return product
		}
	}
}

// threshold returns the probability of accepting a change of the energy in units
// of 2⁻⁶⁴, at most 2⁶⁴−1.
func (m *Metropolis) threshold(difference float64) uint64 {
	if difference <= 0 {
		return math.MaxUint64
	}
	p := math.Exp(-m.beta*difference) * (1 << 64)
	if p >= 1<<64 {
		return math.MaxUint64
	}
	return uint64(p)
}

// difference returns the change of the energy when all spins flip.
func (m *Metropolis) difference(config []uint64) float64 {
	var sum float64
	for i, h := range m.graph.hamiltonian.Fields {
		sum += math.Float64frombits(math.Float64bits(h) ^ ^(config[i>>6]>>(i&63))<<63)
	}
	return 2 * sum
}
