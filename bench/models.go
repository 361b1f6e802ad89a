package bench

import (
	"errors"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/gmm"
	"github.com/revgen/revgen/hybrid"
	"github.com/revgen/revgen/ising"
)

// A model is what the suite knows about a system of one configuration beyond its contract:
// the work of its parts, and how to check a peer. Systems without a model have no floor and
// no rivals.
type model struct {
	forward, backward work // of the generator, per sample
	transition        work // of a sample's moves
	// discrepancy counts the loss and gradient for the batch of the system's last loss; nil if
	// nobody has counted it.
	discrepancy func(s engine.System) phase
	// balanceStep counts a step by log densities, which takes the place of the parts above.
	balanceStep need
	perStep     work // further work of a step, which does not grow with the batch
	hasPeer     bool // peers know the loss and the transition
	latent      int  // dimension of a sample's noise
	discrete    bool // a sample has a discrete part, which a uniform number decides
	// movedStates returns the states after the moves of the last loss, in the peers' format.
	movedStates func(s engine.System) []float32
}

// A reference is a loss and gradient of ours for given inputs, which a peer has to repeat.
type reference struct {
	inputs map[string][]float32 // by the peer's names of arrays
	loss   float64
	grad   []float32
}

// referenceOf computes the first step of a training, at initial parameters.
func referenceOf(m *model, config engine.Config, s engine.System) (*reference, error) {
	if !m.hasPeer {
		return nil, errNoPeer
	}
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	loss, err := s.Loss(params, 0)
	if err != nil {
		return nil, err
	}
	r := &reference{loss: loss, grad: make([]float32, len(params))}
	r.inputs = firstNoise(m, config)
	r.inputs["params"], r.inputs["t"] = params, m.movedStates(s)
	s.Backward(params, r.grad)
	return r, nil
}

// lastMoves returns the pairs of a system's last loss: its samples, and the states after the
// moves.
func lastMoves[S any](s engine.System) (from, to S) {
	return s.(interface{ Moves() (from, to S) }).Moves()
}

// agree selects a peer's operation and compares its loss and gradient with ours.
func (r *reference) agree(p *peers.Process, operation ...any) (agreement, error) {
	loss, grad := make([]float64, 1), make([]float32, len(r.grad))
	if err := runPeerOnce(p, operation, r.inputs, map[string]any{"loss": loss, "grad": grad}); err != nil {
		return agreement{}, err
	}
	return lossAgreement(r.loss, loss[0], r.grad, grad), nil
}

// modelOf returns the model of a configuration's system. It is nil for most generators with
// a density, whose work nobody has counted.
func modelOf(config engine.Config) *model {
	switch c := config.(type) {
	case *ising.Config:
		if c.Generator.Kind == "perceptron" {
			return isingModel(c)
		}
	case *gmm.Config:
		if g := &c.Generator; g.Kind != "mixture" || c.Loss.Kind == "balance" && g.Depth == 0 && !g.Bent && g.Base == "joint" {
			return mixture{c}.model()
		}
	case *hybrid.Config:
		if c.Generator.Kind == "perceptron" {
			return hybridModel(c)
		}
	}
	return nil
}

// errNoPeer reports a configuration that is not the paper's, which peers do not have.
var errNoPeer = errors.New("not the paper's recipe: no peer knows it")

// step counts the generator, its moves and the loss of a training step of batch samples.
// The system must have computed a loss.
func (m *model) step(s engine.System, batch int) need {
	step := m.balanceStep
	if step == nil {
		n := float64(batch)
		step = need{{name: "forward", counts: m.forward.times(n)}, {name: "backward", counts: m.backward.times(n)}}
		if m.discrepancy != nil {
			step = append(step, m.discrepancy(s))
		}
		step = append(step, phase{name: "transition", counts: m.transition.times(n)})
	}
	if m.perStep != nil {
		step = append(step, phase{name: "pieces", counts: m.perStep})
	}
	return step
}

// noiseAndOptimizer counts the parts of a training step that step leaves out.
func noiseAndOptimizer(m *model, batch float64, params int) need {
	noise := sumOf(philox, normal).times(float64(m.latent))
	if m.discrete {
		noise.addTimes(1, philox)
	}
	// The gradient's norm, and then AdamW, which reads the parameters, the gradient and its two
	// averages and writes all but the gradient.
	optimizer := work{FMA: 5, Float: 13, Read: 16, Write: 12}
	return need{
		{name: "noise", counts: noise.times(batch)},
		{name: "optimizer", counts: optimizer.times(float64(params)), bytes: 16 * params},
	}
}

// firstNoise returns the noise of the samples of a configuration's first step: normal numbers
// z and, where a sample has a discrete part, the uniform number u that decides it.
func firstNoise(m *model, config engine.Config) map[string][]float32 {
	n, seed := config.Shared().Training.Batch, config.Shared().Training.Seed
	z := make([]float32, n*m.latent)
	stream := rng.Stream(seed, rng.TrainLatent, 0)
	rng.Normals(z, m.latent, &stream, 0)
	noise := map[string][]float32{"z": z}
	if m.discrete {
		blocks, u := make([]float32, 4*n), make([]float32, n)
		stream := rng.Stream(seed, rng.TrainHead, 0)
		asm.Uniforms(blocks, &stream, 0)
		for i := range u {
			u[i] = blocks[4*i] // the first of the sample's block
		}
		noise["u"] = u
	}
	return noise
}
