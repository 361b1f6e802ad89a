package categories

import (
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/pool"
)

// A Model is the architecture of a generator for one target: its plan, how its networks read
// states, and which sites are exact. It is immutable. All numbers that training changes are in
// a flat vector θ.
type Model struct {
	hierarchy.Plan
	target    Target
	coding    coding
	symmetric bool // relabelling states leaves π and q as they are
	law       *law
}

// states returns the number of states of a unit's sites.
func (m *Model) states(u *hierarchy.Unit) int { return m.target.States[u.Sites[0]] }

// A coding turns states into bits: a word for each site and plane. View c has planes c·features to
// (c+1)·features − 1, and shows how a site looks from state c.
type coding struct {
	Code
	q        int // number of states
	features int // planes of a view
	views    int // q, or 1 if all states share one
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

// write sets the bits of a site in a block's [planes][size] from the states of its samples.
func (c *coding) write(bits []uint64, size, site int, x *[block]byte) {
	var masks [MaxStates]uint64 // of the samples in each state
	for b, s := range x {
		masks[s&(MaxStates-1)] |= 1 << b
	}
	switch c.Code {
	case Distance:
		for from := range c.q {
			var near uint64
			for k := range c.features {
				near |= masks[(from+k)%c.q] | masks[(from-k+c.q)%c.q]
				bits[(from*c.features+k)*size+site] = near
			}
		}
	default:
		for p := range c.planes() {
			bits[p*size+site] = masks[p]
		}
	}
}

// A Network describes how sites are drawn.
type Network struct {
	// Side is the side of a square lattice whose sites share weights, a multiple of four. It is 0
	// for a graph.
	Side int
	// Neighbours is the number of drawn sites that a site is drawn given. On a graph it is a
	// maximum, on a lattice approximate.
	Neighbours int
	// Hidden is the number of hidden units. On a lattice each has eight images.
	Hidden int
}

// MaxNeighbours returns the largest Neighbours of a network for a target.
func MaxNeighbours(t *Target, side int) int {
	code, _ := t.Code()
	c := newCoding(code, t.MaxQ())
	if side > 0 {
		return hierarchy.NeighboursOf(c.maxInputs())
	}
	return c.maxInputs()
}

// maxInputs returns the largest number of sites that a network can read.
func (c *coding) maxInputs() int { return asm.BitInputs / c.features }

// MaxHidden returns the largest number of hidden units.
func MaxHidden(side int) int {
	if side > 0 {
		return hierarchy.MaxHidden
	}
	return hierarchy.MaxUnits
}

// NewModel returns the model of a target.
func NewModel(t Target, n Network, workers *pool.Pool) (*Model, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	code, symmetric := t.Code()
	m := &Model{target: t, coding: newCoding(code, t.MaxQ()), symmetric: symmetric}
	maxInputs := m.coding.maxInputs()
	var layouts []hierarchy.Layout
	var err error
	if n.Side > 0 {
		s := hierarchy.Square{Side: n.Side, Neighbours: n.Neighbours, Hidden: n.Hidden}
		layouts, err = s.Layouts(maxInputs)
	} else {
		layouts, err = hierarchy.Graph{Target: t.skeleton(), Neighbours: min(n.Neighbours, maxInputs), Inputs: hierarchy.Reached, Hidden: n.Hidden}.Layouts(workers)
	}
	if err != nil {
		return nil, err
	}
	learned := make([]bool, t.N())
	for _, l := range layouts {
		if err := m.addUnit(l, learned); err != nil {
			return nil, err
		}
	}
	m.law, err = newLaw(&m.target, learned)
	return m, err
}

// skeleton returns a target of spins on the same graph, whose bonds are as strong as the pairs.
func (t *Target) skeleton() hierarchy.Target {
	s := hierarchy.Target{Spins: t.N(), Beta: 1}
	couplings := map[*float64]float64{} // by the first entry of the energies
	for _, p := range t.Pairs {
		k, ok := couplings[&p.Energy[0]]
		if !ok {
			k = math.Atanh(strength(p.Energy, t.States[p.I], t.States[p.J], t.Beta))
			couplings[&p.Energy[0]] = k
		}
		s.Bonds = append(s.Bonds, hierarchy.Bond{I: p.I, J: p.J, Coupling: k})
	}
	return s
}

// addUnit adds the unit of a layout, and marks its sites as learned.
func (m *Model) addUnit(l hierarchy.Layout, learned []bool) error {
	nets := 1
	if !m.symmetric {
		nets = m.target.States[l.Sites[0]]
	}
	return m.Add(l, learned, hierarchy.Coding{Nets: nets, Features: m.coding.features, Views: m.coding.views, Biased: true, Shifted: !m.symmetric})
}

// Sites returns the number of sites.
func (m *Model) Sites() int { return m.target.N() }

// Words returns the number of bytes of a configuration, one a site.
func (m *Model) Words() int { return m.target.N() }

// Target returns the target.
func (m *Model) Target() *Target { return &m.target }
