package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/long"
	"github.com/revgen/revgen/internal/pool"
)

// stoppedAt leaves a run that was stopped after a step.
func stoppedAt(t *testing.T, c engine.Config, dir string, step int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := train(t, ctx, c, 1, run.Options{Dir: dir, Progress: func(p run.Progress) {
		if p.Step == step {
			cancel()
		}
	}})
	require.Equal(t, &run.StopError{Dir: dir, Step: step, Steps: c.Shared().Training.Steps}, err)
	require.ErrorIs(t, err, run.ErrStopped)
}

func TestRunDirectoryHasOneOwner(t *testing.T) {
	long.SkipShort(t)
	dir := t.TempDir()
	host, err := os.Hostname()
	require.NoError(t, err)
	tried := false
	_, err = train(t, context.Background(), newToy(), 1, run.Options{Dir: dir, Progress: func(p run.Progress) {
		if tried {
			return
		}
		tried = true
		other := newToy()
		other.Training.Seed = 2
		_, err := train(t, context.Background(), other, 1, run.Options{Dir: dir})
		require.ErrorContains(t, err, fmt.Sprintf("%s: in use by process %d on %s since ", dir, os.Getpid(), host))
	}})
	require.NoError(t, err)
	require.True(t, tried)
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	require.NoError(t, err)
	require.NotContains(t, string(config), `"seed": 2`)
	require.NoFileExists(t, filepath.Join(dir, "lock"))

	// What a process that was killed leaves is no obstacle, and goes.
	for _, name := range []string{"lock", ".checkpoint.rvg123", ".model.rvg4"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(`{"host":"x","process":1}`), 0o600))
	}
	_, err = train(t, context.Background(), newToy(), 1, run.Options{Dir: dir})
	require.NoError(t, err)
	for _, name := range []string{"lock", ".checkpoint.rvg123", ".model.rvg4"} {
		require.NoFileExists(t, filepath.Join(dir, name))
	}
}

// The time of training is that of all the parts of a run.
func TestResumedTimeCounts(t *testing.T) {
	dir := t.TempDir()
	stoppedAt(t, newToy(), dir, 10)
	before, err := run.Seconds(filepath.Join(dir, "checkpoint.rvg"))
	require.NoError(t, err)
	require.Positive(t, before)
	const earlier = 1e6 // longer than any test
	require.NoError(t, run.SetSeconds(filepath.Join(dir, "checkpoint.rvg"), earlier))
	stoppedAt(t, newToy(), dir, 20)
	result, err := train(t, context.Background(), newToy(), 1, run.Options{Dir: dir})
	require.NoError(t, err)
	require.Greater(t, result.Seconds, earlier)
	records, err := run.ReadRecords(dir)
	require.NoError(t, err)
	require.Len(t, records, 60)
	for i, r := range records[10:] {
		require.Greater(t, r.Seconds, earlier, "step %d", r.Step)
		require.GreaterOrEqual(t, r.Seconds, records[max(10, 9+i)].Seconds)
	}
	after, err := run.Seconds(filepath.Join(dir, "checkpoint.rvg"))
	require.NoError(t, err)
	require.Greater(t, after, earlier)
}

// A resumed run warns of what an uninterrupted one does.
func TestWarningsSurviveResumption(t *testing.T) {
	long.SkipShort(t)
	for _, steps := range [][]int{{20}, {20, 30}, {55}, {20, 55}} {
		c := newToy()
		c.acceptance = 0.001
		dir := t.TempDir()
		for _, step := range steps {
			stoppedAt(t, c, dir, step)
		}
		var told []string
		r, err := train(t, context.Background(), c, 1, run.Options{Dir: dir, Warning: func(s string) { told = append(told, s) }})
		require.NoError(t, err)
		require.Len(t, told, 1, "%v", steps)
		require.Contains(t, told[0], "of the proposals of the first 50 steps were accepted")
		require.Equal(t, told, r.Warnings)
	}
	// Accepted moves before the interruption count.
	c := newToy()
	c.acceptance = 1
	dir := t.TempDir()
	stoppedAt(t, c, dir, 20)
	c.acceptance = 0
	r, err := train(t, context.Background(), c, 1, run.Options{Dir: dir})
	require.NoError(t, err)
	require.Empty(t, r.Warnings)
}

