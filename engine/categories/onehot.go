package categories

import (
	"slices"

	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/engine/spins"
)

// A OneHot is a target in packed spins, one for each state of each site, site by site. The spin of
// the site's state is up. Configurations that differ in h sites differ in 2h spins, so that losses by Hamming
// distances of spins are losses by those of sites.
type OneHot struct{ *Target }

// States returns the number of spins of each site.
func (t OneHot) States() []int { return t.Target.States }

// Spins returns the number of all spins.
func (t OneHot) Spins() (n int) {
	for _, q := range t.Target.States {
		n += q
	}
	return n
}

func (t OneHot) words() int { return (t.Spins() + 63) / 64 }

// Pack packs the configuration whose site i is in state s[i·stride].
func (t OneHot) Pack(dst []uint64, s []byte, stride int) {
	clear(dst)
	first := 0 // spin of the site
	for i, q := range t.Target.States {
		up := first + int(s[i*stride])
		dst[up>>6] |= 1 << (up & 63)
		first += q
	}
}

// Unpack sets s[i·stride] to the state of site i of a packed configuration.
func (t OneHot) Unpack(s []byte, stride int, src []uint64) {
	spin := 0
	for i, q := range t.Target.States {
		for k := range q {
			if src[spin>>6]>>(spin&63)&1 != 0 {
				s[i*stride] = byte(k)
			}
			spin++
		}
	}
}

// Kernel implements spins.Target, with the moves of NewMoves.
func (t OneHot) Kernel(c *spins.TransitionConfig, fraction float64) (spins.Kernel, error) {
	m, err := NewMoves(t.Target, c, fraction)
	return oneHotMoves{m, t}, err
}

type oneHotMoves struct {
	*Moves
	oneHot OneHot
}

func (m oneHotMoves) Run(halted func() bool, dst, src []uint64, lo, hi, steps int, c *rng.Counter, first uint64, st *bitspin.Count) {
	words := m.oneHot.words()
	m.runBlocks(halted, lo, hi, steps, c, first, st, func(state []byte, lo, hi int) {
		for b := range block {
			m.oneHot.Unpack(state[b:], block, src[min(lo+b, hi-1)*words:])
		}
	}, func(state []byte, lo, hi int) {
		for i := lo; i < hi; i++ {
			m.oneHot.Pack(dst[i*words:][:words], state[i-lo:], block)
		}
	})
}

// Draws returns the unpacked configurations of packed draws.
func (t OneHot) Draws(packed sites.Draws[uint64]) sites.Draws[byte] {
	return &oneHotDraws{OneHot: t, draws: packed}
}

type oneHotDraws struct {
	OneHot
	draws  sites.Draws[uint64]
	packed []uint64
}

func (d *oneHotDraws) Generate(dst []byte, _ []float64, first uint64) {
	n, words := d.N(), d.words()
	size := len(dst) / n * words
	d.packed = slices.Grow(d.packed[:0], size)[:size]
	d.draws.Generate(d.packed, nil, first)
	for i := range len(dst) / n {
		d.Unpack(dst[i*n:], 1, d.packed[i*words:])
	}
}

var _ spins.Target = OneHot{}
