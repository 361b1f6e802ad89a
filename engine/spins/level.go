package spins

import (
	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/engine/sites"
)

// A level holds chains of a graph at one temperature in the words of a heat bath, one spin of
// Lanes chains in each. A step redraws all spins once, colour after colour. It is not in
// detailed balance, but leaves the Boltzmann law as it is, which is all that averages need. It
// implements sites.Level.
type level struct {
	*Sweeper
	lanes   []*lanes
	flipped []uint64 // [lanes] bit i: whether chain i is that of lanes with all spins flipped
}

// tabulateEvery is the number of steps after which tabulated fields are computed anew, without
// the rounding errors of their updates.
const tabulateEvery = 256

// Hold implements sites.Holder.
func (s *Sweeper) Hold(batch []uint64) sites.Level[uint64] {
	h := &level{Sweeper: s}
	for whole := Lanes * s.heat.graph.Words(); len(batch) > 0; batch = batch[min(whole, len(batch)):] {
		l := s.heat.newLanes()
		bitspin.Columns(l.spins, batch[:min(whole, len(batch))], len(l.spins), 1)
		s.heat.tabulate(l)
		h.lanes, h.flipped = append(h.lanes, l), append(h.flipped, 0)
	}
	return h
}

// Advance implements sites.Level. lo and first are multiples of Lanes.
func (h *level) Advance(energies []float64, lo, hi int, c *rng.Counter, first uint64) {
	for ; lo < hi; lo += Lanes {
		l, position := h.lanes[lo/Lanes], (first+uint64(lo))/Lanes*uint64(h.heat.graph.N())
		if c.Step%tabulateEvery == 0 {
			h.heat.tabulate(l)
		}
		for _, colour := range h.colours {
			h.heat.update(l, colour, c, position)
			position += uint64(len(colour))
		}
		var laneEnergies [Lanes]float64
		h.heat.energies(&laneEnergies, l)
		copy(energies[lo:hi], laneEnergies[:])
	}
}

// Exchange implements sites.Level. from is a multiple of Lanes.
func (h *level) Exchange(other sites.Level[uint64], from int, mask uint64) {
	k, o := from/Lanes, other.(*level)
	h.heat.exchange(h.lanes[k], o.lanes[k], mask)
	x := (h.flipped[k] ^ o.flipped[k]) & mask
	h.flipped[k] ^= x
	o.flipped[k] ^= x
}

// Stir implements sites.Level: without fields it flips all spins of a chain with probability ½.
func (h *level) Stir(c rng.Counter, first uint64) {
	if h.heat.graph.HasFields() {
		return
	}
	var draw [4]uint32
	for k := range h.flipped {
		asm.PhiloxBlocks(draw[:], &c, first/Lanes+uint64(k))
		h.flipped[k] ^= uint64(draw[1])<<32 | uint64(draw[0])
	}
}

// Read implements sites.Level.
func (h *level) Read(batch []uint64) {
	words, n := h.heat.graph.Words(), h.heat.graph.N()
	for k, l := range h.lanes {
		part := batch[k*Lanes*words : min((k+1)*Lanes*words, len(batch))]
		bitspin.Rows(part, part, l.spins, len(l.spins), 1)
		for i := range len(part) / words {
			if h.flipped[k]>>i&1 != 0 {
				bitspin.Invert(part[i*words:][:words], n)
			}
		}
	}
}
