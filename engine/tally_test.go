package engine

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine/search"
	"github.com/revgen/revgen/internal/memory"
	"github.com/revgen/revgen/internal/pool"
)

// TestTally: evaluations count at their stage, and a limit ends a context with the last of
// them, whoever made it.
func TestTally(t *testing.T) {
	var tally Tally
	require.False(t, tally.Limited())
	ctx := tally.Limit(context.Background(), 31)
	require.True(t, tally.Limited())
	for stage, n := range []int{1, 2, 3, 4, 5} {
		tally.Enter(Stage(stage))
		tally.Add(n)
	}
	want := Evaluations{Look: 1, Training: 2, Table: 3, Diagnosis: 4, Output: 5}
	require.Equal(t, want, tally.Evaluations())
	require.EqualValues(t, 15, want.Total())
	tally.Restore(Evaluations{Look: 9, Training: 1, Table: 3, Diagnosis: 4, Output: 6})
	want = Evaluations{Look: 9, Training: 2, Table: 3, Diagnosis: 4, Output: 6}
	require.Equal(t, want, tally.Evaluations())
	tally.SetOtherRanks(6)
	require.NoError(t, ctx.Err())
	tally.Add(1)
	require.Equal(t, Spent(31), context.Cause(ctx))
	require.EqualError(t, context.Cause(ctx), "--max-evaluations 31 (raise it to go on)")
	want.Add(Evaluations{Look: 1, Training: 10, Table: 100, Diagnosis: 1000, Output: 10000})
	require.Equal(t, Evaluations{Look: 10, Training: 12, Table: 103, Diagnosis: 1004, Output: 10006}, want)

	for _, spend := range []func(t *Tally){func(t *Tally) { t.Add(5) }, func(t *Tally) { t.SetOtherRanks(5) }, func(t *Tally) { t.Restore(Evaluations{Table: 5}) }} {
		var other Tally
		ctx := other.Limit(context.Background(), 5)
		other.Add(0)
		require.NoError(t, ctx.Err())
		spend(&other)
		require.Equal(t, Spent(5), context.Cause(ctx))
		require.True(t, Cancelled(ctx.Err()))
	}
	var free Tally
	free.Add(1 << 40) // stops nobody

	var none *Tally
	none.Enter(Learning)
	none.Add(1)
	none.Restore(want)
	require.False(t, none.Limited())
	require.Zero(t, none.Evaluations())
	require.Nil(t, TallyOf(context.Background()))
	require.Same(t, &tally, TallyOf(WithTally(context.Background(), &tally)))
}

// TestLimits: each number of what all systems share at its limits, one beyond, and what is said
// of that.
func TestLimits(t *testing.T) {
	good := func() Common {
		c := Common{Schema: 2, System: "a", Preset: "b", Evaluation: Evaluating{Samples: 5}}
		c.Training.Steps, c.Training.Batch, c.Training.LogEvery, c.Training.Method = 5, 5, 1, "gradient"
		c.Training.Optimizer.LearningRate, c.Training.Optimizer.Epsilon, c.Training.Schedule.Kind = 0.1, 1e-8, "constant"
		return c
	}
	for _, c := range []struct {
		of        func(c *Common) *int
		low, high int
		key       string
	}{
		{func(c *Common) *int { return &c.Training.Steps }, 0, math.MaxInt32, "training.steps"},
		{func(c *Common) *int { return &c.Training.Batch }, 2, 1 << 24, "training.batch"},
		{func(c *Common) *int { return &c.Training.CheckpointEvery }, 0, math.MaxInt32, "training.checkpoint_every"},
		{func(c *Common) *int { return &c.Training.LogEvery }, 1, math.MaxInt32, "training.log_every"},
		{func(c *Common) *int { return &c.Evaluation.Samples }, 1, 1 << 30, "evaluation.samples"},
		{func(c *Common) *int { return &c.Evaluation.Every }, 0, math.MaxInt32, "evaluation.every"},
	} {
		for x, ok := range map[int]bool{c.low - 1: false, c.low: true, c.high: true, c.high + 1: false} {
			common := good()
			*c.of(&common) = x
			if ok {
				require.NoError(t, common.Validate(), c.key)
			} else {
				require.ErrorContains(t, common.Validate(), c.key+": ")
			}
		}
	}
	common := good()
	common.Schema = 3
	require.EqualError(t, common.Validate(), "schema: 3 is not supported; this program reads version 2")
	require.NoError(t, common.ValidateNames("a", []string{"c", "b"}))
	require.EqualError(t, common.ValidateNames("c", []string{"b"}), `system: "a" is not c`)
	require.EqualError(t, common.ValidateNames("a", []string{"c", "d"}), `preset: "b" is not one of c, d`)
}

