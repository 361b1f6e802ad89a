package asm

import "math"

// A LatticeHeatBath redraws spins of many replicas of an Ising model in which every site has
// four neighbours. A spin becomes up with a probability that depends only on the number of its
// neighbours that are up. Replicas are laid out as for Sweep, one bit for each: the spins of
// site i of a block of ReplicaBits replicas are ReplicaWords words from word i·ReplicaWords on.
type LatticeHeatBath struct {
	// Plane k is for bit 31−k of the five thresholds in units of 2⁻³². That bit is a polynomial
	// over GF(2) in the bits ones, twos and fours of the number of neighbours that are up. The
	// plane has the coefficients of 1, ones, twos, ones·twos and fours, each as a word of
	// zeros or of ones.
	planes [acceptancePlanes]latticePlane
}

type latticePlane = [5]uint64

// A Neighbourhood is a site and its four neighbours, some of which may be the same.
type Neighbourhood [5]uint32

// Sites are sites to redraw, none of which is a neighbour of another, so that their order does
// not matter.
type Sites struct {
	list       []Neighbourhood
	blockSites int // least number of sites of a block
}

// NewSites returns the list of the given sites.
func NewSites(list []Neighbourhood) *Sites {
	s := &Sites{list: list}
	redrawn := map[uint32]bool{}
	for _, site := range list {
		redrawn[site[0]] = true
	}
	for _, site := range list {
		for k, i := range site {
			panicIf(k > 0 && redrawn[i], "a site to redraw is a neighbour of another")
			s.blockSites = max(s.blockSites, int(i)+1)
		}
	}
	return s
}

// NewLatticeHeatBath returns a heat bath with probability up[k] of up for a spin with k
// neighbours that are up, rounded to a multiple of 2⁻³² other than 0 and 1.
func NewLatticeHeatBath(up [5]float64) *LatticeHeatBath {
	var thresholds [5]uint64
	for k, p := range up {
		panicIf(!(0 <= p && p <= 1), "probability of a spin out of range")
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

// Probability returns the rounded probability of up for a spin with k neighbours that are up.
func (h *LatticeHeatBath) Probability(k int) float64 {
	var p float64
	for i, plane := range &h.planes {
		if h.threshold(&plane, uint64(k&1), uint64(k>>1&1), uint64(k>>2))&1 != 0 {
			p += math.Ldexp(1, -i-1)
		}
	}
	return p
}

// threshold returns the bit of the threshold that a plane is for, in each of 64 replicas.
func (*LatticeHeatBath) threshold(plane *latticePlane, ones, twos, fours uint64) uint64 {
	return plane[0] ^ ones&plane[1] ^ twos&plane[2] ^ ones&twos&plane[3] ^ fours&plane[4]
}

// Redraw redraws sites of one block of replicas.
//
// Sites are redrawn two at a time, and the last of an odd number alone. Draws are compared with
// thresholds bit by bit, the highest first. Each plane of bits takes one output of the generator
// for each site. The comparison ends after at least eight planes when no replica is undecided,
// and after 32 in any case. All paths give the same bits.
func (h *LatticeHeatBath) Redraw(spins []uint64, sites *Sites, g *Xoshiro) {
	panicIf(len(spins) < sites.blockSites*ReplicaWords, "a site outside of the block of replicas")
	const maxSites = 1 << 12 // of one call, which cannot be preempted
	for list := sites.list; len(list) > 0; list = list[min(maxSites, len(list)):] {
		h.redraw(spins, list[:min(maxSites, len(list))], g)
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
		var ones, twos, fours, up, undecided [2]replicas
		for k, site := range pair {
			for i := range undecided[k] {
				for _, j := range site[1:] {
					carry := spins[int(j)*ReplicaWords+i]
					ones[k][i], carry = ones[k][i]^carry, ones[k][i]&carry
					twos[k][i], carry = twos[k][i]^carry, twos[k][i]&carry
					fours[k][i] |= carry
				}
				undecided[k][i] = ^uint64(0)
			}
		}
		for p := range h.planes {
			var anyUndecided uint64
			for k := range pair {
				for i, random := range g.next() {
					threshold := h.threshold(&h.planes[p], ones[k][i], twos[k][i], fours[k][i])
					up[k][i] |= undecided[k][i] & threshold &^ random
					undecided[k][i] &^= threshold ^ random
					anyUndecided |= undecided[k][i]
				}
			}
			if p >= minPlanes-1 && anyUndecided == 0 {
				break
			}
		}
		for k, site := range pair {
			copy(spins[int(site[0])*ReplicaWords:], up[k][:])
		}
	}
}
