package run_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/pool"
)

func TestIllustrate(t *testing.T) {
	dir := t.TempDir()
	c := config(t)
	result, err := train(t, context.Background(), c, 1, run.Options{Dir: dir})
	require.NoError(t, err)
	workers := pool.New(1)
	defer workers.Close()
	figures, err := pictures(context.Background(), c, result.Params, workers, dir)
	require.NoError(t, err)
	require.Len(t, figures, 2)
	require.Equal(t, "distributions", figures[0].Name)
	require.Equal(t, "training", figures[1].Name)
	figures, err = pictures(context.Background(), c, result.Params, workers, "")
	require.NoError(t, err)
	require.Len(t, figures, 1, "no run, no curves")
	figures, err = pictures(context.Background(), c, result.Params, workers, t.TempDir())
	require.NoError(t, err)
	require.Len(t, figures, 1, "nothing logged, no curves")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = pictures(ctx, c, result.Params, workers, dir)
	require.ErrorIs(t, err, context.Canceled)
}

// pictures are those of a generator whose system is made for them.
func pictures(ctx context.Context, cfg engine.Config, params []float32, workers *pool.Pool, dir string) ([]figure.Figure, error) {
	system, err := cfg.New(workers)
	if err != nil {
		return nil, err
	}
	defer engine.Release(system)
	defer engine.Interruptible(ctx, system)()
	return run.Illustrate(ctx, system, cfg, params, dir)
}

func TestTrainingCurves(t *testing.T) {
	records := []engine.Record{
		{Step: 10, Seconds: 1, Loss: 1e-2, Acceptance: 0.5, Errors: []engine.Error{{Name: "total_variation", Error: 0.06, Floor: 0.02}}},
		{Step: 15, Seconds: 1.5, Loss: 1e-3, Acceptance: 0.25},
		{Step: 20, Seconds: 2, Loss: 1e-4, Acceptance: 0.75, Errors: []engine.Error{{Name: "total_variation", Error: 0.03, Floor: 0.02}}},
	}
	f := run.TrainingCurves(records, 0)
	require.Len(t, f.Rows, 3)
	byStep, byTime := f.Rows[2].Panels[0], f.Rows[2].Panels[1]
	require.Equal(t, figure.Log, byStep.Y.Scale)
	require.Equal(t, []float64{10, 15, 20}, byStep.Layers[0].X)
	require.Equal(t, []float64{1, 1.5, 2}, byTime.Layers[0].X)
	require.Equal(t, []float64{1e-2, 1e-3, 1e-4}, byTime.Layers[0].Y)
	require.Equal(t, []float64{0.5, 0.25, 0.75}, f.Rows[1].Panels[0].Layers[0].Y, "acceptance")
	errors := f.Rows[0].Panels[1]
	require.Equal(t, "error / sampling floor", f.Rows[0].Panels[0].Y.Label)
	require.Len(t, errors.Layers, 2, "the curve and the level of exact samples")
	require.Equal(t, []float64{1, 2}, errors.Layers[0].X)
	require.InDeltaSlice(t, []float64{3, 1.5}, errors.Layers[0].Y, 1e-12)

	// An annealed target is told.
	require.Empty(t, byStep.Title)
	require.Equal(t, "β rises until step 15, and the loss may rise with it", run.TrainingCurves(records, 15).Rows[2].Panels[0].Title)

	// An infinite error leaves the axis finite.
	records[0].Errors[0].Error = math.Inf(1)
	f = run.TrainingCurves(records, 0)
	require.Equal(t, 10.0, f.Rows[0].Panels[0].Y.Max)
	records[0].Errors[0].Error = 0.06

	// Without a floor the errors stand for themselves.
	records[0].Errors = append(records[0].Errors, engine.Error{Name: "kl", Error: 0.5})
	f = run.TrainingCurves(records, 0)
	require.Equal(t, "error", f.Rows[0].Panels[0].Y.Label)
	require.Len(t, f.Rows[0].Panels[0].Layers, 2)
	require.Equal(t, []float64{0.06, 0.03}, f.Rows[0].Panels[0].Layers[0].Y)

	// A loss that scatters about 0 tells nothing.
	records[1].Loss, records[2].Loss = -2e-4, 1e-4
	require.Len(t, run.TrainingCurves(records, 0).Rows, 2)
	require.Len(t, run.TrainingCurves([]engine.Record{{Step: 1}}, 0).Rows, 1, "nothing was measured")
}

func TestReadRecords(t *testing.T) {
	dir := t.TempDir()
	records, err := run.ReadRecords(dir)
	require.NoError(t, err)
	require.Empty(t, records)
	path := filepath.Join(dir, "metrics.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("{\"step\":1,\"loss\":0.5}\n{\"step\":2,\"lo"), 0o644))
	records, err = run.ReadRecords(dir)
	require.NoError(t, err)
	require.Equal(t, []engine.Record{{Step: 1, Loss: 0.5}}, records, "a line that is being written does not count")
	require.NoError(t, os.WriteFile(path, []byte("{\"step\":1}\nnonsense\n"), 0o644))
	_, err = run.ReadRecords(dir)
	require.ErrorContains(t, err, path+": line 2")
}
