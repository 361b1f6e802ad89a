package bitspin

import (
	"math/bits"

	"github.com/revgen/revgen/asm"
)

// tabulatedSites is the largest lattice whose states and flip masks are all tabulated.
const tabulatedSites = 16

// A proposer draws the flip masks of a proposal on a lattice. It is immutable
// and may be shared by any number of goroutines.
type proposer struct {
	lattice  *Lattice
	proposal Proposal
	decode   decoder

	sites bound // [0, N)

	// Multi-spin proposal, up to tabulatedSites sites: the masks ordered by
	// their number of spins, those of n+1 spins from start[n] on.
	masks   []uint16
	start   []uint32
	subsets []bound

	// Multi-spin proposal, up to 64 sites.
	binomial [][]uint64 // binomial[k][n] is n over k, for k ≤ N/2
	ranks    []bound64  // number of subsets of n+1 spins

	sequential int // multi-spin proposal on more sites: bits of a block within a step
}

// A decoder says how words become masks.
type decoder uint8

const (
	oneOrAll  decoder = iota // N ≤ 64: single spins and the global flip
	tabulated                // N ≤ tabulatedSites: multi-spin
	ranked                   // N ≤ 64: multi-spin
	site                     // N > 64: single spins and the global flip, which Flips draw
	floyd                    // N > 64: multi-spin
)

// newProposer returns a proposer of a proposal on a lattice.
func newProposer(lat *Lattice, proposal Proposal) *proposer {
	p := &proposer{lattice: lat, proposal: proposal, sites: newBound(uint32(lat.N))}
	switch multi := proposal.kind == multiSpin; {
	case lat.N <= 64 && !multi:
		p.decode = oneOrAll
	case lat.N <= tabulatedSites:
		p.decode = tabulated
		p.tabulate()
	case lat.N <= 64:
		p.decode = ranked
		p.binomials()
	case !multi:
		p.decode = site
	default:
		p.decode = floyd
		p.sequential = sequentialBlock(lat.N)
	}
	return p
}

// tabulate lists the non-empty masks by their number of spins.
func (p *proposer) tabulate() {
	n := p.lattice.N
	for size := 1; size <= n; size++ {
		p.start = append(p.start, uint32(len(p.masks)))
		for mask := 1; mask < 1<<n; mask++ {
			if bits.OnesCount(uint(mask)) == size {
				p.masks = append(p.masks, uint16(mask))
			}
		}
		p.subsets = append(p.subsets, newBound(uint32(len(p.masks))-p.start[size-1]))
	}
}

// binomials fills the tables that turn ranks into subsets.
func (p *proposer) binomials() {
	n := p.lattice.N
	p.binomial = make([][]uint64, n/2+1)
	for k := range p.binomial {
		p.binomial[k] = make([]uint64, n+1)
		for i := range p.binomial[k] {
			switch {
			case k == 0:
				p.binomial[k][i] = 1
			case i > 0:
				p.binomial[k][i] = p.binomial[k-1][i-1] + p.binomial[k][i-1]
			}
		}
	}
	for size := 1; size <= n; size++ {
		p.ranks = append(p.ranks, newBound64(p.binomial[min(size, n-size)][n]))
	}
}

// MaxSteps returns the number of Metropolis steps that have distinct streams
// under one (seed, purpose, step).
func (p *proposer) MaxSteps() int {
	if n := p.lattice.N; n > 64 && p.proposal.kind == multiSpin {
		return 1 << (sequentialBits - sequentialBlock(n))
	}
	return 1 << (sequentialBits - blockBits)
}

// sequentialBlock returns the bits of a block within a step of the multi-spin
// proposal on more than 64 sites.
func sequentialBlock(n int) int { return bits.Len(uint(n/4 + len(wordReader{}.buffer))) }

// A strip holds what is drawn in one step for up to stripSize samples.
type strip struct {
	words [4 * stripSize]uint32 // block 0 of each sample; words 2 and 3 are for the acceptance
	ranks [4 * stripSize]uint32 // block 1, if used
	masks [stripSize]uint64
}

// uniform returns the 64-bit uniform number that decides sample i's acceptance.
func (d *strip) uniform(i int) uint64 { return join(d.words[4*i+2], d.words[4*i+3]) }

// draw fills d for the samples first … first+n−1, on at most 64 sites.
func (p *proposer) draw(d *strip, c *asm.Counter, first uint64, step, n int) {
	asm.PhiloxBlocks(d.words[:4*n], c, blockIndex(first, step, 0))
	sites, global := p.sites, p.proposal.global
	redraw := func(i int) uint32 { return sites.redraw(c, first+uint64(i), step, 0, retryBlock) }
	switch p.decode {
	case oneOrAll:
		all := p.lattice.top
		for i := range d.masks[:n] {
			site, ok := sites.draw(d.words[4*i])
			if !ok {
				site = redraw(i)
			}
			m := uint64(1) << (site & 63)
			if d.words[4*i+1] < global {
				m = all
			}
			d.masks[i] = m
		}
	case tabulated:
		masks, start, subsets := p.masks, p.start, p.subsets
		for i := range d.masks[:n] {
			size, ok := sites.draw(d.words[4*i])
			if !ok {
				size = redraw(i)
			}
			rank, ok := subsets[size].draw(d.words[4*i+1])
			if !ok {
				rank = subsets[size].redraw(c, first+uint64(i), step, 1, retryBlock)
			}
			d.masks[i] = uint64(masks[start[size]+rank])
		}
	case ranked:
		asm.PhiloxBlocks(d.ranks[:4*n], c, blockIndex(first, step, 1))
		for i := range d.masks[:n] {
			size, ok := sites.draw(d.words[4*i])
			if !ok {
				size = redraw(i)
			}
			rank, ok := p.ranks[size].draw(join(d.ranks[4*i], d.ranks[4*i+1]))
			if !ok {
				rank = p.ranks[size].redraw(c, first+uint64(i), step)
			}
			d.masks[i] = p.unrank(int(size)+1, rank)
		}
	}
}

// unrank returns the subset of the given size and rank in the combinatorial
// number system: the k-th smallest element is the largest i with
// (i over k) ≤ what the larger elements leave of the rank. Subsets of more
// than half of the sites are complements.
func (p *proposer) unrank(size int, rank uint64) uint64 {
	n := p.lattice.N
	k := min(size, n-size)
	var mask uint64
	for i := n - 1; k > 0; i-- {
		if c := p.binomial[k][i]; rank >= c {
			rank -= c
			mask |= 1 << (i & 63)
			k--
		}
	}
	if 2*size > n {
		mask ^= p.lattice.top
	}
	return mask
}

func (p *proposer) sequentialIndex(sample uint64, step int) uint64 {
	return sample<<sequentialBits | uint64(step)<<p.sequential
}

// sample draws a mask of the multi-spin proposal by Floyd's algorithm, which
// takes as many draws as the smaller of the subset and its complement has
// elements.
func (p *proposer) sample(mask []uint64, r *wordReader) {
	n := uint32(p.lattice.N)
	size := r.uniform(n) + 1
	clear(mask)
	for j := n - min(size, n-size); j < n; j++ {
		t := r.uniform(j + 1)
		if mask[t>>6]>>(t&63)&1 != 0 {
			t = j
		}
		mask[t>>6] |= 1 << (t & 63)
	}
	if 2*size > n {
		Invert(mask, p.lattice.N)
	}
}
