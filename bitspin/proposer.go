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

	sites bound // draws a site, or one less than the number of spins of a mask

	// Multi-spin proposal, up to tabulatedSites sites.
	masks   []uint16 // by their number of spins
	start   []uint32 // masks of n+1 spins begin at start[n]
	subsets []bound  // subsets[n] draws one of them
}

// A decoder says how words become masks.
type decoder uint8

const (
	oneOrAll  decoder = iota // single spins and the global flip, N ≤ 64
	byFlips                  // the same for N > 64, drawn by Flips
	tabulated                // multi-spin, N ≤ tabulatedSites
	floyd                    // multi-spin, N > tabulatedSites
)

// newProposer returns a proposer of a proposal on a lattice.
func newProposer(lat *Lattice, proposal Proposal) *proposer {
	p := &proposer{lattice: lat, proposal: proposal, sites: newBound(uint32(lat.N))}
	switch multi := proposal.kind == multiSpin; {
	case !multi && lat.N <= 64:
		p.decode = oneOrAll
	case !multi:
		p.decode = byFlips
	case lat.N <= tabulatedSites:
		p.decode = tabulated
		p.tabulate()
	default:
		p.decode = floyd
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

// MaxSteps returns the number of Metropolis steps that have distinct streams
// under one (seed, purpose, step).
func (p *proposer) MaxSteps() int {
	if p.decode == floyd {
		return 1 << (perSampleBits - bits.Len(uint(p.lattice.N/4+16))) // twice the blocks that masks take at most
	}
	return 1 << (perSampleBits - blockBits)
}

// A strip holds what is drawn in one step for up to stripSize samples.
type strip struct {
	words [4 * stripSize]uint32 // block 0 of each sample; words 2 and 3 are for the acceptance
	masks [stripSize]uint64
}

// uniform returns the 64-bit uniform number that decides sample i's acceptance.
func (d *strip) uniform(i int) uint64 { return join(d.words[4*i+2], d.words[4*i+3]) }

// drawStrip fills d for the samples first … first+n−1 of a lattice of at most 64 sites.
func (p *proposer) drawStrip(d *strip, c *asm.Counter, first uint64, step, n int) {
	asm.PhiloxBlocks(d.words[:4*n], c, blockIndex(first, step, 0))
	sites, global := p.sites, p.proposal.global
	redraw := func(i int) uint32 { return sites.redraw(c, first+uint64(i), step, 0) }
	switch p.decode {
	case oneOrAll:
		all := p.lattice.lastWord
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
				rank = subsets[size].redraw(c, first+uint64(i), step, 1)
			}
			d.masks[i] = uint64(masks[start[size]+rank])
		}
	}
}

// drawSubset draws a mask of the multi-spin proposal by Floyd's algorithm. It
// takes as many draws as the smaller of the subset and its complement has
// elements.
func (p *proposer) drawSubset(mask []uint64, r *wordReader) {
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