// TestAfford: demands together may take all memory, and the largest is named.
func TestAfford(t *testing.T) {
	limit := memory.Limit
	defer func() { memory.Limit = limit }()
	memory.Limit = func() float64 { return 3 << 30 }
	require.NoError(t, Afford(Demand{"a", 1 << 30}, Demand{"b", 2 << 30}))
	require.EqualError(t, Afford(Demand{"a", 1 << 30}, Demand{"b", 2<<30 + 1}, Demand{"c", 5}), "b: the run needs about 3 GiB, most of them for this, and the machine has 3 GiB")
	require.EqualError(t, Afford(Demand{"a", 4 << 30}, Demand{"b", 2 << 30}), "a: the run needs about 6 GiB, most of them for this, and the machine has 3 GiB")

	// Eight copies, a gradient of each lane of the batch, and ten in checkpoints.
	training := Training{Batch: 1}
	one := training.Demands(7)
	require.Equal(t, []Demand{{"generator.hidden", 4 * (5 + 3 + 1 + 10) * 7}}, one)
	training.Methods = search.Methods{Method: "consensus", Consensus: search.Consensus{Particles: 6}}
	require.Equal(t, append(one, Demand{"training.consensus.particles", 4 * 3.5 * 6 * 7}), training.Demands(7))
}

// shared is a configuration whose common part is not its own.
type shared struct{ *Common }

func (shared) Validate() error                { return nil }
func (shared) New(*pool.Pool) (System, error) { return nil, errors.New("no system") }

// own is one whose common part is.
type own struct {
	Common
	err error
}

func (c *own) Validate() error                { return c.err }
func (c *own) New(*pool.Pool) (System, error) { return nil, errors.New("no system") }

// TestReseeded copies a configuration, and says of which it cannot.
func TestReseeded(t *testing.T) {
	c := &own{Common: Common{System: "a"}}
	c.Training.Seed = 3
	other, err := Reseeded(c, 4)
	require.NoError(t, err)
	require.EqualValues(t, 4, other.Shared().Training.Seed)
	require.Equal(t, "a", other.Shared().System)
	require.EqualValues(t, 3, c.Training.Seed)
	_, err = Reseeded((*own)(nil), 4)
	require.EqualError(t, err, "a configuration is a pointer to a struct, not a *engine.own")
	_, err = Reseeded(shared{&Common{}}, 4)
	require.EqualError(t, err, "a configuration is a pointer to a struct, not a engine.shared")
	_, err = Reseeded(&shared{&Common{}}, 4)
	require.EqualError(t, err, "*engine.shared: engine.Common is embedded as a pointer; embed it as a value")

	// What is wrong with a configuration or its system is said by all who take one.
	invalid := &own{err: errors.New("invalid")}
	for _, of := range []func(c Config) error{
		func(c Config) error { _, err := Prepare(c, nil); return err },
		func(c Config) error { _, err := NewTrainer(c, nil); return err },
		func(c Config) error { _, err := NewStream(c, nil, nil); return err },
	} {
		require.EqualError(t, of(invalid), "invalid")
		require.EqualError(t, of(&own{}), "no system")
	}
	preset := PresetOf(func(name string) (*own, error) {
		if name == "" {
			return nil, errors.New("no name")
		}
		return c, nil
	})
	got, err := preset("x")
	require.NoError(t, err)
	require.Same(t, c, got)
	got, err = preset("")
	require.EqualError(t, err, "no name")
	require.Nil(t, got)
}

// TestChecksInFiles: what is not finite is kept.
func TestChecksInFiles(t *testing.T) {
	want := Check{Name: "a", Value: math.Inf(1), Bound: 2, Detail: "b"}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	var got Check
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, want, got)
}

// linear is a system whose loss is Σ slope θ, of tensors that names tell apart.
type linear struct {
	slope []float64
	names string
	err   error
}

func (l linear) NumParams() int                                      { return len(l.slope) }
func (l linear) Initialize(params []float32)                         { clear(params) }
func (l linear) Acceptance() float64                                 { return 0.5 }
func (l linear) Loss(params []float32, step uint32) (float64, error) { return 0, l.err }
func (l linear) Backward(_, grad []float32) {
	for i, x := range l.slope {
		grad[i] = float32(x)
	}
}
func (l linear) Surrogate() func(params []float64) float64 {
	return func(params []float64) (sum float64) {
		for i, x := range params {
			sum += l.slope[i] * x
		}
		return sum
	}
}

// named is one that says what its tensors are.
type named struct{ linear }

func (l named) TensorName(i int) string { return l.names[i : i+1] }

