package density

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// thrifty trainers of a target, with and without modes, whose batches serve three steps.
func thriftyTrainer(t *testing.T, system string, threads int, set ...string) (*engine.Trainer, *engine.Tally) {
	t.Helper()
	workers := pool.New(threads)
	t.Cleanup(workers.Close)
	cfg, err := catalogue.Systems{RealsDefinition, MixedDefinition}.Configure(system, "quick", append([]string{
		"training.batch=192", "training.steps=40", "generator.scout.population=64", "loss.reuse=2"}, set...)...)
	require.NoError(t, err)
	trainer, err := engine.Prepare(cfg, workers)
	require.NoError(t, err)
	tally := new(engine.Tally)
	trainer.System().(engine.Counted).Count(tally)
	tally.Enter(engine.Looking)
	require.NoError(t, trainer.Initialize(t.Context()))
	tally.Enter(engine.Learning)
	return trainer, tally
}

// A batch that serves several steps is evaluated once, and a training that goes on in the
// middle of them goes on the same.
func TestBatchesServeSteps(t *testing.T) {
	long.SkipShort(t)
	for _, system := range []string{"reals", "mixed"} {
		first, tally := thriftyTrainer(t, system, 1)
		var spent []int64
		var kept [][]float32
		var wide [][]float64
		for step := range 12 {
			before := tally.Evaluations().Training
			require.NoError(t, first.Step())
			spent = append(spent, tally.Evaluations().Training-before)
			if step == 4 { // the second of three
				for _, s := range first.State() {
					kept, wide = append(kept, append([]float32{}, s.Float32...)), append(wide, append([]float64{}, s.Float64...))
				}
			}
		}
		for step, n := range spent {
			require.Equal(t, step%3 == 0, n > 0, "%s: step %d evaluates %d times", system, step+1, n)
		}
		again, _ := thriftyTrainer(t, system, 2)
		for i, s := range again.State() {
			copy(s.Float32, kept[i])
			copy(s.Float64, wide[i])
		}
		again.Resume(5)
		for range 7 {
			require.NoError(t, again.Step())
		}
		require.Equal(t, first.Params(), again.Params(), system)
	}
}

// The gradient of a batch of an earlier step is that of its loss with all states fixed.
func TestGradientOfServedBatch(t *testing.T) {
	long.SkipShort(t)
	for _, system := range []string{"reals", "mixed"} {
		trainer, _ := thriftyTrainer(t, system, 1)
		for range 2 {
			require.NoError(t, trainer.Step())
		}
		s := trainer.System()
		params := append([]float32{}, trainer.Params()...)
		loss, err := s.Loss(params, 3) // the third of three
		require.NoError(t, err)
		grad := make([]float32, len(params))
		s.Backward(params, grad)
		surrogate := s.(engine.Differentiable).Surrogate()
		at := make([]float64, len(params))
		for i, v := range params {
			at[i] = float64(v)
		}
		require.InEpsilon(t, loss, surrogate(at), 1e-3)
		var largest float64
		for _, g := range grad {
			largest = max(largest, math.Abs(float64(g)))
		}
		require.Positive(t, largest)
		for i := 0; i < len(params); i += 1 + len(params)/40 {
			const h = 1e-5
			was := at[i]
			at[i] = was + h
			up := surrogate(at)
			at[i] = was - h
			down := surrogate(at)
			at[i] = was
			require.InDelta(t, (up-down)/(2*h), grad[i], 2e-3*largest, "%s: parameter %d", system, i)
		}
	}
}

// Training ends when weights are level, at the same step for any number of threads and after
// an interruption, and not where the bar is out of reach.
func TestEnough(t *testing.T) {
	long.SkipShort(t)
	run := func(threads, stop int, set ...string) *engine.Trainer {
		trainer, _ := thriftyTrainer(t, "reals", threads, append([]string{"training.steps=1800"}, set...)...)
		for !trainer.Done() && trainer.Steps() != stop {
			require.NoError(t, trainer.Step())
		}
		return trainer
	}
	whole := run(1, -1, "loss.enough=0.97")
	t.Log(whole.Steps(), "steps")
	require.Less(t, whole.Steps(), 1800)
	require.Greater(t, whole.Steps(), 250, "16384 samples are judged")
	require.Equal(t, whole.Params(), run(2, -1, "loss.enough=0.97").Params())
	half := run(1, whole.Steps()-20, "loss.enough=0.97")
	again, _ := thriftyTrainer(t, "reals", 1, "training.steps=1800", "loss.enough=0.97")
	for i, s := range half.State() {
		to := again.State()[i]
		copy(to.Float32, s.Float32)
		copy(to.Float64, s.Float64)
	}
	again.Resume(half.Steps())
	for !again.Done() {
		require.NoError(t, again.Step())
	}
	require.Equal(t, whole.Steps(), again.Steps())
	require.Equal(t, whole.Params(), again.Params())
	require.Equal(t, 300, run(1, -1, "loss.enough=1", "training.steps=300").Steps())
}
