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

// A model is what a suite knows about a system of one configuration beyond its contract: how
// much work its parts are, and how to check a peer. Systems without a model are timed alone.
type model struct {
	// The generator's work per sample, and that of the moves of a sample.
	forward, backward, transition work
	// discrepancy counts the loss and gradient of the batch of the system's last loss; nil if
	// nobody has counted it.
	discrepancy func(s engine.System) phase
	// balanced is a step in place of these: by log densities.
	balanced need
	// once is what a step takes besides that does not grow with the batch.
	once work
	// known reports whether peers know the loss and the transition.
	known bool
	// latent is the dimension of a sample's noise, and decided whether a uniform number besides
	// decides its discrete part.
	latent  int
	decided bool
	// moved returns where the samples of the last loss have moved, as peers hold states.
	moved func(s engine.System) []float32
}

// A reference is one iteration from given inputs.
type reference struct {
	inputs map[string][]float32
	loss   float64
	grad   []float32
}

// referenceOf returns the first step of a training, of freshly initialized parameters.
func referenceOf(m *model, config engine.Config, s engine.System) (*reference, error) {
	if !m.known {
		return nil, errOwnRecipe
	}
	params := make([]float32, s.NumParams())
	s.Initialize(params)
	loss, err := s.Loss(params, 0)
	if err != nil {
		return nil, err
	}
	r := &reference{loss: loss, grad: make([]float32, len(params))}
	r.inputs = noiseOf(m, config)
	r.inputs["params"], r.inputs["t"] = params, m.moved(s)
	s.Backward(params, r.grad)
	return r, nil
}

// lastMoves returns the samples of a system's last loss, of pairs, and where they have moved.
func lastMoves[S any](s engine.System) (from, to S) {
	return s.(interface{ Moves() (from, to S) }).Moves()
}

// agree compares the loss and the gradient with those of a peer's operation, and selects it.
func (r *reference) agree(p *peers.Process, words ...any) (agreement, error) {
	loss, grad := make([]float64, 1), make([]float32, len(r.grad))
	if err := once(p, words, r.inputs, map[string]any{"loss": loss, "grad": grad}); err != nil {
		return agreement{}, err
	}
	return lossAgreement(r.loss, loss[0], r.grad, grad), nil
}

// modelOf returns what is known about the system of a configuration, or nil, as of most
// generators with a density, whose work nobody has counted.
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

// errOwnRecipe reports a configuration beyond the paper's, which peers lack.
var errOwnRecipe = errors.New("not the paper's recipe: no peer knows it")

// work counts the operations that something takes at least.
type work map[Resource]float64

// times returns n times the work.
func (w work) times(n float64) work {
	product := work{}
	for r, count := range w {
		product[r] = n * count
	}
	return product
}

// add adds n times other.
func (w work) add(n float64, other work) {
	for _, r := range Resources() {
		if count := other[r]; count != 0 {
			w[r] += n * count
		}
	}
}

// total returns the sum of some work.
func total(parts ...work) work {
	sum := work{}
	for _, w := range parts {
		sum.add(1, w)
	}
	return sum
}

// perceptron counts the work per row of a perceptron of the given widths, as the
// package nn does it. Forward a layer is one product; backward one for the
// weights' gradients and, but for the first layer, whose input is noise unless
// said otherwise, one for the input's.
//
// With one input and three or more layers, the first two layers are a piecewise
// linear function of the input (package nn, kinks): forward, every unit of the
// second takes a multiply-add of two numbers of the piece, and LeakyReLU's product and
// maximum; backward, the sums of its gradient and of that times the input, and the input's
// gradient, which comes with it. If the third layer is a single sum, its product is a
// multiply-add a unit, the second layer is evaluated again on the way back, and
// the gradients with respect to the sum's weights and to the unit take another product each.
// The search for the piece is not counted, and tables are once a step, by pieces. They are read
// from the innermost cache at best.
func perceptron(noise bool, sizes ...int) (forward, backward work) {
	forward, backward = work{}, work{}
	first := 0
	if kinked(sizes) {
		first = 2
		units := float64(sizes[2])
		evaluation := work{FMA: 2, Float: 3, Read: 8} // the piece, and LeakyReLU
		sums := work{FMA: 2, Float: 3, Read: 8, Write: 8}
		forward.add(units, evaluation)
		backward.add(units, sums)
		if len(sizes) == 4 && sizes[3] == 1 {
			forward.add(units, work{FMA: 1, Float: 1})
			backward.add(units, evaluation)
			backward.add(units, work{FMA: 2, Float: 2})
			return forward, backward
		}
		backward.add(units, work{Read: 4})
	}
	for i := first; i < len(sizes)-1; i++ {
		n := float64(sizes[i] * sizes[i+1])
		forward[FMA] += n
		backward[FMA] += n
		if i > 0 || !noise {
			backward[FMA] += n
		}
	}
	return forward, backward
}

func kinked(sizes []int) bool { return sizes[0] == 1 && len(sizes) > 3 }

// pieces counts what a perceptron's kinks take once a step. Forward, each unit of the second layer
// adds a weight's multiple to two numbers of the next piece; backward, to that weight's gradient
// and to two sums for the unit of the first layer comes what two sums over pieces say, by a product
// and a multiply-add each.
func pieces(sizes ...int) work {
	if !kinked(sizes) {
		return work{}
	}
	return total(work{FMA: 2, Float: 2, Read: 4, Write: 8}, work{FMA: 8, Float: 10, Read: 16, Write: 4}).times(float64(sizes[1] * sizes[2]))
}

// step counts the generator, its moves and the loss of a training step of so many samples, of
// which the system has taken one.
func (m *model) step(s engine.System, batch int) need {
	step := m.balanced
	if step == nil {
		n := float64(batch)
		step = need{{name: "forward", counts: m.forward.times(n)}, {name: "backward", counts: m.backward.times(n)}}
		if m.discrepancy != nil {
			step = append(step, m.discrepancy(s))
		}
		step = append(step, phase{name: "transition", counts: m.transition.times(n)})
	}
	if m.once != nil {
		step = append(step, phase{name: "pieces", counts: m.once})
	}
	return step
}

// besides counts what a training step does beside the generator, its moves and the loss: the
// noise, and AdamW's step of the parameters.
func besides(m *model, batch float64, params int) need {
	noise := total(philox, normal).times(float64(m.latent))
	if m.decided {
		noise.add(1, philox)
	}
	// θ, the gradient and its two averages, of which all but the gradient change, and before that
	// the gradient's norm.
	optimizer := work{FMA: 5, Float: 13, Read: 16, Write: 12}
	return need{
		{name: "noise", counts: noise.times(batch)},
		{name: "optimizer", counts: optimizer.times(float64(params)), bytes: 16 * params},
	}
}

// noiseOf returns what the samples of a configuration's first step are made of: normal
// numbers z and, where a sample has a discrete part, the uniform number u that decides it,
// the first of its block.
func noiseOf(m *model, config engine.Config) map[string][]float32 {
	n, seed := config.Shared().Training.Batch, config.Shared().Training.Seed
	z := make([]float32, n*m.latent)
	stream := rng.Stream(seed, rng.TrainLatent, 0)
	rng.Normals(z, m.latent, &stream, 0)
	noise := map[string][]float32{"z": z}
	if m.decided {
		blocks, u := make([]float32, 4*n), make([]float32, n)
		stream := rng.Stream(seed, rng.TrainHead, 0)
		asm.Uniforms(blocks, &stream, 0)
		for i := range u {
			u[i] = blocks[4*i]
		}
		noise["u"] = u
	}
	return noise
}
