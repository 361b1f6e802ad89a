package hierarchy

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine/rng"
)

// A Model is the architecture of a generator for one target: the order in which
// spins are drawn, what each sees, which share weights, and which are exact. It
// is immutable; all numbers that training changes are in a flat vector θ.
type Model struct {
	target  Target
	units   []unit
	exact   *exact
	learned int // spins that a perceptron draws
	params  int
	biased  bool // the target has a field: hidden layers have biases
}

// A unit is a set of spins that are drawn one after another, independently
// given all units before, by one perceptron with shared weights: the logit of
// the spin at site i is
//
//	shift + Σ_g Σ_h v_h f(b_h + Σ_j W_hj x_{i, g(j)}),
//
// a sum over the symmetries g that map the unit's inputs on each other. Without
// a field there are no biases b and shift, and the logit is odd.
type unit struct {
	name   string
	sites  []int32
	inputs []int32 // [len(sites)][padded] sites of the inputs; site n, whose spin does not exist, fills up
	m      int     // inputs of a site
	padded int     // m, rounded up to a multiple of 4
	images [][]int // [symmetry][m] g(j)
	hidden int     // H; 0 if nothing is to be learned
	lanes  int     // hidden units with their images, rounded up to whole vectors
	first  int     // position of its first spin among the learned ones

	weights, output, biases, shift int // where in θ: W [H][m], v [H], and b [H], shift [1] with a field
}

// A layout says which unit draws which spins.
type layout struct {
	name   string
	sites  []int
	inputs [][]int // [site][m]
	images [][]int // nil for the identity alone
	hidden int
}

// build makes the model in which the units draw spins in order and the exact
// part all others.
func build(t Target, layouts []layout) (*Model, error) {
	m := &Model{target: t, biased: !t.symmetric()}
	known := make([]bool, t.Spins)
	for _, l := range layouts {
		u := unit{name: l.name, first: m.learned, images: l.images, hidden: l.hidden}
		if len(l.inputs) > 0 {
			u.m = len(l.inputs[0])
		}
		if u.m == 0 {
			u.hidden = 0
		}
		if u.m > asm.BitInputs {
			return nil, fmt.Errorf("neighbours: %d inputs of unit %s are more than %d", u.m, u.name, asm.BitInputs)
		}
		if u.images == nil {
			identity := make([]int, u.m)
			for j := range identity {
				identity[j] = j
			}
			u.images = [][]int{identity}
		}
		u.padded = (u.m + 3) &^ 3
		u.lanes = (u.hidden*len(u.images) + asm.BitLanes - 1) / asm.BitLanes * asm.BitLanes
		if u.lanes > asm.BitHidden {
			return nil, fmt.Errorf("hidden: %d hidden units in %d images are more than %d", u.hidden, len(u.images), asm.BitHidden)
		}
		for k, s := range l.sites {
			u.sites = append(u.sites, int32(s))
			for _, i := range l.inputs[k] {
				if !known[i] {
					panic("hierarchy: a unit looks at a spin that is not drawn yet")
				}
				u.inputs = append(u.inputs, int32(i))
			}
			for range u.padded - u.m {
				u.inputs = append(u.inputs, int32(t.Spins))
			}
		}
		for _, s := range l.sites {
			if known[s] {
				panic("hierarchy: a spin is drawn twice")
			}
			known[s] = true
		}
		m.learned += len(u.sites)
		take := func(n int) (at int) {
			at, m.params = m.params, m.params+n
			return at
		}
		u.weights, u.output = take(u.hidden*u.m), take(u.hidden)
		if m.biased {
			u.biases, u.shift = take(u.hidden), take(1)
		}
		m.units = append(m.units, u)
	}
	var err error
	m.exact, err = newExact(&m.target, known)
	return m, err
}

// Spins returns the number of spins n.
func (m *Model) Spins() int { return m.target.Spins }

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

// Initialize fills θ with the starting values that belong to the seed: hidden
// weights normal with standard deviation 0.7/√m, output weights and biases
// zero, so that every learned spin is fair.
func (m *Model) Initialize(params []float32, seed uint64) {
	clear(params)
	for i := range m.units {
		u := &m.units[i]
		w := params[u.weights:][:u.hidden*u.m]
		stream := rng.Stream(seed, rng.Initialization, uint32(i))
		rng.Normals(w, len(w), &stream, 0)
		for k := range w {
			w[k] *= 0.7 / float32(math.Sqrt(float64(u.m)))
		}
	}
}

// TensorName returns the name of the array that parameter i belongs to.
func (m *Model) TensorName(i int) string {
	for k := range m.units {
		u := &m.units[k]
		switch j := i - u.weights; {
		case j < 0:
		case j < u.hidden*u.m:
			return u.name + ".weights"
		case j < u.hidden*(u.m+1):
			return u.name + ".output"
		case m.biased && j < u.hidden*(u.m+2):
			return u.name + ".biases"
		case m.biased && j == u.hidden*(u.m+2):
			return u.name + ".shift"
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
