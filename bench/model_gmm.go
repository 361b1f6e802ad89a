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

func (m mixtureModel) generator() (forward, backward work) {
	g := &m.Generator
	forward, backward = work{}, work{}
	for l := range g.Depth {
		in, out, nets := m.width(l+1), m.width(l), 2.0 // of a coupling
		if g.Kind != "realnvp" {
			in = cmp.Or(g.Latent, m.dim())
			out, nets = in, 1
		}
		f, b := perceptron(l == 0, slices.Concat([]int{in}, g.Hidden, []int{out})...) // only the first sees noise, whose gradient nobody needs
		forward.add(nets, f)
		backward.add(nets, b)
	}
	return forward, backward
}

func (m mixtureModel) discrepancy(engine.System, []float32) ([]phase, error) {
	if m.Loss.Kind != "mmd" {
		return nil, nil
	}
	return []phase{pairwise("discrepancy", m.Training.Batch, m.Loss.Kernel, m.dim())}, nil
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
