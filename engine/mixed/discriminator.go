package mixed

import (
	"github.com/revgen/revgen/engine/critic"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/pool"
)

// A lossGradient returns the loss L of a batch of n moves (x, k) → (y, l). It sets gradX,
// [n][d], to ∂L/∂x, and witness, [n][M], to what each mode in place of k adds to L, up to
// a constant of each state; both with (y, l) fixed, at least in a rank's own rows.
type lossGradient interface {
	LossGradient(x, y []float32, k, l []uint8, gradX, witness []float32) float64
}

func (l *LossConfig) lossGradient(n, dim, modes int, seed uint64, workers *pool.Pool) (lossGradient, error) {
	if l.Kind == "discriminator" {
		loss, err := newDiscriminator(n, dim, modes, l.Discriminator, seed, workers)
		return loss, conf.Under("discriminator", err)
	}
	return mmd.NewMixed(n, dim, modes, l.Kernel, l.Statistic, workers)
}

// bytes bounds what a loss of batches of n states allocates.
func (l *LossConfig) bytes(n, dim, modes int) float64 {
	if l.Kind == "discriminator" {
		return l.Discriminator.Bytes(n, dim+modes) + 4*3*float64(n*(dim+modes))
	}
	return mmd.MixedBytes(n, dim, modes)
}

// discriminator is the learned loss of package critic, for which a state is the vector
// (x, e_k), with a unit vector for the mode.
type discriminator struct {
	*critic.Critic
	dim, modes     int
	from, to, grad []float32 // s, s′ and ∂L/∂s, [n][dim + modes]
	alter          func(state []float32, _, mode int)
}

func newDiscriminator(n, dim, modes int, c critic.Config, seed uint64, workers *pool.Pool) (*discriminator, error) {
	judge, err := critic.New(n, dim+modes, c, seed, workers)
	size := n * (dim + modes)
	o := &discriminator{
		Critic: judge, dim: dim, modes: modes,
		from: make([]float32, size), to: make([]float32, size), grad: make([]float32, size),
	}
	o.alter = func(state []float32, _, mode int) { setMode(state[dim:], mode) }
	return o, err
}

func setMode(unit []float32, mode int) {
	clear(unit)
	unit[mode] = 1
}

// embed sets dst to the vectors (x, e_k).
func (o *discriminator) embed(dst, x []float32, k []uint8) {
	for i, mode := range k {
		row := dst[i*(o.dim+o.modes):][:o.dim+o.modes]
		copy(row, x[i*o.dim:][:o.dim])
		setMode(row[o.dim:], int(mode))
	}
}

func (o *discriminator) LossGradient(x, y []float32, k, l []uint8, gradX, witness []float32) float64 {
	o.embed(o.from, x, k)
	o.embed(o.to, y, l)
	o.Evaluate(o.from, o.to)
	o.Gradient(o.grad)
	for i := range k {
		copy(gradX[i*o.dim:][:o.dim], o.grad[i*(o.dim+o.modes):])
	}
	o.Changes(witness, o.modes, o.alter)
	return o.Learn()
}