// TestGradientError: of tensors with one slope each the error is what is added to a gradient,
// in units of the tensor's slope or of a tenth of the largest.
func TestGradientError(t *testing.T) {
	l := linear{slope: []float64{4, 0, 0, 0, 0, -2, 0, 0.125, 8}, names: "aaaaabbcd"}
	params := make([]float32, 9)
	with := func(at int, off float32) func(params, grad []float32) {
		return func(params, grad []float32) {
			l.Backward(params, grad)
			grad[at] += off
		}
	}
	for _, c := range []struct {
		at        int
		off, want float64
	}{{0, 0, 0}, {1, 0.5, 0.125}, {4, -0.5, 0.125}, {5, 0.25, 0.125}, {6, 0.25, 0.125}, {7, 0.5, 0.625}, {8, 2, 0.25}} {
		worst, tensors := GradientError(named{l}, params, with(c.at, float32(c.off)))
		require.InDelta(t, c.want, worst, 1e-6, "%v", c)
		require.Equal(t, 4, tensors)
	}
	single := linear{slope: []float64{0, -3, 0}}
	worst, tensors := GradientError(single, params[:3], func(params, grad []float32) { copy(grad, []float32{0, -3, 1.5}) })
	require.InDelta(t, 0.5, worst, 1e-6)
	require.Equal(t, 1, tensors)
	single.err = errors.New("gone")
	worst, tensors = GradientError(single, params[:3], single.Backward)
	require.True(t, math.IsInf(worst, 1))
	require.Zero(t, tensors)
}

// TestTrainersEnd: errors of targets, of contexts and of numbers, and when nothing is left to do.
func TestTrainersEnd(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	of := func(l System) *Trainer {
		c := &systemConfig{system: l}
		c.Training.Steps, c.Training.Method, c.Training.Schedule.Kind = 2, "gradient", "constant"
		c.Training.Optimizer.LearningRate = 1
		trainer, err := NewTrainer(c, workers)
		require.NoError(t, err)
		return trainer
	}
	trainer := of(linear{slope: []float64{1, 2}})
	require.False(t, trainer.Done())
	require.NoError(t, trainer.Step())
	require.False(t, trainer.Done())
	require.NoError(t, trainer.Step())
	require.True(t, trainer.Done())
	require.Equal(t, Record{Step: 2, Acceptance: 0.5, GradientNorm: math.Sqrt(5), LearningRate: 1}, trainer.Record())
	trainer.Resume(1)
	require.Equal(t, Record{Step: 1, Acceptance: 0.5, LearningRate: 1}, trainer.Record())
	trainer.Ease(0.25)
	require.Equal(t, 0.25, trainer.Eased())
	require.Equal(t, 0.25, trainer.Record().LearningRate)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.Equal(t, context.Canceled, trainer.StepContext(ctx))
	require.Equal(t, 1, trainer.Steps())
	require.EqualError(t, of(linear{slope: []float64{1}, err: errors.New("gone")}).Step(), "step 1: gone")

	const plain = " is not finite; try a smaller learning rate, gradient clipping or, for pairs of samples, a wider kernel"
	nan := math.NaN()
	require.EqualError(t, of(linear{slope: []float64{1, nan}}).Step(), "step 1: the gradient"+plain)
	require.EqualError(t, of(named{linear{slope: []float64{1, nan}, names: "ab"}}).Step(), "step 1: the gradient of the generator's b"+plain)
	require.EqualError(t, of(lossy{linear{slope: []float64{1, 2}}}).Step(), "step 1: the loss"+plain)
	require.EqualError(t, &NonFiniteError{Step: 4, Tensor: "loss", Rate: 0.25}, "step 4: the loss is not finite, at 0.25 of the learning rate too; try gradient clipping (training.clip_norm), a simpler generator (generator.depth 0, say) or, for pairs of samples, a wider kernel")
	broken := &Trainer{norm: math.Inf(1), step: 3, grad: []float32{1}}
	require.EqualError(t, broken.checkFinite(), "step 3: the norm of the gradient"+plain)
	broken.norm, broken.loss = 1, math.Inf(-1)
	require.EqualError(t, broken.checkFinite(), "step 3: the loss"+plain)
	broken.loss = 1
	require.NoError(t, broken.checkFinite())

	soon := of(converging{linear{slope: []float64{1}}})
	require.False(t, soon.Done(), "not before the first step")
	require.NoError(t, soon.Step())
	require.True(t, soon.Done())

	// A generator starts from one of the same tensors.
	from := of(named{linear{slope: []float64{1, 2}, names: "ab"}})
	for _, c := range []struct {
		system System
		theirs int
		ok     bool
	}{
		{named{linear{slope: make([]float64, 2), names: "ab"}}, 2, true},
		{named{linear{slope: make([]float64, 2), names: "aa"}}, 2, false},
		{named{linear{slope: make([]float64, 3), names: "abc"}}, 2, false},
		{linear{slope: make([]float64, 2)}, 2, false},
	} {
		trainer := of(c.system)
		err := trainer.Inherit(from.System(), []float32{5, 6})
		if c.ok {
			require.NoError(t, err)
			require.Equal(t, []float32{5, 6}, trainer.Params())
		} else {
			require.ErrorContains(t, err, "cannot start from one of another shape, with 2")
		}
	}
	plainly := of(linear{slope: make([]float64, 2)})
	require.NoError(t, plainly.Inherit(linear{slope: make([]float64, 2)}, []float32{7, 8}))
	require.Equal(t, []float32{7, 8}, plainly.Params())
	require.EqualError(t, of(linear{slope: make([]float64, 3)}).Inherit(linear{}, []float32{7, 8}), "a generator of 3 parameters cannot start from one of another shape, with 2")
}

