package categories

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
)

// Clusters are the moves of Swendsen and Wang for a ferromagnetic Potts model without fields. They
// bond neighbours in the same state with probability 1 − e^(−βJ), and give each cluster of bonded
// sites a random state. They leave π invariant, and hardly slow down near the critical point, where
// heat bath does.
type Clusters struct {
	target *Target
	bond   []uint32 // threshold of a random word below which a pair of equal states is bonded
}

// NewClusters returns the moves, or says why the target has none.
func NewClusters(t *Target) (*Clusters, error) {
	code, symmetric := t.Code()
	if code != Same || !symmetric {
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

// Move changes a configuration by moves first, first+1, … of a stream.
func (c *Clusters) Move(s []byte, stream *rng.Counter, first uint64, moves int) {
	bondWords := (len(c.bond) + 3) / 4 * 4
	words, root := make([]uint32, bondWords+(c.target.N()+3)/4*4), make([]int32, len(s))
	find := func(i int32) int32 {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	stateWords := words[bondWords:]
	for move := range moves {
		asm.PhiloxBlocks(words, stream, (first+uint64(move))*uint64(len(words)/4))
		for i := range root {
			root[i] = int32(i)
		}
		for k := range c.target.Pairs {
			p := &c.target.Pairs[k]
			if s[p.I] == s[p.J] && words[k] < c.bond[k] {
				root[find(int32(p.I))] = find(int32(p.J))
			}
		}
		for i := range s {
			s[i] = byte(uint64(stateWords[find(int32(i))]) * uint64(c.target.States[i]) >> 32)
		}
	}
}
