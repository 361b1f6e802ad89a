package main

import (
	"context"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/chains"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/ising"
)

// clusters are a chains.Walk by Wolff's moves: a step flips the cluster of a spin drawn at
// random, to which neighbours that agree are bonded with the probability 1 − e^{−2βJ}. It
// leaves the law of a ferromagnet without a field as it is.
type clusters struct {
	sites.Observed[uint64]
	workers *pool.Pool
	bond    uint64     // random words below it bond
	near    [][4]int32 // neighbours of each site, to the right, below, to the left and above
	chains  []clusterChain
}

// A clusterChain is one configuration with room for its moves.
type clusterChain struct {
	spin  []int8
	stack []int32
	from  rng.Counter
	words []uint32 // random ones, from used on; the last drawn of them were drawn together
	drawn int
	used  int
	block uint64
}

// need has n random words ready, at most as many as words has beyond those drawn together.
// What is drawn does not depend on how many are ready.
func (c *clusterChain) need(n int) {
	if len(c.words)-c.used >= n {
		return
	}
	first := len(c.words) - c.drawn
	left := c.words[c.used:]
	c.used = first - len(left)
	copy(c.words[c.used:], left)
	asm.PhiloxBlocks(c.words[first:], &c.from, c.block)
	c.block += uint64(c.drawn / 4)
}

// next returns the chain's next random word.
func (c *clusterChain) next() uint32 {
	c.need(1)
	c.used++
	return c.words[c.used-1]
}

// differ returns 1 for spins that differ, and 0 for equal ones; below whether a word is less
// than a bound. Whether spins bond is not to be foretold, so branches would cost more.
func differ(a, b int8) uint8                { return uint8(a^b) >> 7 }
func below(word uint32, bound uint64) uint8 { return uint8((uint64(word) - bound) >> 63) }

// wolff returns the start of chains of a system, nil but of ferromagnets without a field.
func wolff(cfg engine.Config, system engine.System, workers *pool.Pool) func(params []float32, n int) (chains.Walk, error) {
	c, ok := cfg.(*ising.Config)
	if !ok || c.Target.H != 0 || c.Target.J <= 0 || c.Target.L < 3 {
		return nil
	}
	return func(params []float32, n int) (chains.Walk, error) {
		return newClusters(c, system.(observed).Observed(params, n), workers, n), nil
	}
}

// An observed system has configurations of spins that are observed as its samples are.
type observed interface {
	Observed(params []float32, n int) sites.Observed[uint64]
}

// newClusters returns n chains that begin at random.
func newClusters(c *ising.Config, seen sites.Observed[uint64], workers *pool.Pool, n int) *clusters {
	l, sites := c.Target.L, c.Target.L*c.Target.L
	w := &clusters{
		Observed: seen, workers: workers,
		bond:   uint64(math.Ceil(-math.Expm1(-2*c.Target.Beta*c.Target.J) * 0x1p32)),
		near:   make([][4]int32, sites),
		chains: make([]clusterChain, n),
	}
	for i := range sites {
		row := i / l * l
		w.near[i] = [4]int32{int32(row + (i+1)%l), int32((i + l) % sites), int32(row + (i+l-1)%l), int32((i + sites - l) % sites)}
	}
	for i := range w.chains {
		chain := &w.chains[i]
		chain.from = rng.Stream(c.Training.Seed, rng.ClusterTransition, uint32(i))
		chain.drawn = 1024
		chain.words = make([]uint32, len(w.near[0])+chain.drawn)
		chain.used = len(chain.words)
		// A site that does not join is written beyond the stack's end.
		chain.spin, chain.stack = make([]int8, sites), make([]int32, sites+1)
		for j := range chain.spin {
			chain.spin[j] = int8(1 - 2*(chain.next()>>31))
		}
		w.pack(i)
	}
	return w
}

// Advance implements chains.Walk.
func (w *clusters) Advance(ctx context.Context, steps int) error {
	const slice = 64
	for ; steps > 0; steps -= slice {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.workers.Run(len(w.chains), func(i int) {
			for range min(slice, steps) {
				w.move(&w.chains[i])
			}
			w.pack(i)
		})
	}
	return nil
}

// pack copies chain i to the states that are observed.
func (w *clusters) pack(i int) {
	words := len(w.Batch) / len(w.chains)
	state := w.Batch[i*words:][:words]
	clear(state)
	for site, v := range w.chains[i].spin {
		if v > 0 {
			state[site>>6] |= 1 << (site & 63)
		}
	}
}

// move flips the cluster of a site drawn at random, as it grows.
func (w *clusters) move(c *clusterChain) {
	seed := int32(uint64(c.next()) * uint64(len(c.spin)) >> 32)
	old, stack, spin := c.spin[seed], c.stack, c.spin
	spin[seed] = -old
	stack[0] = seed
	for top := 1; top > 0; {
		top--
		near := &w.near[stack[top]]
		c.need(len(near))
		words, used := c.words[c.used:][:len(near)], 0
		for _, j := range near {
			same := 1 - differ(spin[j], old)
			joins := same & below(words[used], w.bond)
			used += int(same)
			spin[j] -= 2 * old * int8(joins)
			stack[top] = j
			top += int(joins)
		}
		c.used += used
	}
}
