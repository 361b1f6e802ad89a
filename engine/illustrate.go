package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/report"
)

// Illustrate returns the pictures of a trained generator: those of its system,
// if it makes any, and the curves of its training from the run directory dir,
// if it is not empty.
func Illustrate(ctx context.Context, cfg Config, params []float32, workers *pool.Pool, dir string) ([]figure.Figure, error) {
	system, err := cfg.New(workers)
	if err != nil {
		return nil, err
	}
	var all []figure.Figure
	if i, ok := system.(Illustrator); ok {
		if all, err = i.Figures(ctx, params, cfg.Shared().Evaluation.Samples); err != nil {
			return nil, err
		}
	}
	if dir == "" {
		return all, nil
	}
	records, err := ReadRecords(dir)
	if err != nil || len(records) == 0 {
		return all, err
	}
	return append(all, TrainingCurves(records)), nil
}

// ReadRecords returns what a run has logged in its directory, nothing if it
// has not begun.
func ReadRecords(dir string) ([]Record, error) {
	file, _, err := disk.Open(metricsFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []Record
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return all, nil // the end; a line without its end is still being written
		}
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", metricsFile(dir), len(all)+1, err)
		}
		all = append(all, r)
	}
}

// TrainingCurves shows loss and errors of a run against steps and against the
// time of training. Errors are in units of those of as many exact samples
// where all are known.
func TrainingCurves(records []Record) figure.Figure {
	var steps, seconds, loss []float64
	for _, r := range records {
		steps, seconds, loss = append(steps, float64(r.Step)), append(seconds, r.Seconds), append(loss, r.Loss)
	}
	byStep := figure.Axis{Label: "iterations"}
	byTime := figure.Axis{Label: "time of training / s"}
	row := func(y figure.Axis, curves func(time bool) []figure.Layer) figure.Row {
		right := y
		right.Label = ""
		return figure.Row{Panels: []figure.Panel{
			{X: byStep, Y: y, Layers: curves(false)},
			{X: byTime, Y: right, Layers: curves(true)},
		}}
	}
	f := figure.Figure{Name: "training", Title: "Training"}
	f.Rows = append(f.Rows, row(lossAxis(loss), func(time bool) []figure.Layer {
		x := steps
		if time {
			x = seconds
		}
		return []figure.Layer{{Mark: figure.Line, Role: figure.Series(6), X: x, Y: loss}}
	}))
	names, axis, floors := errorAxis(records)
	if len(names) == 0 {
		return f
	}
	f.Rows = append(f.Rows, row(axis, func(time bool) []figure.Layer {
		var layers []figure.Layer
		for i, name := range names {
			layers = append(layers, errorCurve(records, name, i, time, floors))
		}
		if floors {
			layers = append(layers, figure.Layer{Mark: figure.Level, Role: figure.Reference, Label: "exact samples", Y: []float64{1}})
		}
		return layers
	}))
	return f
}

// lossAxis is logarithmic, linear about 0 if some losses are not positive:
// those of an unbiased estimate scatter about 0 at the end.
func lossAxis(loss []float64) figure.Axis {
	axis := figure.Axis{Label: "loss", Scale: figure.Log}
	if slices.Min(loss) > 0 {
		return axis
	}
	var late []float64
	for _, l := range loss[len(loss)/2:] {
		late = append(late, math.Abs(l))
	}
	slices.Sort(late)
	axis.Scale, axis.Linear = figure.SignedLog, late[len(late)/2]
	return axis
}

// shownErrors is how many curves can be told apart. Systems list their metrics
// in the order of their importance.
const shownErrors = 5

// errorAxis returns the metrics of the records and how to show them.
func errorAxis(records []Record) (names []string, axis figure.Axis, floors bool) {
	floors = true
	largest := 0.0
	for _, r := range records {
		for _, e := range r.Errors[:min(shownErrors, len(r.Errors))] {
			if !slices.Contains(names, e.Name) {
				names = append(names, e.Name)
			}
			floors = floors && e.Floor > 0
			if ratio := e.Error / e.Floor; floors && number.Finite(ratio) {
				largest = max(largest, ratio)
			}
		}
	}
	axis = figure.Axis{Label: "error", Scale: figure.Log}
	if floors {
		// An error that changes its sign passes through 0.
		axis.Label, axis.Min, axis.Max = "error / sampling floor", 0.1, max(10, 1.3*largest)
	}
	return names, axis, floors
}

func errorCurve(records []Record, name string, i int, time, floors bool) figure.Layer {
	l := figure.Layer{Mark: figure.Line, Role: figure.Series(i), Label: report.Label(name)}
	for _, r := range records {
		for _, e := range r.Errors {
			if e.Name != name {
				continue
			}
			x, y := float64(r.Step), e.Error
			if time {
				x = r.Seconds
			}
			if floors {
				y /= e.Floor
			}
			l.X, l.Y = append(l.X, x), append(l.Y, y)
		}
	}
	return l
}
