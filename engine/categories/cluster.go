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

// Draws returns how many random words a move takes.
func (c *Clusters) draws() int { return (len(c.bond)+3)/4*4 + (c.target.N()+3)/4*4 }

// Move takes moves first, first+1, … of a stream with a configuration.
func (c *Clusters) Move(s []byte, stream *rng.Counter, first uint64, moves int) {
	draw, root := make([]uint32, c.draws()), make([]int32, len(s))
	find := func(i int32) int32 {
		for root[i] != i {
			root[i] = root[root[i]]
			i = root[i]
		}
		return i
	}
	states := draw[(len(c.bond)+3)/4*4:]
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

// Single takes moves of Wolff with a configuration: one cluster, that of a site by chance, is
// given another state by chance.
func (c *Clusters) Single(s []byte, stream *rng.Counter, first uint64, moves int) {
	draw := make([]uint32, c.draws())
	near := make([][]int, len(s)) // pairs of each site
	for k, p := range c.target.Pairs {
		near[p.I], near[p.J] = append(near[p.I], k), append(near[p.J], k)
	}
	for move := range moves {
		asm.PhiloxBlocks(draw, stream, (first+uint64(move))*uint64(len(draw)/4))
		last := draw[(len(c.bond)+3)/4*4:]
		i := int(uint64(last[0]) * uint64(len(s)) >> 32)
		old, q := s[i], c.target.States[i]
		to := byte((int(old) + 1 + int(uint64(last[1%len(last)])*uint64(q-1)>>32)) % q)
		s[i] = to
		for queue := []int{i}; len(queue) > 0; queue = queue[1:] {
			for _, k := range near[queue[0]] {
				p := &c.target.Pairs[k]
				j := p.I + p.J - queue[0]
				if s[j] == old && draw[k] < c.bond[k] {
					s[j] = to
					queue = append(queue, j)
				}
			}
		}
	}
}
