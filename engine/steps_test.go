package engine

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/internal/pool"
)

// searched is a system with the loss Σ slope θ, which may end a context, and which
// may carry something.
type searched struct {
	linear
	end     func()
	carried []Section
}

func (s searched) Loss(params []float32, step uint32) (float64, error) {
	if s.end != nil {
		s.end()
	}
	return s.Surrogate()(slices.Collect(func(yield func(float64) bool) {
		for _, x := range params {
			yield(float64(x))
		}
	})), s.err
}

func (s searched) State() []Section { return s.carried }

func (s searched) Inherit(params []float32, from System, theirs []float32) error {
	copy(params, []float32{float32(from.NumParams()), theirs[0]})
	return s.err
}

func trainerOf(t *testing.T, system System, change func(c *Training)) *Trainer {
	t.Helper()
	c := &systemConfig{system: system}
	c.Training.Steps, c.Training.Methods, c.Training.Schedule.Kind = 5, search.ByGradient(), "constant"
	c.Training.Optimizer.LearningRate = 1
	change(&c.Training)
	workers := pool.New(1)
	t.Cleanup(workers.Close)
	trainer, err := NewTrainer(c, workers)
	require.NoError(t, err)
	return trainer
}

// TestStateOfTrainers: a checkpoint has the parameters, what the method carries and what the system does.
func TestStateOfTrainers(t *testing.T) {
	carried := []Section{{Name: "memory", Float64: []float64{3}}}
	for method, want := range map[string][]string{
		"gradient": {"params", "adam.m", "adam.v", "ema", "memory"}, "evolution": {"params", "adam.m", "adam.v", "ema"}, "consensus": {"params", "consensus.particles", "ema"},
	} {
		s := searched{linear: linear{slope: []float64{1, 2}}}
		if method == "gradient" {
			s.carried = carried
		}
		trainer := trainerOf(t, s, func(c *Training) { c.Method, c.EMA = method, 0.5 })
		var names []string
		for _, section := range trainer.State() {
			names = append(names, section.Name)
		}
		require.Equal(t, want, names)
		require.Same(t, &trainer.params[0], &trainer.State()[0].Float32[0])
	}
	c := &systemConfig{system: searched{linear: linear{slope: []float64{1}}, carried: carried}}
	c.Training.Method = "consensus"
	workers := pool.New(1)
	defer workers.Close()
	for _, of := range []func() error{func() error { _, err := Prepare(c, workers); return err }, func() error { _, err := NewTrainer(c, workers); return err }} {
		require.EqualError(t, of(), "training.method: consensus compares the losses of several generators at one step, but this loss changes with each that it sees (by its memory); choose a loss.kind without memory, or the gradient")
	}
}

// TestSearchesThatEnd: a step by losses alone that a target's failure, the end of a context or numbers end has
// not been taken.
func TestSearchesThatEnd(t *testing.T) {
	two := linear{slope: []float64{1, 2}}
	for _, method := range []string{"evolution", "consensus"} {
		of := func(s searched) *Trainer { return trainerOf(t, s, func(c *Training) { c.Method = method }) }
		gone := searched{linear: two}
		gone.err = errors.New("gone")
		trainer := of(gone)
		require.EqualError(t, trainer.Step(), "step 1: gone")
		require.Zero(t, trainer.Steps())

		nan := math.NaN()
		require.ErrorContains(t, of(searched{linear: linear{slope: []float64{1, nan}}}).Step(), "is not finite")
		huge := searched{linear: two}
		trainer = trainerOf(t, huge, func(c *Training) {
			c.Method, c.Optimizer.LearningRate, c.Consensus.TimeStep = method, math.Inf(1), math.MaxFloat64
		})
		require.ErrorContains(t, trainer.Step(), "step 1: the "+map[string]string{"evolution": "parameter", "consensus": "candidate"}[method]+" is not finite", "θ is, where particles are not")

		ended, cancel := context.WithCancel(t.Context())
		cancel()
		trainer = of(searched{linear: two})
		require.Equal(t, context.Canceled, trainer.StepContext(ended))
		require.Equal(t, context.Canceled, trainer.searchStep(ended), "before any loss")
		require.Zero(t, trainer.Steps())
	}

	// Where a context ends between losses and moves, the move is made all the same.
	losses, cancel := 0, func() {}
	trainer := trainerOf(t, searched{linear: two, end: func() {
		if losses++; losses%search.ByGradient().Consensus.Particles == 0 {
			cancel()
		}
	}}, func(c *Training) { c.Method = "consensus" })
	step := func() error {
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		err := trainer.StepContext(ctx)
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		return err
	}
	require.NoError(t, step())
	require.Equal(t, 1, trainer.Steps())
	require.NoError(t, step())
	require.Equal(t, 2, trainer.Steps())
	require.NotZero(t, trainer.Record().Loss)
	require.NotZero(t, trainer.Record().GradientNorm)
}

