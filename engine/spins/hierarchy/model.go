package hierarchy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/revgen/revgen/asm"
)

// A Model is the architecture of a generator for one target: its plan, and which spins are
// exact. It is immutable; all numbers that training changes are in a flat vector θ.
type Model struct {
	Plan
	target Target
	exact  *exact
	biased bool // the target has a field: hidden layers have biases
}

// build makes the model whose units draw the spins of the layouts in order, and whose exact part
// draws all others. Without a field there are no biases and no shift, and logits are odd.
func build(t Target, layouts []Layout) (*Model, error) {
	m := &Model{target: t, biased: slices.ContainsFunc(t.Fields, func(h float64) bool { return h != 0 })}
	learned := make([]bool, t.Spins)
	for _, l := range layouts {
		if err := m.Add(l, learned, Coding{Nets: 1, Features: 1, Views: 1, Biased: m.biased, Shifted: m.biased}); err != nil {
			return nil, err
		}
	}
	var err error
	m.exact, err = newExact(&m.target, learned)
	return m, err
}

// Spins returns the number of spins n.
func (m *Model) Spins() int { return m.target.Spins }

// Words returns the number of words of a configuration.
func (m *Model) Words() int { return (m.Spins() + 63) / 64 }

// Operations returns what the perceptrons compute for a sample: how many rows of 16 numbers of
// their tables are added up, how many vectors of 16 hidden units are activated, and how many
// outputs there are.
func (m *Model) Operations() (rows, vectors, outputs int) {
	for i := range m.Units {
		u := &m.Units[i]
		if u.hidden == 0 {
			continue
		}
		layer := len(u.Sites) * u.lanes / asm.BitLanes
		rows, vectors, outputs = rows+layer*u.padded/4, vectors+layer, outputs+len(u.Sites)
	}
	return rows, vectors, outputs
}

// Transfer copies parameters of another model, of a smaller size or at another temperature, to
// dst, parameters of m as Initialize left them. It returns how many units found no counterpart.
// On lattices, levels of spacing 8 and more take the weights of the level with as many cells
// around the smaller lattice, the others those of their own spacing. Inputs and hidden units
// that the other model lacks begin without effect. On graphs, inputs that m lacks are left out.
func (m *Model) Transfer(dst []float32, from *Model, params []float32) (unmatched int) {
	byName := map[string]*Unit{}
	for i := range from.Units {
		byName[from.Units[i].Name] = &from.Units[i]
	}
	for i := range m.Units {
		u := &m.Units[i]
		o, isSpin := byName[u.Name], strings.HasPrefix(u.Name, spinUnit)
		var spacing int
		var group string
		if n, _ := fmt.Sscanf(u.Name, "%d:%s", &spacing, &group); n == 2 {
			for ratio := m.Spins(); ratio > from.Spins() && spacing >= 8; ratio /= 4 {
				spacing /= 2
			}
			o = byName[fmt.Sprintf("%d:%s", spacing, group)]
		}
		if o == nil || o.hidden > u.hidden || o.m > u.m && !isSpin || m.biased != from.biased || len(o.images) != len(u.images) {
			unmatched++
			continue
		}
		for h := range o.hidden {
			w, old := dst[u.weights+h*u.m:][:u.m], params[o.weights+h*o.m:][:o.m]
			clear(w)
			if !isSpin {
				copy(w, old)
				continue
			}
			// At another temperature a spin may have its inputs in another order.
			for j, x := range old {
				if k := slices.Index(u.Inputs[0][:u.m], o.Inputs[0][j]); k >= 0 {
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
	return unmatched
}