// systemConfig is a configuration of a given system.
type systemConfig struct {
	Common
	system System
}

func (c *systemConfig) Validate() error                { return nil }
func (c *systemConfig) New(*pool.Pool) (System, error) { return c.system, nil }

// lossy has a loss that is no number.
type lossy struct{ linear }

func (lossy) Loss([]float32, uint32) (float64, error) { return math.NaN(), nil }

// converging has learned all there is in its first step.
type converging struct{ linear }

func (converging) Converged() bool { return true }

// lent is a system that something else computes for.
type lent struct {
	linear
	interrupted *error
	closed      *int
}

func (l lent) Err() error          { return nil }
func (l lent) Interrupt(err error) { *l.interrupted = err }
func (l lent) Close() error        { *l.closed++; return nil }

// TestInterruptions: the end of a context reaches a target, and what a system has started ends
// with it.
func TestInterruptions(t *testing.T) {
	l := lent{interrupted: new(error), closed: new(int)}
	ctx, cancel := context.WithCancel(context.Background())
	require.True(t, Interruptible(ctx, linear{})(), "nothing to wait for")
	require.True(t, Interruptible(ctx, l)())
	cancel()
	require.NoError(t, *l.interrupted)
	said := make(chan error, 1)
	Interruptible(ctx, heard{l, said})
	require.Equal(t, context.Canceled, <-said)
	Release(linear{})
	require.Zero(t, *l.closed)
	Release(l)
	require.Equal(t, 1, *l.closed)
	(&Stream{sampler: drawnLent{l}}).Close()
	require.Equal(t, 2, *l.closed)
	(&Stream{sampler: counting{1}}).Close()
	_, err := NewStream(&systemConfig{Common: Common{System: "lent"}, system: l}, nil, nil)
	require.EqualError(t, err, "lent: the system has no samples to write")
	require.Equal(t, 3, *l.closed)
}

// heard says when it was interrupted.
type heard struct {
	lent
	said chan error
}

func (h heard) Interrupt(err error) { h.said <- err }

// drawnLent has samples.
type drawnLent struct{ lent }

func (drawnLent) Formats() []Format                                        { return counting{1}.Formats() }
func (drawnLent) Reach(first, n uint64, refine int) error                  { return nil }
func (drawnLent) Sample([]byte, string, []float32, uint64, int, int) error { return nil }

// TestMovesThatFail: the error of a transition is that of a loss, and nothing is measured.
func TestMovesThatFail(t *testing.T) {
	gone := errors.New("gone")
	pairs := &Pairs[int, int]{Generator: drawing{}, Transition: stuck{gone}}
	_, err := pairs.Loss(nil, 1)
	require.Equal(t, gone, err)
	require.Equal(t, 0.75, pairs.Acceptance())
	densities := &Densities[int]{Balance: NewBalance(Balancing{Partners: 0.5}, 4, 4, 1), Generator: drawing{}, Transition: stuck{gone}}
	_, err = densities.Loss(nil, 1)
	require.Equal(t, gone, err)
	require.Equal(t, 2*0.75/4, densities.Acceptance())
}

type drawing struct{}

func (drawing) Draw(int, []float32, uint32)                      {}
func (drawing) Backward([]float32, []float32, int)               {}
func (drawing) Weigh([]float64, []float64, int, int)             {}
func (drawing) Score([]float32, []float32, []float64, []float64) {}

type stuck struct{ err error }

func (s stuck) Move(int, int, uint32) error { return s.err }
func (s stuck) Acceptance() float64         { return 0.75 }
