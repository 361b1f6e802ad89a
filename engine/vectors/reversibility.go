package vectors

import (
	"context"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/nn"
	"github.com/revgen/revgen/engine/rng"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/state"
)

// In equilibrium the law of (s, s′), where s′ comes from s by reversible moves, is the law
// of (s′, s). That is Algorithm 1, in two forms: pairs of samples, of any generator, and log
// densities, of generators that know theirs.

// Loss returns L at θ.
func (p *pairs) Loss(θ []float32, step uint32) (float64, error) {
	p.generator.draw(p.s, θ, step)                           // s = G_θ(z)
	if err := p.kernel.move(p.next, p.s, step); err != nil { // s′ ~ p^m(s, ·), from here on a constant
		return 0, err
	}
	return p.loss.LossGradient(p.ds, p.s, p.next), nil // L((s, s′), (s′, s)) and ∂L/∂s
}

// Backward sets grad to ∂L/∂θ.
func (p *pairs) Backward(θ, grad []float32) {
	p.generator.backward(grad, θ, p.ds) // ∂L/∂θ = ∂L/∂s ∂G_θ/∂θ
}

// Loss returns L at θ.
func (b *balance) Loss(θ []float32, step uint32) (float64, error) {
	b.generator.draw(b.s, θ, step)                           // s = G_θ(z)
	if err := b.kernel.move(b.next, b.s, step); err != nil { // s′ ~ p^m(s, ·), or another s
		return 0, err
	}
	b.weigh()               // R(s) and R(s′), R = ln q − ln π
	return b.Measure(), nil // ½ E (R(s) − R(s′))², and the coefficient c of each ∇ln q
}

// Backward sets grad to ∂L/∂θ with both states held fixed.
func (b *balance) Backward(θ, grad []float32) {
	b.score(grad, θ) // ∂L/∂θ = Σ c ∇ln q(s) + c′ ∇ln q(s′)
}

// A form is one of the two.
type form interface {
	Loss(θ []float32, step uint32) (float64, error)
	Backward(θ, grad []float32)
	// acceptance returns the fraction of all proposals that were accepted, given that of the
	// moves.
	acceptance(moves float64) float64
	// surrogate is what System.Surrogate says.
	surrogate() func(params []float64) float64
}

// A learner is a generator with room for the passes of a batch.
type learner struct {
	generator
	nets    *networks
	seed    uint64
	weights *weights
	lanes   *nn.Lanes
	workers *pool.Pool
	passes  []pass     // of blocks
	scratch []*scratch // of lanes
	z, u    []float32  // [n][latent]; [n][4] with modes

	s    States // of the call under way
	ds   slopes
	from noise

	pack      func(part int)
	drawBlock func(block, lo, hi int, _ []float32)
	backBlock func(lane, lo, hi int, grad []float32)
}

func newLearner(c *Config, g generator, workers *pool.Pool) *learner {
	n, nets := c.Training.Batch, g.networks()
	l := &learner{
		generator: g, nets: nets, seed: c.Training.Seed, weights: nets.newWeights(true), lanes: nets.newLanes(n, workers), workers: workers,
		z: make([]float32, n*nets.latent), u: make([]float32, nets.uniforms(n)),
	}
	rows := l.lanes.BlockRows()
	for range l.lanes.Blocks() {
		l.passes = append(l.passes, g.newPass(rows, true))
	}
	l.scratch = nn.PerLane(l.lanes, func() *scratch { return nets.newScratch(rows) })
	l.pack = func(part int) { nets.pack(l.weights, part) }
	l.drawBlock = func(b, lo, hi int, _ []float32) {
		nets.draw(l.passes[b], l.s.Part(lo, hi), &l.from, uint64(lo), l.z[lo*nets.latent:hi*nets.latent], l.u[nets.uniforms(lo):nets.uniforms(hi)], l.weights)
	}
	l.backBlock = func(lane, lo, hi int, grad []float32) {
		l.passes[lo/rows].(pathPass).backward(grad, l.ds.part(lo, hi), l.weights, l.scratch[lane])
	}
	return l
}

// draw sets s_i = G_θ(z_i) for a rank's own rows of the batch.
func (l *learner) draw(s States, θ []float32, step uint32) {
	l.s, l.weights.params = s, θ
	l.from = noise{rng.Stream(l.seed, rng.TrainLatent, step), rng.Stream(l.seed, rng.TrainHead, step)}
	l.workers.Run(l.nets.parts(), l.pack)
	l.lanes.Own(l.drawBlock)
}

// backward sets grad to ∂L/∂θ, given ∂L/∂s of the batch that was drawn.
func (l *learner) backward(grad, θ []float32, ds slopes) {
	l.weights.params, l.ds = θ, ds
	l.lanes.Backward(grad, l.backBlock)
}

