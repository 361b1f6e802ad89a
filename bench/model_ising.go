package bench

import (
	"encoding/binary"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bitspin"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/mmd"
	"github.com/revgen/revgen/ising"
)

type isingModel struct{ *ising.Config }

func (m isingModel) generator() (forward, backward work) {
	return perceptron(true, slices.Concat([]int{m.Generator.Latent}, m.Generator.Hidden, []int{m.Target.L * m.Target.L})...)
}

// discrepancy counts the distinct moves of a batch of samples.
func (m isingModel) discrepancy(s engine.System, params []float32) ([]phase, error) {
	from, to, err := m.moves(s, params)
	if err != nil {
		return nil, err
	}
	path, _, _ := asm.Active()
	shape, spins := shapeOf(from, to, m.Training.Batch), m.Target.L*m.Target.L
	shape.apart(from, to, m.Training.Batch, spins, reachOf(&m.Loss.Kernel, spins))
	return []phase{hammingPhase("discrepancy", path, shape, spins)}, nil
}

// transition counts, for each Metropolis step, a block of random words, the choice of a site and
// what becomes of its spin: a mask, two levels of small lattices, a threshold of 64 bits.
func (m isingModel) transition() work {
	return total(work{Multiply: 1, Integer: 8}, philox.times(4)).times(float64(m.Transition.Steps))
}

// moves returns a batch of samples of the generator and where the transition
// takes them.
func (m isingModel) moves(s engine.System, params []float32) (from, to []uint64, err error) {
	n := m.Training.Batch
	lattice, err := bitspin.NewModel(m.Target.L, m.Target.J, m.Target.H)
	if err != nil {
		return nil, nil, err
	}
	proposal, err := bitspin.ParseProposal(m.Transition.Proposal, m.Transition.GlobalFlip)
	if err != nil {
		return nil, nil, err
	}
	move, err := bitspin.NewMetropolis(lattice, m.Target.Beta, proposal)
	if err != nil {
		return nil, nil, err
	}
	data := make([]byte, 8*n*lattice.Words)
	if err := s.(engine.Sampler).Sample(data, "bits", params, 0, n, 0); err != nil {
		return nil, nil, err
	}
	from, to = make([]uint64, n*lattice.Words), make([]uint64, n*lattice.Words)
	if _, err := binary.Decode(data, binary.LittleEndian, from); err != nil {
		return nil, nil, err
	}
	var stats bitspin.Count
	move.Run(nil, to, from, 0, n, m.Transition.Steps, &asm.Counter{Seed: 1}, 0, &stats)
	return from, to, nil
}

func (m isingModel) step(s engine.System, params []float32) (need, error) {
	return byPairs(m, m.Training.Batch, s, params)
}

func (m isingModel) known() bool {
	return m.Generator.Head == "sign" && m.Loss.Kind == "mmd" && m.Loss.Gradient == string(mmd.Surrogate)
}

func (m isingModel) latent() (dim int, decided bool) { return m.Generator.Latent, false }

func (m isingModel) moved(s engine.System) []float32 {
	_, to := lastMoves[[]uint64](s)
	n, spins := m.Training.Batch, m.Target.L*m.Target.L
	t := make([]float32, n*spins)
	bitspin.Unpack(t, to, spins)
	return t
}