// A file of records that lost its end, as in a crash of the machine, goes on
// after its last whole line.
func TestShortMetricsAreCutToLines(t *testing.T) {
	long.SkipShort(t)
	for _, lost := range []int{1, 3, 40, 200, 400, 1 << 20} {
		dir := t.TempDir()
		stoppedAt(t, newToy(), dir, 10)
		path := filepath.Join(dir, "metrics.jsonl")
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.Truncate(path, int64(max(0, len(whole)-lost))))
		r, err := train(t, context.Background(), newToy(), 1, run.Options{Dir: dir})
		require.NoError(t, err)
		require.Len(t, r.Warnings, 1)
		end := 1 + bytes.LastIndexByte(whole[:max(0, len(whole)-lost)], '\n')
		require.Equal(t, fmt.Sprintf("%s holds %d bytes of the %d that the checkpoint counts: the records between are lost", path, end, len(whole)), r.Warnings[0])
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotContains(t, string(data), "\x00")
		kept := bytes.Count(whole[:max(0, len(whole)-lost)], []byte("\n"))
		records, err := run.ReadRecords(dir)
		require.NoError(t, err)
		require.Len(t, records, kept+50)
		require.Equal(t, 11, records[kept].Step)
	}
}

// config.json is that of the run as it is, with the keys that may change.
func TestConfigurationIsThatOfTheRun(t *testing.T) {
	long.SkipShort(t)
	dir := t.TempDir()
	c := newToy()
	_, err := train(t, context.Background(), c, 1, run.Options{Dir: dir})
	require.NoError(t, err)
	c.Evaluation.Samples = 77
	_, err = train(t, context.Background(), c, 1, run.Options{Dir: dir})
	require.NoError(t, err)
	samples := func() int {
		data, err := os.ReadFile(filepath.Join(dir, "config.json"))
		require.NoError(t, err)
		var written engine.Common
		require.NoError(t, json.Unmarshal(data, &written))
		return written.Evaluation.Samples
	}
	require.Equal(t, 77, samples())
	c.Training.Seed++
	c.Evaluation.Samples = 78
	_, err = train(t, context.Background(), c, 1, run.Options{Dir: dir})
	var mismatch *run.MismatchError
	require.ErrorAs(t, err, &mismatch)
	require.Equal(t, 77, samples(), "a run that is refused changes nothing")
}

// A stop that could not leave its checkpoint, or not say so, is an error.
func TestAStopHidesNoError(t *testing.T) {
	for _, name := range []string{"checkpoint.prev.rvg", "status.json"} {
		dir := t.TempDir()
		stoppedAt(t, newToy(), dir, 10)
		ctx, cancel := context.WithCancel(context.Background())
		_, err := train(t, ctx, newToy(), 1, run.Options{Dir: dir, Progress: func(p run.Progress) {
			if p.Step == 11 {
				path := filepath.Join(dir, name)
				require.NoError(t, os.Remove(path))
				require.NoError(t, os.MkdirAll(filepath.Join(path, "in the way"), 0o700))
				cancel()
			}
		}})
		cancel()
		require.Error(t, err)
		require.NotErrorIs(t, err, run.ErrStopped)
		require.False(t, engine.Cancelled(err))
		require.ErrorContains(t, err, name)
	}
	require.True(t, engine.Cancelled(fmt.Errorf("drawing: %w", context.Canceled)))
	require.False(t, engine.Cancelled(errors.Join(context.Canceled, errors.New("disk full"))))
	require.True(t, engine.Cancelled(errors.Join(context.Canceled, nil)), "to which nothing was joined")
	require.False(t, engine.Cancelled(nil))
}

// evaluated is a toy whose evaluation takes until it is told to end.
type evaluated struct {
	*toy
	begun func()
}

func (c *evaluated) New(workers *pool.Pool) (engine.System, error) {
	s, err := c.toy.New(workers)
	return &evaluatedSystem{s.(*toySystem), c.begun}, err
}

type evaluatedSystem struct {
	*toySystem
	begun func()
}