// A kernel is a transition with room for the moves of a batch.
type kernel struct {
	config   *Config
	ensemble *Ensemble
	lanes    *nn.Lanes
	movers   []*mover             // of blocks
	counts   []moveCounts         // likewise
	moving   func(lo, hi int) int // the end of the states of a block that move
	shared   []pool.Span          // what ranks give each other of a batch that has moved

	logPi, logNext []float64 // β ln π of each s, and of each s′ that there is

	s, next   States // of the call under way
	stream    rng.Counter
	moveBlock func(block, lo, hi int, _ []float32)
}

func newKernel(c *Config, e *Ensemble, lanes *nn.Lanes, moving func(lo, hi int) int) *kernel {
	n := c.Training.Batch
	k := &kernel{
		config: c, ensemble: e, lanes: lanes, moving: moving, counts: make([]moveCounts, lanes.Blocks()),
		logPi: make([]float64, n), logNext: make([]float64, n),
	}
	for range lanes.Blocks() {
		k.movers = append(k.movers, e.transition.newMover())
	}
	k.moveBlock = func(b, lo, hi int, _ []float32) {
		m, end := k.movers[b], k.moving(lo, hi)
		copy(k.logPi[lo:hi], m.start(k.s.Part(lo, hi)))
		from, to := k.s.Part(lo, end), k.next.Part(lo, end)
		copy(to.X, from.X)
		copy(to.K, from.K)
		k.counts[b] = moveCounts{}
		if end > lo {
			m.advance(to, k.config.Transition.Steps, &k.stream, uint64(lo), &k.counts[b])
		}
		copy(k.logNext[lo:end], m.current)
	}
	return k
}

// move draws s′_i ~ p^m(s_i, ·), at the step's temperature. The error is the target's.
func (k *kernel) move(next, s States, step uint32) error {
	k.s, k.next = s, next
	k.stream = rng.Stream(k.config.Training.Seed, rng.TrainTransition, step)
	beta := k.config.Transition.At(int(step), k.config.Training.Steps)
	for _, m := range k.movers {
		m.beta = beta
	}
	k.lanes.Share(k.moveBlock, k.shared...)
	return k.ensemble.judge(step)
}

// total counts the proposals of the last move.
func (k *kernel) total() (all moveCounts) {
	for i := range k.counts {
		all.add(&k.counts[i])
	}
	return all
}

// A System is engine.System for real vectors, with a mode or without: a generator of a
// target that learns by one of the two forms.
type System struct {
	*Ensemble
	config    *Config
	generator *learner
	kernel    *kernel
	form      form
}

// New builds the system that trains a generator of the target.
func New(c Configuration, target Target, workers *pool.Pool) (*System, error) {
	return build(c.settings(), target, workers)
}

func build(c *Config, target Target, workers *pool.Pool) (*System, error) {
	e := newEnsemble(c, target, workers)
	s := &System{Ensemble: e, config: c, generator: newLearner(c, e.generator, workers)}
	var err error
	if c.Loss.Kind == "balance" {
		s.form, s.kernel = newBalance(c, e, s.generator)
	} else {
		s.form, s.kernel, err = newPairs(c, e, s.generator)
	}
	return s, err
}

// NumParams implements engine.System.
func (s *System) NumParams() int { return s.generator.nets.params }

// TensorName implements engine.TensorNamer.
func (s *System) TensorName(i int) string { return s.generator.nets.tensorName(i) }

// Loss implements engine.System.
func (s *System) Loss(θ []float32, step uint32) (float64, error) { return s.form.Loss(θ, step) }

// Backward implements engine.System.
func (s *System) Backward(θ, grad []float32) { s.form.Backward(θ, grad) }

// State returns what the loss carries from step to step.
func (s *System) State() []engine.Section { return state.Of(s.form) }

// Acceptance returns the fraction of the last step's proposals that were accepted, those of
// independent samples included.
func (s *System) Acceptance() float64 {
	counts := s.kernel.total()
	return s.form.acceptance(counts.total().Rate())
}

// Surrogate implements engine.Differentiable: the loss of the states, with s′ fixed or
// moved by as much, of modes or a discriminator its first-order change, and of densities
// with both fixed and where a mixture has been placed.
func (s *System) Surrogate() func(params []float64) float64 { return s.form.surrogate() }

// Initialize draws the perceptrons' parameters, and places a mixture where
// populations of Metropolis chains find the target's weight.
func (s *System) Initialize(params []float32) {
	_ = s.InitializeContext(context.Background(), params) // which does not end
}

// InitializeContext implements engine.Initializer.
func (s *System) InitializeContext(ctx context.Context, params []float32) error {
	s.generator.nets.initialize(params, s.config.Training.Seed, s.config.Generator.Gain)
	if g, ok := s.generator.generator.(*mixtureFlow); ok {
		return g.initialize(ctx, params, s.config, s.target, s.Workers)
	}
	return nil
}

var (
	_ engine.Differentiable = (*System)(nil)
	_ engine.Stateful       = (*System)(nil)
	_ engine.TensorNamer    = (*System)(nil)
)
