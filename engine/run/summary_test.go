package run_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/long"
)

// explained is a toy that is evaluated, and says what it is.
type explained struct{ *evaluated }

func (explained) Describe() string         { return "a toy" }
func (explained) Explain() string          { return "by chance" }
func (explained) Demands() []engine.Demand { return nil }

// TestSummaries: a summary has what the run was of, what it took and what was measured, and
// progress tells how far it is and how fast.
func TestSummaries(t *testing.T) {
	dir := t.TempDir()
	c := explained{&evaluated{newToy(), nil}}
	c.Preset, c.Training.Seed, c.acceptance = "plain", 7, 0.001
	stoppedAt(t, c, dir, 10)
	r, err := train(t, context.Background(), c, 2, run.Options{Dir: dir, Program: "test 1.0", Progress: func(p run.Progress) {
		require.Equal(t, 60, p.Steps)
		require.InEpsilon(t, float64(p.Step-10), p.StepsPerSecond*p.Elapsed.Seconds(), 1e-9)
		require.Zero(t, p.Predecessors)
	}})
	require.NoError(t, err)
	require.Positive(t, r.Setup)
	require.Greater(t, r.Seconds, 0.0)
	data, err := os.ReadFile(filepath.Join(dir, "summary.json"))
	require.NoError(t, err)
	var got, metrics map[string]any
	require.NoError(t, json.Unmarshal(data, &got))
	host, err := os.Hostname()
	require.NoError(t, err)
	text, err := json.Marshal(r.Evaluation)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &metrics))
	require.Len(t, metrics["metrics"], 1)
	require.Len(t, r.Warnings, 1)
	require.NotEmpty(t, got["date"])
	delete(got, "date")
	want := map[string]any{"schema": float64(engine.SchemaVersion), "system": "toy", "target": "a toy", "preset": "plain", "seed": 7.0, "steps": 60.0, "seconds": r.Seconds,
		"threads": 2.0, "path": run.ActivePath(), "program": "test 1.0", "machine": host + ", " + asm.CPUName(), "platform": runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version(),
		"training_warnings": []any{r.Warnings[0]}}
	for key, value := range metrics {
		want[key] = value
	}
	require.Equal(t, want, got)
	var s run.Status
	require.NoError(t, json.Unmarshal([]byte(status(t, dir)), &s))
	require.Equal(t, []any{engine.SchemaVersion, 2, run.ActivePath(), r.Setup}, []any{s.Schema, s.Threads, s.Path, s.Setup})
	require.GreaterOrEqual(t, s.Seconds, r.Seconds)

	// Nothing is measured, and nothing judged, that another run starts from.
	unasked := func() { t.Error("measured") }
	r, err = train(t, context.Background(), &evaluated{newToy(), unasked}, 1, run.Options{Unmeasured: true, Diagnose: func(context.Context, engine.System, *run.Result) (any, error) {
		return "judged", nil
	}})
	require.NoError(t, err)
	require.Nil(t, r.Evaluation)
	require.Nil(t, r.Diagnosis)
}

// TestRanksGoBackTogether: ranks that go on from a checkpoint know what losses were before it, and
// go back where one process does, to the same end.
func TestRanksGoBackTogether(t *testing.T) {
	long.SkipShort(t)
	const fatal, rate = 151, 0.25
	wandering := func(beyond float64) *toy {
		c := newToy()
		c.beyond = beyond
		c.Training.Steps, c.Training.LogEvery, c.Training.CheckpointEvery = 260, 100, 0
		c.Training.Optimizer.LearningRate = rate
		c.lowest = 1 - rate*(fatal-1.5)
		return c
	}
	for _, beyond := range []float64{11, 9} { // too much, and not so
		whole, err := train(t, context.Background(), wandering(beyond), 1, run.Options{})
		require.NoError(t, err)
		require.Equal(t, beyond > 10, len(whole.Warnings) > 0)
		for _, at := range []int{120, 180} {
			dir := t.TempDir()
			ctx, stop := context.WithCancel(context.Background())
			c := wandering(beyond)
			c.look = func(step int) {
				if step == at {
					stop()
				}
			}
			_, err = train(t, ctx, c, 1, run.Options{Dir: dir})
			require.ErrorIs(t, err, run.ErrStopped)
			always := context.Background()
			results, errs := trainRanks([]context.Context{always, always}, wandering(beyond), run.Options{Dir: dir})
			for i := range errs {
				require.NoError(t, errs[i])
				require.Equal(t, whole.Params, results[i].Params, "rank %d", i)
				require.Equal(t, whole.Warnings, results[i].Warnings)
			}
		}
	}
}
