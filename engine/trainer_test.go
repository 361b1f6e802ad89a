package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/optim"
	"github.com/revgen/revgen/engine/systemtest"
	"github.com/revgen/revgen/internal/pool"
)

// A raisedBowl starts where no parameter is 0.
type raisedBowl struct{ *systemtest.Bowl }

func (b raisedBowl) New(*pool.Pool) (engine.System, error) { return b, nil }
func (b raisedBowl) Initialize(p []float32) {
	for i := range p {
		p[i] = 2 + float32(i)
	}
}

// TestStepsAreAdamW follows a trainer by an optimiser of the test's own, with the
// gradient of the bowl: clipping, weight decay, a schedule and the weight average
// must all have the effect that the configuration gives them, bit for bit.
func TestStepsAreAdamW(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	for _, ema := range []float64{0, 0.8} {
		b := raisedBowl{systemtest.NewBowl(7, "gradient")}
		b.Training.Steps, b.Training.ClipNorm, b.Training.EMA = 40, 10, ema
		b.Training.Optimizer.LearningRate, b.Training.Optimizer.WeightDecay = 0.05, 0.1
		b.Training.Schedule = optim.Schedule{Kind: "cosine", Final: 0.1, Warmup: 5}
		trainer, err := engine.NewTrainer(b, workers)
		require.NoError(t, err)

		o := optim.NewOptimizer(b.Training.Optimizer, 10, ema, 7, workers)
		params, grad := make([]float32, 7), make([]float32, 7)
		b.Initialize(params)
		require.Equal(t, params, trainer.Params(), "before the first step")
		for step := 1; step <= 40; step++ {
			loss, err := b.Loss(params, 0)
			require.NoError(t, err)
			b.Backward(params, grad)
			norm := o.Norm(grad)
			rate := b.Training.Schedule.At(step, 40)
			require.True(t, o.Step(params, grad, norm, step, rate))

			require.NoError(t, trainer.Step())
			want := params
			if ema > 0 {
				want = o.EMA
				require.NotEqual(t, params, trainer.Params(), "the average lags behind")
			}
			require.Equal(t, want, trainer.Params(), "step %d", step)
			require.Equal(t, engine.Record{
				Step: step, Loss: loss, Acceptance: 1, GradientNorm: norm, LearningRate: 0.05 * rate,
			}, trainer.Record())
		}
	}
}

// TestConsensusAverage holds the weight average of consensus-based optimisation
// against that of the consensus points, which are the parameters of a run without
// an average.
func TestConsensusAverage(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	newTrainer := func(ema float64) *engine.Trainer {
		b := systemtest.NewBowl(6, "consensus")
		b.Training.EMA, b.Training.Consensus.Particles = ema, 8
		trainer, err := engine.NewTrainer(b, workers)
		require.NoError(t, err)
		return trainer
	}
	points, averaged := newTrainer(0), newTrainer(0.7)
	average := make([]float64, 6)
	for step := 1; step <= 40; step++ {
		require.NoError(t, points.Step())
		require.NoError(t, averaged.Step())
		decay := min(0.7, float64(step)/float64(step+10))
		for i, p := range points.Params() {
			average[i] = decay*average[i] + (1-decay)*float64(p)
			require.InDelta(t, average[i], averaged.Params()[i], 1e-5, "step %d", step)
		}
		require.NotEqual(t, points.Params(), averaged.Params())
	}
}
