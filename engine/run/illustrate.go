package run

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/figure"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/number"
	"github.com/revgen/revgen/internal/report"
)

// Illustrate returns the figures of a trained generator of cfg: those of its system,
// if it makes any, and the curves of its training from the run directory dir,
// unless dir is "".
func Illustrate(ctx context.Context, system engine.System, cfg engine.Config, params []float32, dir string) (all []figure.Figure, err error) {
	if i, ok := system.(engine.Illustrator); ok {
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
	return append(all, TrainingCurves(records, annealed(cfg))), nil
}

// ReadRecords returns what a run has logged in its directory, nothing if it
// has not begun.
func ReadRecords(dir string) ([]engine.Record, error) {
	file, _, err := disk.Open(metricsFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []engine.Record
	for lines := bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return all, nil // the end of the file; an unfinished line is still being written
		}
		var r engine.Record
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", metricsFile(dir), len(all)+1, err)
		}
		all = append(all, r)
	}
}

// TrainingCurves shows a run against steps and against the time of training: the errors, if
// evaluation.every asks for them, in units of the errors of as many exact samples if all are
// known; the acceptance; and the loss if it is always positive. Any other loss scatters about 0,
// and shows only the noise of its batches. annealed is the step until which the target is annealed,
// 0 if it is not: the figure says that the loss may rise until then.
func TrainingCurves(records []engine.Record, annealed int) figure.Figure {
	var steps, loss, acceptance []float64
	seconds := map[float64]float64{} // at a step
	for _, r := range records {
		step := float64(r.Step)
		steps, seconds[step] = append(steps, step), r.Seconds
		loss, acceptance = append(loss, r.Loss), append(acceptance, r.Acceptance)
	}
	f := figure.Figure{Name: "training", Title: "Training"}
	row := func(y figure.Axis, bySteps ...figure.Layer) {
		yRight, byTime := y, slices.Clone(bySteps)
		yRight.Label = ""
		for i := range byTime {
			byTime[i].X = lists.Map(bySteps[i].X, func(step float64) float64 { return seconds[step] })
		}
		f.Rows = append(f.Rows, figure.Row{Panels: []figure.Panel{
			{X: figure.Axis{Label: "iterations"}, Y: y, Layers: bySteps},
			{X: figure.Axis{Label: "time of training / s"}, Y: yRight, Layers: byTime},
		}})
	}
	if names, axis, floors := errorAxis(records); len(names) > 0 {
		var layers []figure.Layer
		for i, name := range names {
			layers = append(layers, errorCurve(records, name, i, floors))
		}
		if floors {
			layers = append(layers, figure.Layer{Mark: figure.Level, Role: figure.Reference, Label: "exact samples", Y: []float64{1}})
		}
		row(axis, layers...)
	}
	row(figure.Axis{Label: "acceptance", Max: 1}, figure.Layer{Mark: figure.Line, Role: figure.Series(5), X: steps, Y: acceptance})
	if slices.Min(loss) > 0 {
		row(figure.Axis{Label: "loss", Scale: figure.Log}, figure.Layer{Mark: figure.Line, Role: figure.Series(6), X: steps, Y: loss})
		if annealed > 0 {
			f.Rows[len(f.Rows)-1].Panels[0].Title = fmt.Sprintf("β rises until step %d, and the loss may rise with it", annealed)
		}
	}
	return f
}

// annealed returns the step until which a configuration anneals its target.
func annealed(cfg engine.Config) int {
	var c struct{ Transition engine.Annealing }
	if text, err := json.Marshal(cfg); err != nil || json.Unmarshal(text, &c) != nil {
		return 0
	}
	return int(math.Ceil(c.Transition.Anneal * float64(cfg.Shared().Training.Steps)))
}

// shownErrors is how many curves can be told apart. Systems list their metrics
// in the order of their importance.
const shownErrors = 5

// errorAxis returns the names of the records' metrics, and the axis of their errors; floors
// reports whether the errors are shown in units of their sampling floors.
func errorAxis(records []engine.Record) (names []string, axis figure.Axis, floors bool) {
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

func errorCurve(records []engine.Record, name string, i int, floors bool) figure.Layer {
	l := figure.Layer{Mark: figure.Line, Role: figure.Series(i), Label: report.Label(name)}
	for _, r := range records {
		for _, e := range r.Errors {
			if e.Name != name {
				continue
			}
			y := e.Error
			if floors {
				y /= e.Floor
			}
			l.X, l.Y = append(l.X, float64(r.Step)), append(l.Y, y)
		}
	}
	return l
}
