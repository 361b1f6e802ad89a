package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// A run whose numbers get out of hand goes back to a good state, and on at a lower rate, to
// the same end wherever it has been stopped.
func TestNonFiniteStepsAreTakenBack(t *testing.T) {
	long.SkipShort(t)
	testTakenBack(t, math.Inf(1), "step 351: the loss is not finite", [][]int{{100}, {200}, {201}, {340, 345}, {340, 220}, {350, 350, 499}})
	// Where no rate helps it ends, as soon as that is known.
	c := newToy()
	c.lossAt = 7
	_, err := train(t, context.Background(), c, 1, run.Options{})
	var bad *engine.NonFiniteError
	require.True(t, errors.As(err, &bad))
	require.InDelta(t, 1./256, bad.Rate, 1e-12)
	require.ErrorContains(t, err, "step 7: the loss is not finite, at 0.00390625 of the learning rate too; try ")
}

func TestStepsThatLeadAstrayAreTakenBack(t *testing.T) {
	long.SkipShort(t)
	testTakenBack(t, 11, "step 400: the loss is at least 11 for 50 steps, and was 1 before", [][]int{{100}, {350}, {351}, {370, 399}, {390, 220}, {400}, {201, 360, 499}})
}

// TestAstray: losses, of either sign, may grow to ten times the least of the steps before, or ten;
// a single small one will do; and where nothing helps training goes on after four times.
func TestAstray(t *testing.T) {
	for _, c := range []struct {
		before, later, small float64 // that of step 75
		back                 int
	}{
		{2, 20, 20, 0}, {2, 20.001, 20.001, 4}, {-2, -20.001, 20.001, 4}, {0.5, 10, 10, 0}, {0.5, 10.001, 10.001, 4},
		{2, 1e9, 20, 0}, {2, 1e9, 20.001, 4}, {0, 1e9, 1e9, 0},
	} {
		cfg := &lossy{newToy(), func(step int) float64 {
			switch {
			case step <= 50:
				return c.before * float64(51-step)
			case step == 75:
				return c.small
			}
			return c.later
		}}
		cfg.Training.Steps, cfg.Training.LogEvery, cfg.Training.CheckpointEvery = 120, 300, 0
		r, err := train(t, context.Background(), cfg, 1, run.Options{})
		require.NoError(t, err)
		require.Len(t, r.Warnings, c.back, c)
		for i, w := range r.Warnings {
			require.Equal(t, fmt.Sprintf("step 100: the loss is at least %.2g for 50 steps, and was %.2g before; training goes back to step 0 and continues with %g of the learning rate",
				math.Abs(c.small), math.Abs(c.before), math.Pow(0.25, float64(i+1))), w)
		}
	}
}

func testTakenBack(t *testing.T, beyond float64, why string, stopsAt [][]int) {
	const steps, rate, fatal = 500, 0.25, 351
	wandering := func() *toy {
		c := newToy()
		c.beyond = beyond
		c.Training.Steps, c.Training.LogEvery, c.Training.CheckpointEvery = steps, 10, 70
		c.Training.Optimizer.LearningRate = rate
		c.lowest = 1 - rate*(fatal-1.5)
		return c
	}
	records := func(dir string) (all []engine.Record) {
		text, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			var r engine.Record
			require.NoError(t, json.Unmarshal([]byte(line), &r))
			r.Seconds = 0
			all = append(all, r)
		}
		return all
	}
	dir := t.TempDir()
	whole, err := train(t, context.Background(), wandering(), 1, run.Options{Dir: dir})
	require.NoError(t, err)
	require.Equal(t, []string{why + "; training goes back to step 200 and continues with 0.25 of the learning rate"}, whole.Warnings)
	want := records(dir)
	require.Len(t, want, steps/10)
	require.InDelta(t, rate, want[19].LearningRate, 1e-12)
	require.InDelta(t, rate/4, want[20].LearningRate, 1e-12)

	for _, stops := range stopsAt {
		dir := t.TempDir()
		for _, at := range stops {
			ctx, stop := context.WithCancel(context.Background())
			c := wandering()
			seen := 0
			c.look = func(step int) {
				if seen = max(seen, step); step == at && (at != 220 || seen > at) {
					stop()
				}
			}
			_, err := train(t, ctx, c, 1, run.Options{Dir: dir})
			require.ErrorIs(t, err, run.ErrStopped, "%v", stops)
		}
		r, err := train(t, context.Background(), wandering(), 1, run.Options{Dir: dir})
		require.NoError(t, err)
		require.Equal(t, whole.Params, r.Params, "%v", stops)
		require.Equal(t, want, records(dir), "%v", stops)
		require.Equal(t, whole.Warnings, r.Warnings, "%v", stops)
	}
}

// lossy is a toy of given losses.
type lossy struct {
	*toy
	loss func(step int) float64
}

func (c *lossy) New(workers *pool.Pool) (engine.System, error) {
	s, err := c.toy.New(workers)
	return &lossySystem{s.(*toySystem), c}, err
}

type lossySystem struct {
	*toySystem
	of *lossy
}

func (s *lossySystem) Loss(p []float32, step uint32) (float64, error) {
	if _, err := s.toySystem.Loss(p, step); err != nil {
		return 0, err
	}
	return s.of.loss(int(step)), nil
}

// TestWildStatesAreNoRefuge: a run goes back to no state whose loss, of either sign, is more than
// ten times the first step's, unless that was none.
func TestWildStatesAreNoRefuge(t *testing.T) {
	for _, c := range []struct {
		first, later float64
		to           int
	}{{2, 20, 200}, {2, -20, 200}, {-2, 20, 200}, {2, 20.001, 0}, {2, -20.001, 0}, {0, 1e9, 200}} {
		failed := false
		cfg := &lossy{newToy(), func(step int) float64 {
			switch {
			case step == 1:
				return c.first
			case step == 200:
				return c.later
			case step == 203 && !failed:
				failed = true
				return math.NaN()
			}
			return 1
		}}
		cfg.Training.Steps, cfg.Training.LogEvery, cfg.Training.CheckpointEvery = 204, 300, 0
		r, err := train(t, context.Background(), cfg, 1, run.Options{})
		require.NoError(t, err)
		require.Equal(t, []string{fmt.Sprintf("step 203: the loss is not finite; training goes back to step %d and continues with 0.25 of the learning rate", c.to)}, r.Warnings, c)
	}
}
