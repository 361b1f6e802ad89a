package asm

import "math"

// A LatticeHeatBath redraws spins of many replicas of an Ising model in which every site
// has four neighbours: a spin becomes up with a probability that depends on how
// many of its neighbours are up, whatever it was. One bit belongs to one replica,
// laid out as for Sweep: the spins of site i of a block of ReplicaBits replicas
// are words i·ReplicaWords and following.
type LatticeHeatBath struct {
	// Bit 31−k of the five thresholds in units of 2⁻³², as coefficients, zeros or
	// ones throughout, of a polynomial over GF(2) in the bits of the number of
	// neighbours that are up: 1, ones, twos, ones·twos, fours.
	planes [acceptancePlanes]latticePlane
}

type latticePlane = [5]uint64

// A Neighbourhood is a site and its four neighbours, which need not differ from
// each other.
type Neighbourhood [5]uint32

// Sites are sites to redraw one after the other or, as none of them is a
// neighbour of another, at the same time.
type Sites struct {
	list  []Neighbourhood
	block int // sites that a block must have
}

// NewSites returns the list of the given sites.
func NewSites(list []Neighbourhood) *Sites {
	s := &Sites{list: list}
	own := map[uint32]bool{}
	for _, site := range list {
		own[site[0]] = true
	}
	for _, site := range list {
		for k, i := range site {
			refuse(k > 0 && own[i], "a site to redraw is a neighbour of another")
			s.block = max(s.block, int(i)+1)
		}
	}
	return s
}

// NewLatticeHeatBath returns updates that set a spin of which k neighbours are up to up
// with probability up[k], rounded to a multiple of 2⁻³² that is neither 0 nor 1.
func NewLatticeHeatBath(up [5]float64) *LatticeHeatBath {
	var thresholds [5]uint64
	for k, p := range up {
		refuse(!(0 <= p && p <= 1), "probability of a spin out of range")
		scaled := math.RoundToEven(math.Ldexp(p, acceptancePlanes))
		thresholds[k] = uint64(min(max(scaled, 1), 1<<acceptancePlanes-1))
	}
	h := &LatticeHeatBath{}
	for k := range h.planes {
		bit := func(i int) uint64 { return -(thresholds[i] >> (acceptancePlanes - 1 - k) & 1) }
		h.planes[k] = latticePlane{bit(0), bit(0) ^ bit(1), bit(0) ^ bit(2), bit(0) ^ bit(1) ^ bit(2) ^ bit(3), bit(0) ^ bit(4)}
	}
	return h
}

// Probability returns the probability with which a spin of which k neighbours
// are up becomes up, as it was rounded.
func (h *LatticeHeatBath) Probability(k int) float64 {
	var p float64
	for i, plane := range &h.planes {
		if h.threshold(&plane, uint64(k&1), uint64(k>>1&1), uint64(k>>2))&1 != 0 {
			p += math.Ldexp(1, -i-1)
		}
	}
	return p
}

// threshold evaluates one plane.
func (*LatticeHeatBath) threshold(plane *latticePlane, ones, twos, fours uint64) uint64 {
	return plane[0] ^ ones&plane[1] ^ twos&plane[2] ^ ones&twos&plane[3] ^ fours&plane[4]
}

// Redraw redraws sites of one block of replicas.
//
// Draws are compared with the thresholds bit by bit, the highest first, for two
// sites at a time and a single one that is left. Every plane of bits takes one
// output of the generator for each site, eight planes in any case and then as
// many as leave some replica undecided, at most 32. All paths give the same bits.
func (h *LatticeHeatBath) Redraw(spins []uint64, sites *Sites, g *Xoshiro) {
	refuse(len(spins) < sites.block*ReplicaWords, "a site outside of the block of replicas")
	const most = 1 << 12 // sites in one call, which cannot be interrupted
	for list := sites.list; len(list) > 0; list = list[min(most, len(list)):] {
		h.redraw(spins, list[:min(most, len(list))], g)
	}
}

func (h *LatticeHeatBath) redraw(spins []uint64, sites []Neighbourhood, g *Xoshiro) {
	if useAVX2 {
		latticeHeatBathVector(&spins[0], (*[5]uint32)(&sites[0]), len(sites), (*[4][8]uint64)(g), &h.planes)
	} else {
		h.redrawGeneric(spins, sites, g)
	}
}

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
