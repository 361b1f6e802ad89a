package hierarchy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/revgen/revgen/asm"
)

// A Model is the architecture of a generator for one target: the order in which
// spins are drawn, what each sees, which share weights, and which are exact. It
// is immutable; all numbers that training changes are in a flat vector θ.
type Model struct {
	target  Target
	units   []unit
	nets    []*Net // of the units
	exact   *exact
	learned int // spins that a perceptron draws
	params  int
	biased  bool // the target has a field: hidden layers have biases
}

// A unit is a set of spins that are drawn one after another, independently
// given all units before, by one net with shared weights, whose value is the logit of a
// spin. Without a field there are no biases and no shift, and the logit is odd.
type unit struct {
	*Net
	name   string
	sites  []int32
	inputs []int32 // [len(sites)][padded] sites of the inputs; site n, whose spin does not exist, fills up
	first  int     // position of its first spin among the learned ones
}

// A Layout says which unit draws which sites.
type Layout struct {
	Name   string
	Sites  []int
	Inputs [][]int // [site][m]
	Images [][]int // nil for the identity alone
	Hidden int
}

// build makes the model in which the units draw spins in order and the exact
// part all others.
func build(t Target, layouts []Layout) (*Model, error) {
	m := &Model{target: t, biased: slices.ContainsFunc(t.Fields, func(h float64) bool { return h != 0 })}
	known := make([]bool, t.Spins)
	for _, l := range layouts {
		inputs := 0
		if len(l.Inputs) > 0 {
			inputs = len(l.Inputs[0])
		}
		net, err := NewNet(inputs, l.Images, l.Hidden, m.biased, m.biased, m.params)
		if err != nil {
			return nil, err
		}
		u := unit{Net: net, name: l.Name, first: m.learned}
		m.params += u.Params()
		for k, s := range l.Sites {
			u.sites = append(u.sites, int32(s))
			for _, i := range l.Inputs[k] {
				if !known[i] {
					panic("hierarchy: a unit looks at a spin that is not drawn yet")
				}
				u.inputs = append(u.inputs, int32(i))
			}
			for range u.padded - u.m {
				u.inputs = append(u.inputs, int32(t.Spins))
			}
		}
		for _, s := range l.Sites {
			if known[s] {
				panic("hierarchy: a spin is drawn twice")
			}
			known[s] = true
		}
		m.learned += len(u.sites)
		m.units, m.nets = append(m.units, u), append(m.nets, net)
	}
	var err error
	m.exact, err = newExact(&m.target, known)
	return m, err
}

// Spins returns the number of spins n.
func (m *Model) Spins() int { return m.target.Spins }

// Words returns the number of words of a configuration.
func (m *Model) Words() int { return (m.Spins() + 63) / 64 }

// NumParams returns the length of θ.
func (m *Model) NumParams() int { return m.params }

// Learned returns how many spins perceptrons draw; the others are exact.
func (m *Model) Learned() int { return m.learned }

// Operations returns what a sample takes of the perceptrons: how many rows of 16
// numbers of their tables are added up, how many times 16 hidden units are activated, and
// how many outputs there are.
func (m *Model) Operations() (rows, vectors, outputs int) {
	for i := range m.units {
		u := &m.units[i]
		if u.hidden == 0 {
			continue
		}
		layer := len(u.sites) * u.lanes / asm.BitLanes
		rows, vectors, outputs = rows+layer*u.padded/4, vectors+layer, outputs+len(u.sites)
	}
	return rows, vectors, outputs
}

// Initialize fills θ with the starting values that belong to the seed, with which every
// learned spin is fair.
func (m *Model) Initialize(params []float32, seed uint64) { Initialize(m.nets, params, seed) }

// TensorName returns the name of the array that parameter i belongs to.
func (m *Model) TensorName(i int) string {
	for k := range m.units {
		if name := m.units[k].Tensor(i); name != "" {
			return m.units[k].name + "." + name
		}
	}
	return fmt.Sprintf("parameter %d", i)
}

// Transfer fills dst, parameters of m as Initialize left them, from those of
// another model, of a smaller size or at another temperature, and returns how
// many units found none. Levels of spacing 8 and more take the weights of the
// level with as many cells around the smaller lattice, the others those of
// their own spacing. Inputs and hidden units that the other model lacks begin
// without effect; a spin's own inputs that m lacks are left out.
func (m *Model) Transfer(dst []float32, from *Model, params []float32) (left int) {
	byName := map[string]*unit{}
	for i := range from.units {
		byName[from.units[i].name] = &from.units[i]
	}
	for i := range m.units {
		u := &m.units[i]
		o, own := byName[u.name], strings.HasPrefix(u.name, spinUnit)
		var spacing int
		var group string
		if n, _ := fmt.Sscanf(u.name, "%d:%s", &spacing, &group); n == 2 {
			for ratio := m.Spins(); ratio > from.Spins() && spacing >= 8; ratio /= 4 {
				spacing /= 2
			}
			o = byName[fmt.Sprintf("%d:%s", spacing, group)]
		}
		if o == nil || o.hidden > u.hidden || o.m > u.m && !own || m.biased != from.biased || len(o.images) != len(u.images) {
			left++
			continue
		}
		for h := range o.hidden {
			w, theirs := dst[u.weights+h*u.m:][:u.m], params[o.weights+h*o.m:][:o.m]
			clear(w)
			if !own {
				copy(w, theirs)
				continue
			}
			// A spin's own weights: at another temperature the order may be another.
			for j, x := range theirs {
				if k := slices.Index(u.inputs[:u.m], o.inputs[j]); k >= 0 {
					w[k] = x
				}
			}
		}
		copy(dst[u.output:], params[o.output:][:o.hidden])
		if m.biased {
			copy(dst[u.biases:], params[o.biases:][:o.hidden])
			dst[u.shift] = params[o.shift]
		}
	}
	return left
}