func (s *evaluatedSystem) Evaluate(ctx context.Context, params []float32, _ int) (*measure.Evaluation, error) {
	if s.begun != nil {
		s.begun()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &measure.Evaluation{Metrics: []measure.Metric{{Name: "first", Error: float64(params[0])}}}, nil
}

// An evaluation during training that a stop interrupts is made when the run
// goes on.
func TestInterruptedEvaluation(t *testing.T) {
	long.SkipShort(t)
	measured := func(begun func()) *evaluated {
		c := &evaluated{newToy(), begun}
		c.Evaluation.Every, c.Training.LogEvery = 12, 7
		return c
	}
	whole, dir := t.TempDir(), t.TempDir()
	_, err := train(t, context.Background(), measured(nil), 1, run.Options{Dir: whole})
	require.NoError(t, err)
	for range 2 { // the second time in what is left of the first
		ctx, cancel := context.WithCancel(context.Background())
		_, err = train(t, ctx, measured(cancel), 1, run.Options{Dir: dir})
		require.Equal(t, &run.StopError{Dir: dir, Step: 12, Steps: 60}, err)
	}
	_, err = train(t, context.Background(), measured(nil), 1, run.Options{Dir: dir})
	require.NoError(t, err)
	require.Equal(t, withoutSeconds(t, whole), withoutSeconds(t, dir))

	// The one at the end leaves a run that is complete but for it.
	last := measured(nil)
	last.Evaluation.Every = 0
	dir = t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	last.begun = cancel
	_, err = train(t, ctx, last, 1, run.Options{Dir: dir})
	require.Equal(t, &run.StopError{Dir: dir, Step: 60, Steps: 60}, err)
	last.begun = nil
	_, err = train(t, context.Background(), last, 1, run.Options{Dir: dir, Resume: "must"})
	require.NoError(t, err)
}

// A step that tries thousands of generators ends in the middle, without a
// trace.
func TestSearchesStopWithinAStep(t *testing.T) {
	for _, method := range []string{"consensus", "evolution"} {
		c := newToy()
		c.Training.Method, c.Training.Consensus.Particles, c.Training.Evolution.Pairs = method, 4096, 2048
		c.Training.Steps = 3
		want, err := train(t, context.Background(), c, 1, run.Options{})
		require.NoError(t, err)

		dir := t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		losses := 0
		c.look = func(step int) {
			if losses++; step == 2 && losses == 4096+1000 {
				cancel()
			}
		}
		_, err = train(t, ctx, c, 1, run.Options{Dir: dir})
		require.Equal(t, &run.StopError{Dir: dir, Step: 1, Steps: 3}, err)
		require.Equal(t, 4096+1000, losses, "not one more after the cancellation")
		c.look = nil
		got, err := train(t, context.Background(), c, 1, run.Options{Dir: dir})
		require.NoError(t, err)
		require.Equal(t, want.Params, got.Params)
	}
}

// failing is a toy whose target fails in a step.
type failing struct {
	*toy
	at     int
	before func() // called then
}

func (c *failing) New(workers *pool.Pool) (engine.System, error) {
	s, err := c.toy.New(workers)
	return &failingSystem{s.(*toySystem), c}, err
}

type failingSystem struct {
	*toySystem
	of *failing
}

func (s *failingSystem) Loss(params []float32, step uint32) (float64, error) {
	if int(step) == s.of.at {
		s.of.before()
		return 0, errors.New("the target is gone")
	}
	return s.toySystem.Loss(params, step)
}

// A target that fails leaves a checkpoint of the step before. If none can be written, that is
// said beside why the run ended.
func TestTargetFailsOnABadDisk(t *testing.T) {
	dir := t.TempDir()
	cfg := &failing{newToy(), 13, func() {}}
	_, err := train(t, context.Background(), cfg, 1, run.Options{Dir: dir})
	require.EqualError(t, err, "step 13: the target is gone")
	require.Contains(t, status(t, dir), `"checkpoint": 12`)

	checkpoint := filepath.Join(dir, "checkpoint.rvg")
	cfg.at, cfg.before = 15, func() {
		_ = os.Remove(checkpoint)
		_ = os.MkdirAll(filepath.Join(checkpoint, "in the way"), 0o700)
	}
	_, err = train(t, context.Background(), cfg, 1, run.Options{Dir: dir})
	require.ErrorContains(t, err, "step 15: the target is gone")
	require.ErrorContains(t, err, "checkpoint.rvg: ")
	require.Contains(t, status(t, dir), `"failed"`)
	require.Contains(t, status(t, dir), `"checkpoint": 12`)
}
