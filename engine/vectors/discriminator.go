package vectors

import (
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/internal/pool"
)

// discriminatorLoss is the learned loss of package critic.
var discriminatorLoss = pairLoss{
	name: "a learned discriminator",
	make: func(l *LossConfig, n, dim, modes int, seed uint64, workers *pool.Pool) discrepancy {
		return newDiscriminator(n, dim, modes, l.Discriminator, seed, workers)
	},
	check: func(*LossConfig) error { return nil },
	room: func(l *LossConfig, n, dim, modes int) float64 {
		return l.Discriminator.Bytes(n, dim+modes) + 4*3*float64(n*(dim+modes))
	},
}

// A discriminator shows a critic states as vectors (x, e_k), with a unit vector e_k for the mode.
type discriminator struct {
	*critic.Critic
	dim, modes    int
	s, next, grad []float32 // s, s′ and ∂L/∂s, [n][dim + modes]
	alter         func(state []float32, _, mode int)
}

func newDiscriminator(n, dim, modes int, c critic.Config, seed uint64, workers *pool.Pool) *discriminator {
	size := n * (dim + modes)
	o := &discriminator{
		Critic: critic.New(n, dim+modes, c, seed, workers), dim: dim, modes: modes,
		s: make([]float32, size), next: make([]float32, size), grad: make([]float32, size),
	}
	o.alter = func(state []float32, _, mode int) { setMode(state[dim:], mode) }
	return o
}

// setMode sets a vector to the unit vector of a mode.
func setMode(unit []float32, mode int) {
	clear(unit)
	unit[mode] = 1
}

// embed sets dst to the vectors (x, e_k).
func (o *discriminator) embed(dst []float32, s States) {
	width := o.dim + o.modes
	for i := range s.Len() {
		row := dst[i*width:][:width]
		copy(row, s.X[i*o.dim:][:o.dim])
		if s.K != nil {
			setMode(row[o.dim:], int(s.K[i]))
		}
	}
}

func (o *discriminator) LossGradient(ds stateGradient, s, next States) float64 {
	o.embed(o.s, s)
	o.embed(o.next, next)
	o.Evaluate(o.s, o.next)
	o.Gradient(o.grad)
	for i := range s.Len() {
		copy(ds.x[i*o.dim:][:o.dim], o.grad[i*(o.dim+o.modes):])
	}
	if o.modes > 0 {
		o.Changes(ds.k, o.modes, o.alter)
	}
	return o.Learn()
}
