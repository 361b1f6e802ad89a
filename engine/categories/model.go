package categories

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/spins/hierarchy"
	"github.com/revgen/revgen/internal/pool"
)

// A Model is the architecture of a generator for one target: the order in which sites are
// drawn, what each sees, which share weights, and which are exact. It is immutable; all
// numbers that training changes are in a flat vector θ.
type Model struct {
	target  Target
	coding  coding
	even    bool // relabelling states leaves π and q as they are
	units   []unit
	nets    []*hierarchy.Net // of the units, one after another
	owners  []int            // the unit of each
	law     *law
	learned int // sites that networks draw
	params  int
}

// A unit is a set of sites that are drawn one after another, independently given all units
// before, with nets that they share.
type unit struct {
	name   string
	nets   []*hierarchy.Net // one for all states, or one for each
	kernel int              // number of the first of them
	q      int              // states of a site
	sites  []int32
	inputs [][]int32 // by view, [len(sites)][padded] words of a block's bits
	first  int       // position of its first site among the learned ones
}

// net returns the number of the net of a state among those of the model.
func (u *unit) net(c int) int { return u.kernel + min(c, len(u.nets)-1) }

// of returns the inputs of the net of a state at the k-th site.
func (u *unit) of(c, k int) []int32 {
	padded := u.nets[0].Padded()
	return u.inputs[min(c, len(u.inputs)-1)][k*padded:][:padded]
}

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
	f, size := m.coding.features, m.target.N()+1
	u := unit{name: l.Name, kernel: len(m.nets), first: m.learned, q: m.target.States[l.Sites[0]]}
	var images [][]int
	for _, image := range l.Images {
		var wide []int
		for _, j := range image {
			for k := range f {
				wide = append(wide, j*f+k)
			}
		}
		images = append(images, wide)
	}
	nets := u.q
	if m.even {
		nets = 1
	}
	for range nets {
		net, err := hierarchy.NewNet(len(l.Inputs[0])*f, images, l.Hidden, true, !m.even, m.params)
		if err != nil {
			return err
		}
		u.nets, m.owners, m.params = append(u.nets, net), append(m.owners, len(m.units)), m.params+net.Params()
	}
	for view := range m.coding.views {
		var inputs []int32
		for k := range l.Sites {
			for _, i := range l.Inputs[k] {
				if !known[i] {
					panic("categories: a unit looks at a site that is not drawn yet")
				}
				for p := range f {
					inputs = append(inputs, int32((view*f+p)*size+i))
				}
			}
			for len(inputs) < (k+1)*u.nets[0].Padded() {
				inputs = append(inputs, int32(m.target.N())) // whose bit is never set
			}
		}
		u.inputs = append(u.inputs, inputs)
	}
	for _, s := range l.Sites {
		if known[s] {
			panic("categories: a site is drawn twice")
		}
		known[s], u.sites = true, append(u.sites, int32(s))
	}
	m.learned += len(u.sites)
	m.units, m.nets = append(m.units, u), append(m.nets, u.nets...)
	return nil
}

// unitOf returns the unit of a net.
func (m *Model) unitOf(net int) *unit { return &m.units[m.owners[net]] }

// Sites returns the number of sites, and Words the same: a configuration has a byte for each.
func (m *Model) Sites() int { return m.target.N() }
func (m *Model) Words() int { return m.target.N() }

// Target returns what the model is of.
func (m *Model) Target() *Target { return &m.target }

// NumParams returns the length of θ.
func (m *Model) NumParams() int { return m.params }

// Initialize fills θ with the starting values that belong to the seed, with which every
// learned site is fair.
func (m *Model) Initialize(params []float32, seed uint64) {
	hierarchy.Initialize(m.nets, params, seed)
}

// TensorName returns the name of the array that parameter i belongs to.
func (m *Model) TensorName(i int) string {
	for k := range m.units {
		u := &m.units[k]
		for c := range u.nets {
			name := u.nets[c].Tensor(i)
			switch {
			case name == "":
			case len(u.nets) == 1:
				return u.name + "." + name
			default:
				return fmt.Sprintf("%s.%d.%s", u.name, c, name)
			}
		}
	}
	return fmt.Sprintf("parameter %d", i)
}
