package bench

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/revgen/revgen/bench/peers"
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

// sizes returns the widths of the two perceptrons of coupling l.
func (m mixtureModel) sizes(l int) []int {
	sizes := append([]int{m.width(l + 1)}, m.Generator.Hidden...)
	return append(sizes, m.width(l))
}

func (m mixtureModel) generator() (forward, backward work) {
	g := &m.Generator
	forward, backward = work{}, work{}
	for l := range g.Depth {
		var sizes []int
		nets := 2.0
		if g.Kind == "realnvp" {
			sizes = m.sizes(l)
		} else {
			latent := cmp.Or(g.Latent, m.dim())
			sizes, nets = append(append([]int{latent}, g.Hidden...), latent), 1
		}
		f, b := perceptron(l == 0, sizes...) // only the first sees noise, whose gradient nobody needs
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
	return m.written() && m.dim() == 2 && m.Loss.Kind == "mmd" && len(m.Transition.Sigma) <= 1
}

// written reports whether peers know the generator.
func (m mixtureModel) written() bool {
	return m.Generator.Kind == "realnvp" && m.Generator.Partition == "parity"
}

func (m mixtureModel) latent() (dim int, decided bool) { return m.dim(), false }

func (m mixtureModel) moved(s engine.System) []float32 {
	_, to := lastMoves[vectors.States](s)
	return slices.Clone(to.X)
}

func (m mixtureModel) samples(s engine.System, params []float32, p *peers.Process) (agreement, error) {
	const n = 2048
	if !m.written() {
		return agreement{}, errOwnRecipe
	}
	sampler := s.(engine.Sampler)
	data := make([]byte, 4*n*m.dim())
	if err := sampler.Sample(data, sampler.Formats()[0].Name, params, 0, n, 0); err != nil {
		return agreement{}, err
	}
	ours, theirs := make([]float32, n*m.dim()), make([]float32, n*m.dim())
	if _, err := binary.Decode(data, binary.LittleEndian, ours); err != nil {
		return agreement{}, err
	}
	if err := generated(p, m, m.Config, params, n, theirs); err != nil {
		return agreement{}, err
	}
	return agreement{worst(ours, theirs), 1e-4, "largest difference relative to the largest coordinate, from the same noise"}, nil
}
