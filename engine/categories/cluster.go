package categories

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
)

// Clusters are moves of Swendsen and Wang of a Potts model without fields whose couplings are
// ferromagnetic: neighbours in the same state are bonded with probability 1 − e^(−βJ), and each
// cluster of bonded sites is given a state by chance. They hardly slow down where heat bath
// does, and leave π as it is.
type Clusters struct {
	target *Target
	bond   []uint32 // threshold of each pair
}

// NewClusters returns the moves, or says why the target has none.
func NewClusters(t *Target) (*Clusters, error) {
	code, even := t.Code()
	if code != Same || !even {
		return nil, fmt.Errorf("clusters need energies that depend on whether states are equal, and no field")
	}
	c := &Clusters{target: t}
	for _, p := range t.Pairs {
		k := t.Beta * (p.Energy[1] - p.Energy[0])
		if k < 0 {
			return nil, fmt.Errorf("clusters need ferromagnetic couplings, and that of sites %d and %d is not", p.I, p.J)
		}
		c.bond = append(c.bond, uint32(min(math.RoundToEven(-math.Expm1(-k)*0x1p32), math.MaxUint32)))
	}
	return c, nil
}

// Move takes moves first, first+1, … of a stream with a configuration.
func (c *Clusters) Move(s []byte, stream *rng.Counter, first uint64, moves int) {
	bonds := (len(c.bond) + 3) / 4 * 4 // words drawn for them, before those for states
	draw, root := make([]uint32, bonds+(c.target.N()+3)/4*4), make([]int32, len(s))
	find := func(i int32) int32 {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	states := draw[bonds:]
	for move := range moves {
		asm.PhiloxBlocks(draw, stream, (first+uint64(move))*uint64(len(draw)/4))
		for i := range root {
			root[i] = int32(i)
		}
		for k := range c.target.Pairs {
			p := &c.target.Pairs[k]
			if s[p.I] == s[p.J] && draw[k] < c.bond[k] {
				root[find(int32(p.I))] = find(int32(p.J))
			}
		}
		for i := range s {
			s[i] = byte(uint64(states[find(int32(i))]) * uint64(c.target.States[i]) >> 32)
		}
	}
}
