package run_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/pool"
)

// trainRanks trains on so many ranks and returns what each does.
func trainRanks(ctx []context.Context, c engine.Config, opt run.Options) ([]*run.Result, []error) {
	n := len(ctx)
	results, errs := make([]*run.Result, n), make([]error, n)
	var all sync.WaitGroup
	for i, rank := range pool.Local(n) {
		all.Go(func() {
			workers := pool.New(1)
			defer workers.Close()
			workers.Join(rank)
			results[i], errs[i] = run.Train(ctx[i], c, workers, opt)
		})
	}
	all.Wait()
	return results, errs
}

// TestRanksStopAndResume: a run that ranks stop and other numbers of ranks resume
// ends with the bytes of one that a single process made.
func TestRanksStopAndResume(t *testing.T) {
	c := config(t)
	whole, dir := t.TempDir(), t.TempDir()
	want, err := train(t, context.Background(), c, 2, run.Options{Dir: whole})
	require.NoError(t, err)

	always := context.Background()
	for _, stop := range []struct{ ranks, at, of int }{{3, 2, 4}, {2, 0, 9}} {
		var contexts []context.Context
		ctx, cancel := context.WithCancel(always)
		defer cancel()
		for i := range stop.ranks {
			contexts = append(contexts, always)
			if i == stop.at { // this rank alone gets the signal
				contexts[i] = ctx
			}
		}
		results, errs := trainRanks(contexts, c, run.Options{Dir: dir, Progress: func(p run.Progress) {
			if p.Step >= stop.of {
				cancel()
			}
		}})
		for i := range errs {
			require.ErrorIs(t, errs[i], run.ErrStopped, "rank %d", i)
			require.Nil(t, results[i])
		}
	}
	const earlier = 1000
	require.NoError(t, run.SetSeconds(filepath.Join(dir, "checkpoint.rvg"), earlier))
	results, errs := trainRanks([]context.Context{always, always}, c, run.Options{Dir: dir, Resume: "must"})
	for i := range errs {
		require.NoError(t, errs[i])
		require.InDelta(t, earlier+60, results[i].Seconds, 60, "rank %d", i)
		require.Equal(t, want.Params, results[i].Params, "rank %d", i)
	}
	require.Equal(t, want.Evaluation, results[0].Evaluation)
	require.Nil(t, results[1].Evaluation)
	a, err := os.ReadFile(filepath.Join(whole, "model.rvg"))
	require.NoError(t, err)
	b, err := os.ReadFile(filepath.Join(dir, "model.rvg"))
	require.NoError(t, err)
	require.Equal(t, a, b)
	require.Equal(t, withoutSeconds(t, whole), withoutSeconds(t, dir))
}

// TestRanksFailTogether: what goes wrong on rank 0 ends the others' run too.
func TestRanksFailTogether(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	always := context.Background()
	_, errs := trainRanks([]context.Context{always, always, always}, config(t), run.Options{Dir: file})
	require.ErrorContains(t, errs[0], file)
	require.ErrorIs(t, errs[1], engine.ErrElsewhere)
	require.ErrorIs(t, errs[2], engine.ErrElsewhere)
}
