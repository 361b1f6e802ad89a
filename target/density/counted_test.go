package density

import (
	"math"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/catalogue"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// A countedRing counts the states that it is asked for.
type countedRing struct{ states *atomic.Int64 }

func (countedRing) Dim() int { return 2 }

func (c countedRing) LogDensity(dst, x []float32, _ []uint8) {
	c.states.Add(int64(len(dst)))
	for r := range dst {
		off := math.Hypot(float64(x[2*r]), float64(x[2*r+1])) - 2
		dst[r] = float32(-off * off / 0.32)
	}
}

// A run counts the states that its target was asked for, whatever the number of threads,
// and goes on counting where it was stopped, by a limit of them too.
func TestEvaluationsAreCounted(t *testing.T) {
	long.SkipShort(t)
	target := countedRing{new(atomic.Int64)}
	systems := catalogue.Systems{Reals("ring", "a ring", target)}
	small := []string{"training.steps=20", "training.batch=64", "generator.scout.population=128", "evaluation.samples=300", "training.checkpoint_every=7"}
	train := func(dir string, threads int, most int64) (*run.Result, engine.Evaluations, error) {
		workers := pool.New(threads)
		defer workers.Close()
		tally := new(engine.Tally)
		ctx := engine.WithTally(t.Context(), tally)
		if most > 0 {
			ctx = tally.Limit(ctx, most)
		}
		from := catalogue.Source{System: "ring", Preset: "quick", Set: small}
		given, _, _, err := systems.Given(from)
		require.NoError(t, err)
		setup, err := run.SetUp(dir, "auto", given, func(string) {})
		require.NoError(t, err)
		from.Look = run.ReadLook(dir)
		cfg, _, err := systems.Resolve(setup.Noting(ctx), from)
		if err == nil {
			err = setup.Keep(from.Look)
		}
		var result *run.Result
		if err == nil {
			result, err = run.Train(ctx, cfg, workers, run.Options{Dir: dir, Setup: setup})
		}
		return result, tally.Evaluations(), setup.End(err)
	}
	whole, spent, err := train(filepath.Join(t.TempDir(), "run"), 1, 0)
	require.NoError(t, err)
	require.Equal(t, spent, *whole.Evaluations)
	require.Equal(t, target.states.Swap(0), spent.Total())
	require.Positive(t, spent.Look)
	require.Positive(t, spent.Training)
	require.Positive(t, spent.Table)
	require.Zero(t, spent.Diagnosis)
	_, again, err := train(filepath.Join(t.TempDir(), "run"), 2, 0)
	require.NoError(t, err)
	require.Equal(t, spent, again)

	for _, c := range []struct {
		most int64
		seen func(engine.Evaluations) int64
	}{
		{spent.Look / 3, func(e engine.Evaluations) int64 { return e.Look }},
		{spent.Look + spent.Training/2, func(e engine.Evaluations) int64 { return e.Training }},
		{spent.Look + spent.Training + spent.Table/2, func(e engine.Evaluations) int64 { return e.Table }},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		target.states.Store(0)
		for range 2 { // the second time there is nothing left
			_, e, err := train(dir, 1, c.most)
			require.ErrorIs(t, err, run.ErrStopped)
			require.Equal(t, target.states.Load(), e.Total(), "nothing is forgotten")
			require.GreaterOrEqual(t, e.Total(), c.most)
			require.Less(t, e.Total(), c.most+10_000)
			require.Positive(t, c.seen(e))
		}
		r, e, err := train(dir, 1, 0)
		require.NoError(t, err)
		require.Equal(t, whole.Params, r.Params)
		require.Equal(t, target.states.Load(), e.Total())
	}
}
