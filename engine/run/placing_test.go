package run_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/notes"
	"github.com/revgen/revgen/internal/pool"
)

// placed is a toy whose generator is placed on its target first.
type placed struct {
	*toy
	place  func(rank int, page *notes.Page) error
	broken error // of the target
}

func (c *placed) New(workers *pool.Pool) (engine.System, error) {
	s, err := c.toy.New(workers)
	return &placedSystem{s.(*toySystem), c, workers.Rank()}, err
}

type placedSystem struct {
	*toySystem
	of   *placed
	rank int
}

func (s *placedSystem) InitializeContext(ctx context.Context, params []float32) error {
	s.Initialize(params)
	return s.of.place(s.rank, notes.PageOf(ctx, "place"))
}
func (s *placedSystem) Err() error      { return s.of.broken }
func (s *placedSystem) Interrupt(error) {}
func (s *placedSystem) Close() error    { return nil }

// TestPlacing: a generator's placing goes on from what an interrupted one has left, on all ranks,
// and is kept itself where it has taken a while.
func TestPlacing(t *testing.T) {
	noted := func(dir string) int {
		entries, _ := os.ReadDir(filepath.Join(dir, "notes"))
		return len(entries)
	}
	brief := func() *placed {
		c := &placed{toy: newToy()}
		c.Training.Steps, c.Training.CheckpointEvery = 2, 0
		return c
	}
	interrupted := func(c *placed, dir string, err error) error {
		c.place = func(_ int, page *notes.Page) error {
			time.Sleep(6 * time.Millisecond) // less is not worth a note
			page.Done(17)
			return err
		}
		_, err = train(t, context.Background(), c, 1, run.Options{Dir: dir})
		return err
	}
	for _, ranks := range []int{1, 3} {
		for _, from := range []time.Duration{0, time.Hour} {
			undo := run.SetWorthKeeping(from)
			c, dir := brief(), t.TempDir()
			require.Equal(t, &run.StopError{Dir: dir, Step: -1, Steps: 2}, interrupted(c, dir, context.Canceled))
			require.Contains(t, status(t, dir), `"checkpoint": -1`)
			require.Equal(t, 1, noted(dir))

			recalled, kept := make([]int, ranks), false
			c.place = func(rank int, page *notes.Page) error {
				require.True(t, page.Recall(&recalled[rank]))
				for rank == 0 && !strings.Contains(status(t, dir), `"setting up"`) {
					time.Sleep(time.Millisecond) // it is written beside this
				}
				return nil
			}
			var contexts []context.Context
			for range ranks {
				contexts = append(contexts, context.Background())
			}
			var first string
			_, errs := trainRanks(contexts, c, run.Options{Dir: dir, Progress: func(p run.Progress) {
				if first == "" {
					_, err := os.Stat(filepath.Join(dir, "checkpoint.rvg"))
					first, kept = status(t, dir), err == nil
				}
			}})
			for rank := range ranks {
				require.NoError(t, errs[rank])
				require.Equal(t, 17, recalled[rank])
			}
			require.Equal(t, from == 0, kept)
			if kept {
				require.Contains(t, first, `"running"`)
				require.Contains(t, first, `"checkpoint": 0`)
			} else {
				require.Contains(t, first, `"checkpoint": -1`)
			}
			require.NoDirExists(t, filepath.Join(dir, "notes"))
			// The run has its generator now.
			c.place = func(int, *notes.Page) error { return errors.New("placed again") }
			_, errs = trainRanks(contexts, c, run.Options{Dir: dir})
			require.NoError(t, errors.Join(errs...))
			undo()
		}
	}

	// What is noted of another configuration, or after the target has failed, is of no use, and
	// nothing is once the placing has failed.
	dir, c := t.TempDir(), brief()
	require.ErrorIs(t, interrupted(c, dir, context.Canceled), run.ErrStopped)
	c.Training.Steps = 3
	c.place = func(_ int, page *notes.Page) error {
		require.False(t, page.Recall(new(int)))
		return context.Canceled
	}
	_, err := train(t, context.Background(), c, 1, run.Options{Dir: dir})
	require.ErrorIs(t, err, run.ErrStopped)
	require.Equal(t, 1, noted(dir))
	require.EqualError(t, interrupted(c, dir, errors.New("no place")), "no place")
	require.NoDirExists(t, filepath.Join(dir, "notes"))
	c.broken = errors.New("broken")
	require.ErrorIs(t, interrupted(c, dir, context.Canceled), run.ErrStopped)
	require.Zero(t, noted(dir))
	c.place = func(_ int, page *notes.Page) error {
		require.Nil(t, page)
		return nil
	}
	c.broken = nil
	_, err = train(t, context.Background(), c, 2, run.Options{})
	require.NoError(t, err)
}

// TestEvaluationsOfRanks: a run has spent what all of its ranks have.
func TestEvaluationsOfRanks(t *testing.T) {
	always := context.Background()
	var told []int64
	results, errs := trainRanks([]context.Context{always, always, always}, countedToy{newToy()}, run.Options{Progress: func(p run.Progress) {
		told = append(told, p.Evaluations)
	}})
	require.NoError(t, errors.Join(errs...))
	require.Len(t, told, 60)
	for i, n := range told {
		require.EqualValues(t, 3*(i+1), n)
	}
	require.Equal(t, &engine.Evaluations{Training: 180}, results[0].Evaluations)
	_, errs = trainRanks([]context.Context{always, always, always}, countedToy{newToy()}, run.Options{MaxEvaluations: 150})
	for _, err := range errs {
		require.ErrorIs(t, err, run.ErrStopped)
	}
}
