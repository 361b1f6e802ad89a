package run_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/ising"
)

// successor is a small configuration that starts from half its side.
func successor(t *testing.T) *ising.Config {
	c, err := ising.Preset("quick")
	require.NoError(t, err)
	c.Target.L = 32
	_, err = c.Adapt(t.Context())
	require.NoError(t, err)
	c.Training.Steps, c.Training.Batch, c.Training.LogEvery, c.Training.CheckpointEvery = 2, 64, 1, 1
	return c
}

// shortened makes the predecessor as short as its successor.
type shortened struct{ *ising.Config }

func (s shortened) Predecessor() engine.Config {
	before, ok := s.Config.Predecessor().(*ising.Config)
	if !ok {
		return nil
	}
	before.Training.Steps, before.Training.Batch, before.Training.LogEvery = 3, 64, 1
	return shortened{before}
}

// TestSuccessorsStartFromTheirPredecessor stops a run while its predecessor
// trains and while it does itself, and expects the bits of one that was never
// stopped.
func TestSuccessorsStartFromTheirPredecessor(t *testing.T) {
	long.SkipShort(t)
	workers := pool.New(2)
	defer workers.Close()
	train := func(dir string, stopAt int) (*run.Result, error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		seen := 0
		opt := run.Options{Dir: dir, Progress: func(p run.Progress) {
			if seen++; seen == stopAt {
				cancel()
			}
		}}
		opt.Unmeasured = true
		return run.Train(ctx, shortened{successor(t)}, workers, opt)
	}
	want, err := train("", 0)
	require.NoError(t, err)
	dir := t.TempDir()
	for stops := 0; ; stops++ {
		got, err := train(dir, 1)
		if err == nil {
			require.GreaterOrEqual(t, stops, 3, "within the predecessor and after it")
			require.Equal(t, want.Params, got.Params)
			break
		}
		require.ErrorIs(t, err, run.ErrStopped)
	}
	_, err = os.Stat(filepath.Join(dir, "predecessor", "model.rvg"))
	require.NoError(t, err)
	c := successor(t)
	c.Generator.From = "scratch"
	opt := run.Options{}
	opt.Unmeasured = true
	scratch, err := run.Train(context.Background(), c, workers, opt)
	require.NoError(t, err)
	require.NotEqual(t, want.Params, scratch.Params)
}

// TestExtend gives a finished run more steps, and no run fewer than it has taken.
func TestExtend(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	dir := t.TempDir()
	c := config(t)
	_, err := run.Train(context.Background(), c, workers, run.Options{Dir: dir})
	require.NoError(t, err)
	steps := c.Training.Steps
	c.Training.Steps += 5
	_, err = run.Train(context.Background(), c, workers, run.Options{Dir: dir})
	var mismatch *run.MismatchError
	require.ErrorAs(t, err, &mismatch)
	result, err := run.Train(context.Background(), c, workers, run.Options{Dir: dir, Extend: true})
	require.NoError(t, err)
	require.Equal(t, steps+5, result.Steps)
	c.Training.Steps = steps
	_, err = run.Train(context.Background(), c, workers, run.Options{Dir: dir, Extend: true})
	require.ErrorContains(t, err, "training.steps: the run in")
	c.Training.Steps += 10
	c.Target.Beta *= 2
	_, err = run.Train(context.Background(), c, workers, run.Options{Dir: dir, Extend: true})
	require.ErrorAs(t, err, &mismatch)
}

// TestStart begins with a given generator, and refuses others.
func TestStart(t *testing.T) {
	workers := pool.New(1)
	defer workers.Close()
	c := config(t)
	first, err := run.Train(context.Background(), c, workers, run.Options{})
	require.NoError(t, err)
	start := &run.Start{Config: c, Params: first.Params}
	next := config(t)
	next.Target.Beta, next.Training.Steps = 0.3, 0
	_, err = run.Train(context.Background(), next, workers, run.Options{Start: start})
	require.EqualError(t, err, `training.start: "" is not the hash of the model that was given, `+start.Hash())
	next.Training.Start = start.Hash()
	_, err = run.Train(context.Background(), next, workers, run.Options{})
	require.EqualError(t, err, "training.start: the run begins with the parameters of the model "+start.Hash()+", which has to be given")
	got, err := run.Train(context.Background(), next, workers, run.Options{Start: start})
	require.NoError(t, err)
	require.Equal(t, first.Params, got.Params, "no step has been taken")
	next.Generator.Hidden = []int{7}
	_, err = run.Train(context.Background(), next, workers, run.Options{Start: start})
	require.ErrorContains(t, err, "another shape")
	require.False(t, errors.Is(err, run.ErrStopped))
}
