package hierarchy

import (
	"fmt"
	"math"

	"github.com/revgen/revgen/engine/rng"
)

// A Plan says in which order a model's sites are drawn, what each looks at, and which of them
// share weights.
type Plan struct {
	Units   []Unit
	Nets    []*Net // of all units in order
	owners  []int  // the unit of each net
	learned int    // number of sites that nets draw
	params  int    // length of θ
}

// A Unit is a set of sites that share nets, whose values are logits. The sites are independent
// given those of all units before.
type Unit struct {
	*Net   // the first of Nets
	Name   string
	Nets   []*Net // one for all states of a site, or one for each
	Kernel int    // index of the first net in the plan
	Sites  []int32
	Inputs [][]int32 // [view][site][padded] words of a block's bits
	Begin  int       // position of its first site among the learned ones
}

// NetOf returns the index in the plan of a state's net.
func (u *Unit) NetOf(state int) int { return u.Kernel + min(state, len(u.Nets)-1) }

// InputsOf returns the inputs of a state's net at the k-th site.
func (u *Unit) InputsOf(state, k int) []int32 {
	return u.Inputs[min(state, len(u.Inputs)-1)][k*u.padded:][:u.padded]
}

// A Layout says which unit draws which sites.
type Layout struct {
	Name   string
	Sites  []int
	Inputs [][]int // [site][m]
	Images [][]int // nil for the identity alone
	Hidden int
}

// A Coding says what nets a unit has, and which bits of a block they read. The bits are planes of
// a word for each site and a zero.
type Coding struct {
	Nets     int // of a unit
	Features int // planes of a view: bits that a net reads of a site
	Views    int
	Biased   bool // hidden units have biases
	Shifted  bool // nets have shifts
}

// Add adds the unit of a layout, and marks its sites as known.
func (p *Plan) Add(l Layout, known []bool, c Coding) error {
	u := Unit{Name: l.Name, Kernel: len(p.Nets), Begin: p.learned}
	var images [][]int // of bits
	for _, image := range l.Images {
		var bits []int
		for _, input := range image {
			for f := range c.Features {
				bits = append(bits, input*c.Features+f)
			}
		}
		images = append(images, bits)
	}
	for range c.Nets {
		net, err := NewNet(len(l.Inputs[0])*c.Features, images, l.Hidden, c.Biased, c.Shifted, p.params)
		if err != nil {
			return err
		}
		u.Nets, p.owners, p.params = append(u.Nets, net), append(p.owners, len(p.Units)), p.params+net.Params()
	}
	u.Net = u.Nets[0]
	for view := range c.Views {
		var inputs []int32
		for k := range l.Sites {
			for _, i := range l.Inputs[k] {
				if !known[i] {
					panic("hierarchy: a unit looks at a site that is not drawn yet")
				}
				for f := range c.Features {
					inputs = append(inputs, int32((view*c.Features+f)*(len(known)+1)+i))
				}
			}
			for len(inputs) < (k+1)*u.padded {
				inputs = append(inputs, int32(len(known))) // the zero
			}
		}
		u.Inputs = append(u.Inputs, inputs)
	}
	for _, s := range l.Sites {
		if known[s] {
			panic("hierarchy: a site is drawn twice")
		}
		known[s], u.Sites = true, append(u.Sites, int32(s))
	}
	p.learned += len(u.Sites)
	p.Units, p.Nets = append(p.Units, u), append(p.Nets, u.Nets...)
	return nil
}

// Owner returns the unit of a net.
func (p *Plan) Owner(net int) *Unit { return &p.Units[p.owners[net]] }

// NumParams returns the length of θ.
func (p *Plan) NumParams() int { return p.params }

// Learned returns how many sites nets draw; the others are exact.
func (p *Plan) Learned() int { return p.learned }

// Initialize fills θ with the initial values of a seed: hidden weights are normal with standard
// deviation 0.7/√m, all others zero, so that all states of a learned site are equally likely.
func (p *Plan) Initialize(params []float32, seed uint64) {
	clear(params)
	for i, u := range p.Nets {
		w, stream := params[u.weights:][:u.hidden*u.m], rng.Stream(seed, rng.Initialization, uint32(i))
		rng.Normals(w, len(w), &stream, 0)
		for k := range w {
			w[k] *= 0.7 / float32(math.Sqrt(float64(u.m)))
		}
	}
}

// TensorName returns the name of the array that parameter i belongs to.
func (p *Plan) TensorName(i int) string {
	for k := range p.Units {
		u := &p.Units[k]
		for c, net := range u.Nets {
			name := net.Tensor(i)
			switch {
			case name == "":
			case len(u.Nets) == 1:
				return u.Name + "." + name
			default:
				return fmt.Sprintf("%s.%d.%s", u.Name, c, name)
			}
		}
	}
	return fmt.Sprintf("parameter %d", i)
}
