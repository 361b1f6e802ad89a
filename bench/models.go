package bench

import (
	"errors"
	"fmt"

	"github.com/revgen/revgen/bench/peers"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/gmm"
	"github.com/revgen/revgen/hybrid"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/ising"
)

// A model is what a suite knows about a system beyond its contract: how much
// work its parts are, and how to check a peer. Systems without a model are
// timed alone.
type model interface {
	// products returns the multiply-adds per sample of the generator, forward
	// and backward.
	products() (forward, backward float64)
	// discrepancy counts the loss and gradient of a batch of the generator
	// with the given parameters.
	discrepancy(s engine.System, params []float32) ([]phase, error)
	// reference computes one iteration's loss and gradient by parameters from
	// inputs that a peer can be given, or reports that peers do not know the
	// configuration.
	reference(s engine.System, workers *pool.Pool) (*reference, error)
	// samples compares the first samples of the stream with those that the
	// peer makes of the same noise.
	samples(s engine.System, params []float32, p *peers.Process) (agreement, error)
}

// A reference is one iteration from given inputs.
type reference struct {
	inputs map[string][]float32
	loss   float64
	grad   []float32
}

// modelOf returns what is known about the system of a configuration, or nil.
func modelOf(config engine.Config) model {
	switch c := config.(type) {
	case *ising.Config:
		return isingModel{c}
	case *gmm.Config:
		return mixtureModel{c}
	case *hybrid.Config:
		return hybridModel{c}
	}
	return nil
}

// errOwnRecipe reports a configuration beyond the paper's, which peers lack.
var errOwnRecipe = errors.New("not the paper's recipe: no peer knows it")

// perceptron returns the multiply-adds per row of a perceptron of the given
// widths. Backward takes one product for the weights' gradients of every layer
// and one for the input's of every layer but the first.
func perceptron(sizes ...int) (forward, backward float64) {
	for i := range len(sizes) - 1 {
		n := float64(sizes[i] * sizes[i+1])
		forward += n
		backward += n
		if i > 0 {
			backward += n
		}
	}
	return forward, backward
}

// generated has the peer map the noise of the first n samples of the
// configuration's stream to states. u, if not nil, holds the uniform number
// that decides each sample's discrete part.
func generated(p *peers.Process, config engine.Config, params []float32, latent, n int, u, states []float32) error {
	z := make([]float32, n*latent)
	stream := rng.Stream(config.Shared().Training.Seed, rng.SampleLatent, 0)
	rng.Normals(z, latent, &stream, 0)
	inputs := map[string][]float32{"params": params, "z": z}
	if u != nil {
		inputs["u"] = u
	}
	if err := loadOnly(p, inputs); err != nil {
		return err
	}
	path, err := configFile(p, config)
	if err != nil {
		return err
	}
	if err := once(p, []any{"generate", path}, map[string]any{"states": states}); err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	return nil
}

// loadOnly gives a peer arrays in place of all that it holds.
func loadOnly(p *peers.Process, arrays map[string][]float32) error {
	if err := p.Forget(); err != nil {
		return err
	}
	for name, numbers := range arrays {
		if err := p.Load(name, numbers); err != nil {
			return err
		}
	}
	return nil
}
