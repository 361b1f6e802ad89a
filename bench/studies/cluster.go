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

// clusters are a chains.Walk by moves of whole clusters: neighbours that agree are
// bonded with the probability 1 − e^{−2βJ}. A step of Wolff's flips the cluster of a
// spin drawn at random, and one of Swendsen's and Wang's flips each cluster with
// probability ½. Both leave the law of a ferromagnet without a field as it is.
type clusters struct {
	sites.Observed[uint64]
	side    int
	workers *pool.Pool
	single  bool       // Wolff's
	bond    uint64     // random words below it bond
	near    [][4]int32 // neighbours of each site, to the right, below, to the left and above
	chains  []clusterChain
}

// A clusterChain is one configuration with room for its moves.
type clusterChain struct {
	spin  []int8
	stack []int32
	root  []int32
	bonds []uint8 // of each site, after a row of none
	from  rng.Counter
	words []uint32 // random ones, from used on; the last drawn of them were drawn together
	drawn int
	used  int
	block uint64
}

// Bonds of a site: to the right within its row, downwards, and from the end of its row to
// the beginning.
const (
	rightBond = 1 << iota
	downBond
	aroundBond
)

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

// A cluster is a way to move clusters, as its inventors called it.
type cluster struct {
	name  string
	start func(params []float32, n int) (chains.Walk, error)
}

// clustersOf returns those of a system, of ferromagnets without a field alone.
func clustersOf(cfg engine.Config, system engine.System, workers *pool.Pool) []cluster {
	c, ok := cfg.(*ising.Config)
	if !ok || c.Target.H != 0 || c.Target.J <= 0 || c.Target.L < 3 {
		return nil
	}
	start := func(single bool) func([]float32, int) (chains.Walk, error) {
		return func(params []float32, n int) (chains.Walk, error) {
			return newClusters(c, system.(observed).Observed(params, n), workers, n, single), nil
		}
	}
	return []cluster{{"Wolff", start(true)}, {"Swendsen-Wang", start(false)}}
}

// An observed system has configurations of spins that are observed as its samples are.
type observed interface {
	Observed(params []float32, n int) sites.Observed[uint64]
}

// newClusters returns n chains that begin at random.
func newClusters(c *ising.Config, seen sites.Observed[uint64], workers *pool.Pool, n int, single bool) *clusters {
	l, sites := c.Target.L, c.Target.L*c.Target.L
	w := &clusters{
		Observed: seen, side: l, workers: workers, single: single,
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
		chain.words = make([]uint32, 2*l+chain.drawn)
		chain.used = len(chain.words)
		// A site that does not join is written beyond the stack's end.
		chain.spin, chain.root, chain.bonds, chain.stack = make([]int8, sites), make([]int32, sites), make([]uint8, l+sites), make([]int32, sites+1)
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
	words := len(w.Batch) / len(w.chains)
	state := w.Batch[i*words:][:words]
	clear(state)
	for site, v := range w.chains[i].spin {
		if v > 0 {
			state[site>>6] |= 1 << (site & 63)
		}
	}
}

// wolff flips the cluster of a site drawn at random, as it grows.
func (w *clusters) wolff(c *clusterChain) {
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

// swendsenWang bonds neighbours that agree, and redraws the sign of each cluster.
func (w *clusters) swendsenWang(c *clusterChain) {
	l := w.side
	c.bind(l, w.bond)
	c.label(l)
	// A cluster's root is its first site, so what it leads to is the root already.
	for first := 0; first < len(c.spin); first += l {
		c.need(l)
		words, used := c.words[c.used:], 0
		for k, r := range c.root[first:][:l] {
			i := int32(first + k)
			r = c.root[r]
			c.root[i] = r
			s := c.spin[r]
			if r == i {
				s = int8(1 - 2*int(words[used]>>31))
				used++
			}
			c.spin[i] = s
		}
		c.used += used
	}
}

// bind draws the bonds of all sites.
func (c *clusterChain) bind(l int, bound uint64) {
	for first := 0; first < len(c.spin); first += l {
		c.need(2 * l)
		row, under, bonds := c.spin[first:][:l], c.spin[(first+l)%len(c.spin):][:l], c.bonds[first+l:][:l]
		words, used := c.words[c.used:], 0
		for k, s := range row {
			right, across := row[0], uint8(aroundBond)
			if k+1 < l {
				right, across = row[k+1], rightBond
			}
			same := 1 - differ(s, right)
			bond := same & below(words[used], bound) * across
			used += int(same)
			same = 1 - differ(s, under[k])
			bonds[k] = bond | same&below(words[used], bound)*downBond
			used += int(same)
		}
		c.used += used
	}
}

// label finds the clusters of the bonds.
func (c *clusterChain) label(l int) {
	root := c.root
	for first := 0; first < len(root); first += l {
		before, above := c.bonds[first+l-1:][:l+1], c.bonds[first:][:l]
		for k := range above {
			i := int32(first + k)
			left, up := int32(before[k]&rightBond), int32(above[k]&downBond)/downBond
			root[i] = i
			root[i] = root[i-left-up&^left*int32(l)]
			if left&up != 0 {
				c.join(i, i-int32(l))
			}
		}
		if before[l]&aroundBond != 0 {
			c.join(int32(first+l-1), int32(first))
		}
	}
	last := len(root) - l
	for k, b := range c.bonds[len(root):] {
		if b&downBond != 0 {
			c.join(int32(last+k), int32(k))
		}
	}
}

// join makes one cluster of those of two sites.
func (c *clusterChain) join(i, j int32) {
	root := c.root
	for root[i] != i {
		root[i] = root[root[i]]
		i = root[i]
	}
	for root[j] != j {
		root[j] = root[root[j]]
		j = root[j]
	}
	root[max(i, j)] = min(i, j)
}
