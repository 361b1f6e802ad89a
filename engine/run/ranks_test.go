package run_test

import (
	"context"
	"errors"
	"math"
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

// asked is a toy whose target stands outside: what it answers each rank, and fails with.
type asked struct {
	*toy
	answers [4][]float64
	errs    [4]error
}

func (c *asked) New(workers *pool.Pool) (engine.System, error) {
	s, err := c.toy.New(workers)
	return &askedSystem{s.(*toySystem), c, workers.Rank()}, err
}

type askedSystem struct {
	*toySystem
	of   *asked
	rank int
}

func (s *askedSystem) Probe() ([]float64, error) { return s.of.answers[s.rank], s.of.errs[s.rank] }
func (s *askedSystem) Key() string               { return "target.command" }

// TestRanksAreAsked: the ranks whose target answers otherwise than that of rank 0 are named by
// all, and who cannot ask ends the run of all.
func TestRanksAreAsked(t *testing.T) {
	same, other := []float64{1, math.Inf(1)}, []float64{1, 2}
	const otherwise = " it answers otherwise than on rank 0 to the same questions; all ranks need the same program with the same data"
	gone := errors.New("gone")
	for _, c := range []struct {
		answers [4][]float64
		failing int
		want    string
	}{
		{[4][]float64{same, same, same, same}, -1, ""},
		{[4][]float64{}, -1, ""},
		{[4][]float64{same, same, other, same}, -1, "target.command: on rank 2" + otherwise},
		{[4][]float64{same, other, same, other}, -1, "target.command: on ranks 1, 3" + otherwise},
		{[4][]float64{same, same, same, same}, 3, ""},
	} {
		cfg := &asked{toy: newToy(), answers: c.answers}
		if c.failing >= 0 {
			cfg.errs[c.failing] = gone
		}
		always := context.Background()
		_, errs := trainRanks([]context.Context{always, always, always, always}, cfg, run.Options{})
		for i, err := range errs {
			switch {
			case i == c.failing:
				require.ErrorIs(t, err, gone)
			case c.failing >= 0:
				require.ErrorIs(t, err, engine.ErrElsewhere)
			case c.want != "":
				require.EqualError(t, err, c.want)
			default:
				require.NoError(t, err)
			}
		}
	}
}