// TestParametersThatAreNotFinite after a step by the gradient are the step's error.
func TestParametersThatAreNotFinite(t *testing.T) {
	trainer := trainerOf(t, named{linear{slope: []float64{0, 1}, names: "ab"}}, func(c *Training) { c.Optimizer.LearningRate = math.MaxFloat64 })
	require.ErrorContains(t, trainer.Step(), "step 1: the parameter of the generator's ")
}

// TestSystemsThatInherit do so by themselves.
func TestSystemsThatInherit(t *testing.T) {
	s := searched{linear: linear{slope: []float64{1, 2}}}
	trainer := trainerOf(t, s, func(*Training) {})
	require.NoError(t, trainer.Inherit(linear{slope: make([]float64, 7)}, []float32{9}))
	require.Equal(t, []float32{7, 9}, trainer.Params())
	s.err = errors.New("of another kind")
	require.Equal(t, s.err, trainerOf(t, s, func(*Training) {}).Inherit(linear{}, []float32{9}))
}

// A looking system is initialised until a context ends.
type looking struct {
	lent
	looks func(ctx context.Context) error
}

func (l looking) Initialize([]float32) { panic("without a context") }

func (l looking) InitializeContext(ctx context.Context, params []float32) error {
	params[0] = 5
	return l.looks(ctx)
}

// TestInitialization: a system that looks at its target is given the context, whose end interrupts the target
// while it looks and not afterwards.
func TestInitialization(t *testing.T) {
	said := make(chan error, 1)
	waits := func(ctx context.Context) error { <-said; return ctx.Err() }
	c := &systemConfig{}
	c.Training.Method = "gradient"
	workers := pool.New(1)
	defer workers.Close()
	of := func(looks func(context.Context) error) *Trainer {
		c.system = heardLooking{looking{lent{linear: linear{slope: make([]float64, 2)}}, looks}, said}
		trainer, err := Prepare(c, workers)
		require.NoError(t, err)
		return trainer
	}
	ctx, cancel := context.WithCancel(t.Context())
	trainer := of(func(ctx context.Context) error { cancel(); return waits(ctx) })
	require.Equal(t, context.Canceled, trainer.Initialize(ctx))
	require.Equal(t, []float32{5, 0}, trainer.Params())
	ctx, cancel = context.WithCancel(t.Context())
	require.NoError(t, of(func(context.Context) error { return nil }).Initialize(ctx))
	cancel()
	gone := errors.New("gone")
	of(func(context.Context) error { return gone })
	_, err := NewTrainer(c, workers)
	require.Equal(t, gone, err)
	require.Empty(t, said)
}

// heardLooking says when it was interrupted.
type heardLooking struct {
	looking
	said chan error
}

func (h heardLooking) Interrupt(err error) { h.said <- err }

// A following generator notes the calls of a step. States are their numbers.
type following struct{ calls *[]string }

func (f following) note(what string, equal ...bool) {
	if slices.Contains(equal, false) {
		what += " of something else"
	}
	*f.calls = append(*f.calls, what)
}

