package bench

import (
	"cmp"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/vectors"
	"github.com/revgen/revgen/gmm"
)

// A mixture counts the work of a configuration of gmm.
type mixture struct{ *gmm.Config }

func (m mixture) model() *model {
	w := &model{
		latent: m.dim(), once: work{},
		known: m.Generator.Kind == "realnvp" && m.Generator.Partition == "parity" &&
			m.dim() == 2 && m.Loss.Kind == "mmd" && len(m.Transition.Sigma) <= 1,
		discrepancy: func(engine.System) phase {
			return pairwise("discrepancy", m.Training.Batch, m.Loss.Kernel, m.dim())
		},
		moved: func(s engine.System) []float32 {
			_, to := lastMoves[vectors.States](s)
			return slices.Clone(to.X)
		},
	}
	w.forward, w.backward = m.generator()
	// The moves, with the density where each leads and where the first begins.
	move, density := m.moves()
	w.transition = total(total(move, density).times(float64(m.Transition.Steps)), density)
	networks, each := m.networks()
	for _, sizes := range networks {
		w.once.add(each, pieces(sizes...))
	}
	if m.Generator.Kind == "mixture" {
		w.latent++ // one chooses the component
	}
	switch m.Loss.Kind {
	case "balance":
		w.balanced = m.balanced()
	case "discriminator":
		w.discrepancy = nil
	}
	return w
}

func (m mixture) dim() int { return len(m.Target.Components[0].Mean) }

// width returns the number of coordinates of one of the two parts of a flow.
func (m mixture) width(part int) int {
	half := (m.dim() + 1) / 2
	if part%2 == 0 {
		return half
	}
	return m.dim() - half
}

// networks returns the widths of the perceptrons of each coupling or layer, and how many it has.
func (m mixture) networks() (sizes [][]int, each float64) {
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

func (m mixture) generator() (forward, backward work) {
	forward, backward = work{}, work{}
	networks, each := m.networks()
	for l, sizes := range networks {
		f, b := perceptron(l == 0, sizes...) // only the first sees noise, whose gradient nobody needs
		forward.add(each, f)
		backward.add(each, b)
	}
	return forward, backward
}

// moves counts a proposal, a normal number a coordinate, and its acceptance; and a density.
func (m mixture) moves() (move, density work) {
	d, components := float64(m.dim()), float64(len(m.Target.Components))
	move = total(total(philox, normal, work{FMA: 1, Float: 1}).times(d), philox, exponential)
	density = total(total(work{FMA: d*d + d, Float: d*d + d}, exponential).times(components), logarithm)
	return move, density
}

// balanced counts a step by log densities: states are drawn, a part of them moves, and all have
// their ln π, ln q and its gradient. Flows know ln q of what they draw.
func (m mixture) balanced() need {
	n := m.Training.Batch
	all, moved := float64(n), float64(engine.NewBalance(m.Loss.Balancing, n, n, 1).NumMoving())
	move, density := m.moves()
	transition := total(total(move, density).times(moved*float64(m.Transition.Steps)), density.times(all))
	var draw, logQ, score work
	weighed := all + moved
	if m.Generator.Kind == "mixture" {
		draw, logQ, score = m.gaussians()
	} else {
		draw, score = m.generator()
		logQ, weighed = draw, moved
	}
	return need{
		{name: "draw", counts: draw.times(all)},
		{name: "transition", counts: transition},
		{name: "density", counts: logQ.times(weighed)},
		{name: "score", counts: score.times(all + moved)},
	}
}

// gaussians counts a state that a mixture of Gaussians draws, ln q of one and its gradient, in
// float64, of which a vector holds half as many numbers: a product with a triangle for each; of
// all components an exponential, a sum and a quotient, and a logarithm; and moments of all.
func (m mixture) gaussians() (draw, logQ, score work) {
	d, components := float64(m.dim()), float64(m.Generator.Components)
	triangle := d * (d + 1) / 2
	product, comparison := work{FMA: 2, Float: 2}, work{Float: 2}
	shares := work{Float: 2 * 4} // the largest, what is taken from it, the sum, the share
	draw = total(product.times(triangle), comparison.times(components))
	logQ = total(total(product.times(triangle+d), exponential64, shares).times(components), logarithm64)
	return draw, logQ, product.times(components * (2*d + triangle))
}
