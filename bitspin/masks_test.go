package bitspin

// Masks stores in dst the masks that are proposed in the given Metropolis step
// to the samples firstSample, firstSample+1, …, len(dst)/Words of them. The
// samples lie below MaxSamples, the step below MaxSteps.
func (p *Proposer) Masks(dst []uint64, c *Counter, firstSample uint64, step int) {
	words := p.lattice.Words
	checkBatch(dst, len(dst)/words, words)
	checkStream(p, firstSample, len(dst)/words, step+1)
	switch p.decode {
	case site:
		var d strip
		for ; len(dst) > 0; firstSample += stripSize {
			n := min(stripSize, len(dst)/words)
			p.draw(&d, c, firstSample, step, n)
			for i := range n {
				p.siteMask(dst[i*words:][:words], d.masks[i])
			}
			dst = dst[n*words:]
		}
	case floyd:
		var r wordReader
		for ; len(dst) > 0; firstSample++ {
			r.reset(c, p.sequentialIndex(firstSample, step))
			p.sample(dst[:words], &r)
			dst = dst[words:]
		}
	default:
		var d strip
		for ; len(dst) > 0; firstSample += stripSize {
			n := min(stripSize, len(dst))
			p.draw(&d, c, firstSample, step, n)
			copy(dst, d.masks[:n])
			dst = dst[n:]
		}
	}
}

// siteMask stores the mask of one site, or of all for site N.
func (p *Proposer) siteMask(mask []uint64, site uint64) {
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
	s[len(s)-1] = lat.top
}
