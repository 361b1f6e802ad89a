package ising

import (
	"context"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/spins"
)

// clusters are an engine.Walk by moves of whole clusters: neighbours that agree are
// bonded with the probability 1 − e^{−2βJ}. A step of Wolff's flips the cluster of a
// spin drawn at random, and one of Swendsen's and Wang's flips each cluster with
// probability ½. Both leave the law of a ferromagnet without a field as it is.
type clusters struct {
	spins.Observed
	s      *measured
	single bool // Wolff's
	bond   float64
	right  []int32 // neighbours of each site
	down   []int32
	chains []clusterChain
}

// A clusterChain is one configuration with room for its moves.
type clusterChain struct {
	spin  []int8
	stack []int32
	root  []int32
	from  rng.Counter
	words [256]uint32
	used  int
	block uint64
}

// next returns the chain's next random word.
func (c *clusterChain) next() uint32 {
	if c.used == len(c.words) {
		asm.PhiloxBlocks(c.words[:], &c.from, c.block)
		c.block += uint64(len(c.words) / 4)
		c.used = 0
	}
	c.used++
	return c.words[c.used-1]
}

// chance reports true with the given probability, to 2⁻³².
func (c *clusterChain) chance(p float64) bool { return float64(c.next()) < p*0x1p32 }

// Peers implements engine.Compared: cluster moves of ferromagnets without a field.
func (s *measured) Peers() []engine.Peer {
	if s.target.H != 0 || s.target.J <= 0 || s.target.L < 3 {
		return nil
	}
	start := func(single bool) func([]float32, int) (engine.Walk, error) {
		return func(params []float32, n int) (engine.Walk, error) { return s.newClusters(params, n, single), nil }
	}
	return []engine.Peer{{Name: "Wolff", Start: start(true)}, {Name: "Swendsen-Wang", Start: start(false)}}
}

// newClusters returns n chains that begin at random.
func (s *measured) newClusters(params []float32, n int, single bool) *clusters {
	l, sites := s.target.L, s.target.N
	w := &clusters{
		Observed: s.Observed(params, n), s: s, single: single,
		bond: -math.Expm1(-2 * s.target.Beta * s.target.J), right: make([]int32, sites), down: make([]int32, sites),
		chains: make([]clusterChain, n),
	}
	for i := range sites {
		w.right[i], w.down[i] = int32(i/l*l+(i+1)%l), int32((i+l)%sites)
	}
	for i := range w.chains {
		c := &w.chains[i]
		c.from, c.used = rng.Stream(s.config.Training.Seed, rng.ClusterTransition, uint32(i)), len(c.words)
		c.spin, c.root = make([]int8, sites), make([]int32, sites)
		for j := range c.spin {
			c.spin[j] = int8(1 - 2*(c.next()>>31))
		}
		w.pack(i)
	}
	return w
}

// Advance implements engine.Walk.
func (w *clusters) Advance(ctx context.Context, steps int) error {
	const slice = 64
	for ; steps > 0; steps -= slice {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.s.workers.Run(len(w.chains), func(i int) {
			for range min(slice, steps) {
				if w.single {
					w.wolff(&w.chains[i])
				} else {
					w.swendsenWang(&w.chains[i])
				}
			}
			w.pack(i)
		})
	}
	return nil
}

// pack copies chain i to the states that are observed.
func (w *clusters) pack(i int) {
	state := w.Packed[i*w.s.target.Words:][:w.s.target.Words]
	clear(state)
	for site, v := range w.chains[i].spin {
		if v > 0 {
			state[site>>6] |= 1 << (site & 63)
		}
	}
}

// wolff flips the cluster of a site drawn at random, as it grows.
func (w *clusters) wolff(c *clusterChain) {
	l, sites := int32(w.s.target.L), uint64(w.s.target.N)
	seed := int32(uint64(c.next()) * sites >> 32)
	old := c.spin[seed]
	c.spin[seed] = -old
	c.stack = append(c.stack[:0], seed)
	for len(c.stack) > 0 {
		i := c.stack[len(c.stack)-1]
		c.stack = c.stack[:len(c.stack)-1]
		left, up := i-1, i-l
		if i%l == 0 {
			left += l
		}
		if up < 0 {
			up += int32(sites)
		}
		for _, j := range [4]int32{w.right[i], w.down[i], left, up} {
			if c.spin[j] == old && c.chance(w.bond) {
				c.spin[j] = -old
				c.stack = append(c.stack, j)
			}
		}
	}
}

// swendsenWang bonds all neighbours that agree, by union and find, and redraws the sign of
// each cluster.
func (w *clusters) swendsenWang(c *clusterChain) {
	find := func(i int32) int32 {
		for c.root[i] != i {
			c.root[i] = c.root[c.root[i]]
			i = c.root[i]
		}
		return i
	}
	for i := range c.root {
		c.root[i] = int32(i)
	}
	for i := range c.root {
		for _, j := range [2]int32{w.right[i], w.down[i]} {
			if c.spin[i] == c.spin[j] && c.chance(w.bond) {
				if a, b := find(int32(i)), find(j); a < b {
					c.root[b] = a
				} else {
					c.root[a] = b
				}
			}
		}
	}
	// A cluster's root is its first site, which is met before the others.
	for i := range c.spin {
		if r := find(int32(i)); r == int32(i) {
			c.spin[i] = int8(1 - 2*(c.next()>>31))
		} else {
			c.spin[i] = c.spin[r]
		}
	}
}
