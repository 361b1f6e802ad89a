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
		latent: m.dim(), perStep: work{},
		hasPeer: m.Generator.Kind == "realnvp" && m.Generator.Partition == "parity" &&
			m.dim() == 2 && m.Loss.Kind == "mmd" && len(m.Transition.Sigma) <= 1,
		discrepancy: func(engine.System) phase {
			return pairwisePhase("discrepancy", m.Training.Batch, m.Loss.Kernel, m.dim())
		},
		movedStates: func(s engine.System) []float32 {
			_, to := lastMoves[vectors.States](s)
			return slices.Clone(to.X)
		},
	}
	w.forward, w.backward = m.generator()
	// Each move needs the density at its end, and the first also at its start.
	move, density := m.moves()
	w.transition = sumOf(sumOf(move, density).times(float64(m.Transition.Steps)), density)
	networks, count := m.networks()
	for _, sizes := range networks {
		w.perStep.addTimes(count, kinkTables(sizes...))
	}
	if m.Generator.Kind == "mixture" {
		w.latent++ // a number that chooses the component
	}
	switch m.Loss.Kind {
	case "balance":
		w.balanceStep = m.balanceStep()
	case "discriminator":
		w.discrepancy = nil
	}
	return w
}

func (m mixture) dim() int { return len(m.Target.Components[0].Mean) }

// width returns the number of coordinates that coupling number part changes: half of them,
// rounded up if part is even.
func (m mixture) width(part int) int {
	half := (m.dim() + 1) / 2
	if part%2 == 0 {
		return half
	}
	return m.dim() - half
}

// networks returns the widths of the perceptrons of each coupling or layer, and how many
// perceptrons of these widths each has.
func (m mixture) networks() (sizes [][]int, count float64) {
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
	networks, count := m.networks()
	for l, sizes := range networks {
		f, b := perceptron(l == 0, sizes...)
		forward.addTimes(count, f)
		backward.addTimes(count, b)
	}
	return forward, backward
}

// moves counts a move, which takes a normal number for each coordinate and the acceptance, and
// an evaluation of the target's density.
func (m mixture) moves() (move, density work) {
	d, components := float64(m.dim()), float64(len(m.Target.Components))
	move = sumOf(sumOf(philox, normal, work{FMA: 1, Float: 1}).times(d), philox, exponential)
	density = sumOf(sumOf(work{FMA: d*d + d, Float: d*d + d}, exponential).times(components), logarithm)
	return move, density
}

// balanceStep counts a step by log densities. States are drawn, some of them move, and all
// states before and after moves need ln π, ln q and its gradient. Flows know ln q of the states
// that they draw.
func (m mixture) balanceStep() need {
	n := m.Training.Batch
	drawn, moved := float64(n), float64(engine.NewBalance(m.Loss.Balancing, n, n, 1).NumMoving())
	move, density := m.moves()
	transition := sumOf(sumOf(move, density).times(moved*float64(m.Transition.Steps)), density.times(drawn))
	var draw, logQ, score work
	weighed := drawn + moved
	if m.Generator.Kind == "mixture" {
		draw, logQ, score = m.gaussians()
	} else {
		draw, score = m.generator()
		logQ, weighed = draw, moved
	}
	return need{
		{name: "draw", counts: draw.times(drawn)},
		{name: "transition", counts: transition},
		{name: "density", counts: logQ.times(weighed)},
		{name: "score", counts: score.times(drawn + moved)},
	}
}

// gaussians counts a mixture of Gaussians: a state that it draws, ln q of a state, and the
// gradient of ln q. All are in float64, of which an operation counts twice. A draw takes a
// product with a triangle. ln q takes such a product, an exponential, a sum and a quotient
// for each component, and a logarithm. The gradient takes moments of all components.
func (m mixture) gaussians() (draw, logQ, score work) {
	d, components := float64(m.dim()), float64(m.Generator.Components)
	triangle := d * (d + 1) / 2
	product, comparison := work{FMA: 2, Float: 2}, work{Float: 2}
	shares := work{Float: 2 * 4} // the largest, what is taken from it, the sum, the share
	draw = sumOf(product.times(triangle), comparison.times(components))
	logQ = sumOf(sumOf(product.times(triangle+d), exponential64, shares).times(components), logarithm64)
	return draw, logQ, product.times(components * (2*d + triangle))
}