func (f following) Draw(s []float64, θ []float32, step uint32) {
	f.note("draw", θ[0] == 3, step == 7)
	copy(s, []float64{1, 2, 3, 4})
}

func (f following) Move(next, s []float64, step uint32) error {
	f.note("move", s[3] == 4, step == 7)
	for i, v := range s {
		next[i] = 2 * v
	}
	return nil
}

func (f following) Acceptance() float64 { return 0.25 }

func (f following) LossGradient(ds, s, next []float64) float64 {
	f.note("compare", s[1] == 2, next[1] == 4)
	ds[1] = 11
	return 13
}

func (f following) State() []Section { return []Section{{Name: "carried"}} }

func (f following) Weigh(r, rNext, s, next []float64) {
	f.note("weigh", s[1] == 2, next[1] == 4)
	copy(r, s)
	copy(rNext, next)
}

// backward is the gradient of pairs.
type backward struct{ following }

func (b backward) Backward(grad, θ []float32, ds []float64) {
	b.note("backward", θ[0] == 3, ds[1] == 11)
	grad[0] = 17
}

// scoring is the gradient of densities.
type scoring struct{ following }

func (s scoring) Score(grad, θ []float32, c, cNext []float64) {
	s.note("score", θ[0] == 3)
	for i := range c {
		grad[0] += float32(c[i]) * float32(i)
		grad[1] += float32(cNext[i]) * float32(i)
	}
}

// TestAlgorithm1: the lines of a step in both forms, in their order.
func TestAlgorithm1(t *testing.T) {
	var calls []string
	f := following{&calls}
	grad := make([]float32, 2)
	pairs := &Pairs[[]float64, []float64]{Generator: backward{f}, Transition: f, Discrepancy: f, S: make([]float64, 4), Next: make([]float64, 4), DS: make([]float64, 4)}
	loss, err := pairs.Loss([]float32{3}, 7)
	require.NoError(t, err)
	require.Equal(t, 13., loss)
	pairs.Backward([]float32{3}, grad)
	require.Equal(t, []string{"draw", "move", "compare", "backward"}, calls)
	require.Equal(t, float32(17), grad[0])
	s, next := pairs.Moves()
	require.Equal(t, [][]float64{{1, 2, 3, 4}, {2, 4, 6, 8}}, [][]float64{s, next})
	require.Equal(t, []Section{{Name: "carried"}}, pairs.State())

	calls = nil
	densities := &Densities[[]float64]{Balance: NewBalance(Balancing{Partners: 0.5}, 4, 4, 1), Generator: scoring{f}, Transition: f, S: make([]float64, 4), Next: make([]float64, 4)}
	loss, err = densities.Loss([]float32{3}, 7)
	require.NoError(t, err)
	// The first two have moved, by 1 and 2; R are 1 to 4, of variance 5/3, half of which counts.
	require.InDelta(t, (1+4)/8.+5./6, loss, 1e-12)
	clear(grad)
	densities.Backward([]float32{3}, grad)
	require.Equal(t, []string{"draw", "move", "weigh", "score"}, calls)
	require.InDelta(t, -0.5+(-0.5*1+0.5*2+1.5*3)/3, grad[0], 1e-6, "(R − R′)/4 of those that moved, (R − mean)/3 of all")
	require.InDelta(t, 0.5, grad[1], 1e-6)
	require.InDelta(t, (2*0.25+2*(3*math.Exp(-1)+1)/4)/4, densities.Acceptance(), 1e-12)
	require.InDelta(t, loss, densities.LossOf([]float64{1, 2, 3, 4}, []float64{2, 4, 6, 8}), 1e-12)
	before := slices.Clone(densities.C)
	require.InDelta(t, 2., densities.LossOf([]float64{1, 1, 1, 1}, []float64{3, 5, 0, 0})-0.5, 1e-12)
	require.Equal(t, before, densities.C, "another batch's")
	require.Equal(t, []float64{1, 2, 3, 4}, densities.R)
}
