package bench

import (
	"cmp"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/gmm"
)

type mixtureModel struct{ *gmm.Config }

func (m mixtureModel) dim() int { return len(m.Target.Components[0].Mean) }

// width returns the number of coordinates of one of the two parts of a flow.
func (m mixtureModel) width(part int) int {
	half := (m.dim() + 1) / 2
	if part%2 == 0 {
		return half
	}
	return m.dim() - half
}

// networks returns the widths of the perceptrons of each layer, and how many there are.
func (m mixtureModel) networks() (sizes [][]int, each float64) {
	g := &m.Generator
	for l := range g.Depth {
		in, out := m.width(l+1), m.width(l)
		if g.Kind != "realnvp" {
			in = cmp.Or(g.Latent, m.dim())
			out = in
		}
		sizes = append(sizes, slices.Concat([]int{in}, g.Hidden, []int{out}))
	}
	if g.Kind == "realnvp" {
		return sizes, 2
	}
	return sizes, 1
}

func (m mixtureModel) generator() (forward, backward work) {
	forward, backward = work{}, work{}
	networks, each := m.networks()
	for l, sizes := range networks {
		f, b := perceptron(l == 0, sizes...) // only the first sees noise, whose gradient nobody needs
		forward.add(each, f)
		backward.add(each, b)
	}
	return forward, backward
}

func (m mixtureModel) pieces() (step work, bytes int) {
	step = work{}
	networks, each := m.networks()
	for _, sizes := range networks {
		s, b := pieces(sizes...)
		step.add(each, s)
		bytes = max(bytes, b)
	}
	return step, bytes
}

func (m mixtureModel) discrepancy(engine.System, []float32) ([]phase, error) {
	if m.Loss.Kind != "mmd" {
		return nil, nil
	}
	return []phase{pairwise("discrepancy", m.Training.Batch, m.Loss.Kernel, m.dim())}, nil
}

// transition counts, for each step, a normal number a coordinate, the density where it leads and
// the acceptance; and the density where the first begins.
func (m mixtureModel) transition() work {
	d, components := float64(m.dim()), float64(len(m.Target.Components))
	density := work{}
	density.add(components, work{FMA: d*d + d, Float: d*d + d})
	density.add(components, exponential)
	density.add(1, logarithm)
	moves := work{}
	moves.add(d, philox)
	moves.add(d, normal)
	moves.add(d, work{FMA: 1, Float: 1})
	moves.add(1, density)
	moves.add(1, philox)
	moves.add(1, exponential)
	all := moves.times(float64(m.Transition.Steps))
	all.add(1, density)
	return all
}

func (m mixtureModel) known() bool {
	return m.Generator.Kind == "realnvp" && m.Generator.Partition == "parity" &&
		m.dim() == 2 && m.Loss.Kind == "mmd" && len(m.Transition.Sigma) <= 1
}

func (m mixtureModel) latent() (dim int, decided bool) { return m.dim(), false }

func (m mixtureModel) moved(s engine.System) []float32 {
	_, to := lastMoves[vectors.States](s)
	return slices.Clone(to.X)
}
