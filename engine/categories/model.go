package categories

import (
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/pool"
)

// A Model is the architecture of a generator for one target: its plan, what its networks read
// of states, and which sites are exact. It is immutable; all numbers that training changes are in
// a flat vector θ.
type Model struct {
	hierarchy.Plan
	target Target
	coding coding
	even   bool // relabelling states leaves π and q as they are
	law    *law
}

// states returns the number of states of a unit's sites.
func (m *Model) states(u *hierarchy.Unit) int { return m.target.States[u.Sites[0]] }

// A coding makes bits of states: a word for each site and plane, where the view of state c
// has the planes c·features and those after it.
type coding struct {
	Code
	q, features, views int
}

func newCoding(code Code, q int) coding {
	switch code {
	case Same:
		return coding{code, q, 1, q}
	case Distance:
		return coding{code, q, q / 2, q}
	}
	return coding{code, q, q - 1, 1}
}

func (c *coding) planes() int { return c.features * c.views }

// write sets a site's bits, of a block's [planes][sites + 1], from its samples' states.
func (c *coding) write(bits []uint64, size, site int, x *[block]byte) {
	var is [MostStates]uint64
	for b, s := range x {
		is[s&(MostStates-1)] |= 1 << b
	}
	switch c.Code {
	case Distance:
		for from := range c.q {
			var near uint64
			for k := range c.features {
				near |= is[(from+k)%c.q] | is[(from-k+c.q)%c.q]
				bits[(from*c.features+k)*size+site] = near
			}
		}
	default:
		for p := range c.planes() {
			bits[p*size+site] = is[p]
		}
	}
}

// A Network describes how sites are drawn.
type Network struct {
	// Side is that of a square lattice, a multiple of four, whose sites share weights; 0 for
	// any graph.
	Side int
	// Neighbours is the number of drawn sites that a site looks at: at most on a graph, about
	// on a lattice.
	Neighbours int
	// Hidden is the number of hidden units; on a lattice there are eight images of each.
	Hidden int
}

// MostNeighbours returns how many drawn sites a site of a target can look at.
func MostNeighbours(t *Target, side int) int {
	code, _ := t.Code()
	c := newCoding(code, t.Most())
	most := asm.BitInputs / c.features
	if side > 0 {
		return hierarchy.NeighboursOf(most)
	}
	return most
}

// MostHidden returns the largest number of hidden units.
func MostHidden(side int) int {
	if side > 0 {
		return hierarchy.MostHidden
	}
	return hierarchy.MostUnits
}

// NewModel returns the model of a target.
func NewModel(t Target, n Network, workers *pool.Pool) (*Model, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	code, even := t.Code()
	m := &Model{target: t, coding: newCoding(code, t.Most()), even: even}
	most := asm.BitInputs / m.coding.features
	var layouts []hierarchy.Layout
	var err error
	if n.Side > 0 {
		s := hierarchy.Square{Side: n.Side, Neighbours: n.Neighbours, Hidden: n.Hidden}
		layouts, err = s.Layouts(most)
	} else {
		layouts, err = hierarchy.Graph{Target: t.skeleton(), Neighbours: min(n.Neighbours, most), Inputs: hierarchy.Reached, Hidden: n.Hidden}.Layouts(workers)
	}
	if err != nil {
		return nil, err
	}
	known := make([]bool, t.N())
	for _, l := range layouts {
		if err := m.add(l, known); err != nil {
			return nil, err
		}
	}
	m.law, err = newLaw(&m.target, known)
	return m, err
}

// skeleton is a target of spins on the same graph whose bonds are as strong.
func (t *Target) skeleton() hierarchy.Target {
	s := hierarchy.Target{Spins: t.N(), Beta: 1}
	known := map[*float64]float64{}
	for _, p := range t.Pairs {
		k, ok := known[&p.Energy[0]]
		if !ok {
			k = math.Atanh(strength(p.Energy, t.States[p.I], t.States[p.J], t.Beta))
			known[&p.Energy[0]] = k
		}
		s.Bonds = append(s.Bonds, hierarchy.Bond{I: p.I, J: p.J, Coupling: k})
	}
	return s
}

// add adds the unit of a layout.
func (m *Model) add(l hierarchy.Layout, known []bool) error {
	nets := 1
	if !m.even {
		nets = m.target.States[l.Sites[0]]
	}
	return m.Add(l, known, hierarchy.Coding{Nets: nets, Features: m.coding.features, Views: m.coding.views, Biased: true, Shifted: !m.even})
}

// Sites returns the number of sites, and Words the same: a configuration has a byte for each.
func (m *Model) Sites() int { return m.target.N() }
func (m *Model) Words() int { return m.target.N() }

// Target returns what the model is of.
func (m *Model) Target() *Target { return &m.target }
