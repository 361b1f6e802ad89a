package run

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/pool"
)

// TestHashesOfStarts: parameters are hashed as files hold them, about the ends of blocks.
func TestHashesOfStarts(t *testing.T) {
	for _, n := range []int{0, 1, 1023, 1024, 1025, 2048, 3001} {
		params := make([]float32, n)
		var bytes []byte
		for i := range params {
			params[i] = float32(i) - 0.5
			bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(params[i]))
		}
		require.Equal(t, fmt.Sprintf("sha256:%x", sha256.Sum256(bytes)), (&Start{Params: params}).Hash())
		require.Equal(t, fmt.Sprintf("sha256:%x", sha256.Sum256(append([]byte("{}\x00"), bytes...))), (&Model{Config: []byte("{}"), Params: params}).Hash())
	}
}

// A flat system has five parameters, and the same loss everywhere.
type flat struct{ engine.Common }

func (c *flat) New(*pool.Pool) (engine.System, error) { return c, nil }
func (*flat) NumParams() int                          { return 5 }
func (*flat) Initialize([]float32)                    {}
func (*flat) Acceptance() float64                     { return 1 }
func (*flat) TensorName(int) string                   { return "all" }
func (*flat) Loss([]float32, uint32) (float64, error) { return 0, nil }
func (*flat) Backward(_, _ []float32)                 {}

// TestAxesOfErrors: the first five errors of each record are shown, in units of floors if all of
// these are known, on an axis as high as ten or the largest, and a little more.
func TestAxesOfErrors(t *testing.T) {
	record := func(step int, errors ...engine.Error) engine.Record {
		return engine.Record{Step: step, Seconds: float64(step) / 4, Errors: errors}
	}
	var six []engine.Error
	for i := range 6 {
		six = append(six, engine.Error{Name: string(rune('a' + i)), Error: float64(i), Floor: 1})
	}
	six[5].Floor = 0
	for _, c := range []struct {
		records []engine.Record
		names   []string
		floors  bool
		most    float64
	}{
		{nil, nil, true, 10},
		{[]engine.Record{record(1, six...)}, []string{"a", "b", "c", "d", "e"}, true, 10},
		{[]engine.Record{record(1), record(2, engine.Error{Name: "a", Error: 7.8, Floor: 1}), record(3, engine.Error{Name: "a", Error: 4, Floor: 0.5})}, []string{"a"}, true, 1.3 * 8},
		{[]engine.Record{record(2, engine.Error{Name: "a", Error: math.Inf(1), Floor: 1}), record(3, engine.Error{Name: "b", Error: 20, Floor: 1})}, []string{"a", "b"}, true, 26},
		{[]engine.Record{record(2, engine.Error{Name: "a", Error: 99}), record(3, engine.Error{Name: "a", Error: 99, Floor: 1})}, []string{"a"}, false, 0},
	} {
		names, axis, floors := errorAxis(c.records)
		require.Equal(t, c.names, names)
		require.Equal(t, c.floors, floors)
		want := figure.Axis{Label: "error", Scale: figure.Log}
		if floors {
			want = figure.Axis{Label: "error / sampling floor", Scale: figure.Log, Min: 0.1, Max: axis.Max}
		}
		require.Equal(t, want, axis)
		require.InDelta(t, c.most, axis.Max, 1e-9)
	}

	records := []engine.Record{record(4, engine.Error{Name: "x", Error: 3, Floor: 2}, engine.Error{Name: "mode_l1", Error: 5, Floor: 4}), record(8, engine.Error{Name: "mode_l1", Error: 9, Floor: 3})}
	for i := range records {
		records[i].Loss, records[i].Acceptance = 0.5, 0.25*float64(i+1)
	}
	line := func(series int, label string, x, y []float64) figure.Layer {
		return figure.Layer{Mark: figure.Line, Role: figure.Series(series), Label: label, X: x, Y: y}
	}
	level := figure.Layer{Mark: figure.Level, Role: figure.Reference, Label: "exact samples", Y: []float64{1}}
	steps, seconds := []float64{4, 8}, []float64{1, 2}
	panel := func(byStep bool, y figure.Axis, layers ...figure.Layer) figure.Panel {
		if byStep {
			return figure.Panel{X: figure.Axis{Label: "iterations"}, Y: y, Layers: layers}
		}
		y.Label = ""
		return figure.Panel{X: figure.Axis{Label: "time of training / s"}, Y: y, Layers: layers}
	}
	errors := figure.Axis{Label: "error / sampling floor", Scale: figure.Log, Min: 0.1, Max: 10}
	acceptance, loss := figure.Axis{Label: "acceptance", Max: 1}, figure.Axis{Label: "loss", Scale: figure.Log}
	require.Equal(t, figure.Figure{Name: "training", Title: "Training", Rows: []figure.Row{
		{Panels: []figure.Panel{
			panel(true, errors, line(0, "x", []float64{4}, []float64{1.5}), line(1, "mode L1", steps, []float64{1.25, 3}), level),
			panel(false, errors, line(0, "x", []float64{1}, []float64{1.5}), line(1, "mode L1", seconds, []float64{1.25, 3}), level),
		}},
		{Panels: []figure.Panel{panel(true, acceptance, line(5, "", steps, []float64{0.25, 0.5})), panel(false, acceptance, line(5, "", seconds, []float64{0.25, 0.5}))}},
		{Panels: []figure.Panel{panel(true, loss, line(6, "", steps, []float64{0.5, 0.5})), panel(false, loss, line(6, "", seconds, []float64{0.5, 0.5}))}},
	}}, TrainingCurves(records, 0))
}

// TestLeftoversGo: what a process that was killed has left half-written of any file of a run, and
// of no other.
func TestLeftoversGo(t *testing.T) {
	dir := t.TempDir()
	names := []string{"model.rvg", "checkpoint.rvg", "checkpoint.prev.rvg", "config.json", "metrics.jsonl", "status.json", "summary.json"}
	for _, name := range append(names, "other.json") {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "."+name+"123"), nil, 0o600))
	}
	lock, err := lockDirectory(dir, func(text string) { t.Error(text) })
	require.NoError(t, err)
	for _, name := range names {
		require.NoFileExists(t, filepath.Join(dir, "."+name+"123"))
	}
	require.FileExists(t, filepath.Join(dir, ".other.json123"))
	require.NoError(t, lock.Release())
}

// TestModelsAreReadAsWritten, with all that is known of them.
func TestModelsAreReadAsWritten(t *testing.T) {
	c := new(flat)
	c.Schema, c.System, c.Training.Steps = engine.SchemaVersion, "flat", 60
	made, err := NewModel(c, &Result{Summary: Summary{Steps: 9}, Params: []float32{1, 2.5}})
	require.NoError(t, err)
	require.Equal(t, []any{"flat", []float32{1, 2.5}, 9, activePath()}, []any{made.System, made.Params, made.Step, made.Path})
	require.Contains(t, string(made.Config), `"steps"`)
	path := filepath.Join(t.TempDir(), "model.rvg")
	want := &Model{System: "flat", Config: []byte(`{"a":1}`), Params: []float32{3, -4, 5}, Step: 7, Path: "abacus"}
	require.NoError(t, want.Write(path))
	got, err := ReadModel(path)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
