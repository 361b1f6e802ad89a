package bitspin

import "github.com/revgen/revgen/asm"

// propose stores in dst the masks that are proposed in the given Metropolis step
// to the samples firstSample, firstSample+1, …, len(dst)/Words of them.
func (p *proposer) propose(dst []uint64, c *asm.Counter, firstSample uint64, step int) {
	words := p.lattice.Words
	if p.decode == floyd {
		for ; len(dst) > 0; firstSample++ {
			p.read(dst[:words], c, firstSample, step)
			dst = dst[words:]
		}
		return
	}
	if p.decode == byFlips {
		for ; len(dst) > 0; firstSample++ {
			var draw [4]uint32
			asm.PhiloxBlocks(draw[:], c, blockIndex(firstSample, step, 0))
			i, ok := p.sites.draw(draw[0])
			if !ok {
				i = p.sites.redraw(c, firstSample, step, 0)
			}
			if draw[1] < p.proposal.global {
				i = p.sites.n
			}
			p.siteMask(dst[:words], uint64(i))
			dst = dst[words:]
		}
		return
	}
	var d strip
	for ; len(dst) > 0; firstSample += stripSize {
		n := min(stripSize, len(dst)/words)
		p.drawStrip(&d, c, firstSample, step, n)
		copy(dst, d.masks[:n])
		dst = dst[n*words:]
	}
}

// read stores the mask of a step of the multi-spin proposal on more than tabulatedSites
// sites, and returns what reads the words of its acceptance.
func (p *proposer) read(mask []uint64, c *asm.Counter, sample uint64, step int) *wordReader {
	r := new(wordReader)
	r.reset(c, sample)
	for range step {
		p.drawSubset(mask, r)
		r.word()
		r.word()
	}
	p.drawSubset(mask, r)
	return r
}

// siteMask stores the mask of one site, or of all for site N.
func (p *proposer) siteMask(mask []uint64, site uint64) {
	if site < uint64(p.lattice.N) {
		clear(mask)
		mask[site>>6] = 1 << (site & 63)
		return
	}
	p.lattice.fill(mask)
}

// fill sets all spins to +1.
func (lat *Lattice) fill(s []uint64) {
	for w := range s {
		s[w] = ^uint64(0)
	}
	s[len(s)-1] = lat.lastWord
}
