package asm

func (h *LatticeHeatBath) redrawGeneric(spins []uint64, sites []Neighbourhood, g *Xoshiro) {
	for ; len(sites) > 0; sites = sites[min(2, len(sites)):] {
		pair := sites[:min(2, len(sites))]
		var ones, twos, fours, up, open [2]replicas // open: not yet decided
		for k, site := range pair {
			for i := range open[k] {
				for _, j := range site[1:] {
					carry := spins[int(j)*ReplicaWords+i]
					ones[k][i], carry = ones[k][i]^carry, ones[k][i]&carry
					twos[k][i], carry = twos[k][i]^carry, twos[k][i]&carry
					fours[k][i] |= carry
				}
				open[k][i] = ^uint64(0)
			}
		}
		for p := range h.planes {
			var left uint64
			for k := range pair {
				for i, random := range g.next() {
					threshold := h.threshold(&h.planes[p], ones[k][i], twos[k][i], fours[k][i])
					up[k][i] |= open[k][i] & threshold &^ random
					open[k][i] &^= threshold ^ random
					left |= open[k][i]
				}
			}
			if p >= surePlanes-1 && left == 0 {
				break
			}
		}
		for k, site := range pair {
			copy(spins[int(site[0])*ReplicaWords:], up[k][:])
		}
	}
}
