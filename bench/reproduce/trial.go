package reproduce

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/engine/run"
	"github.com/revgen/revgen/internal/figure/draw"
	"github.com/revgen/revgen/internal/pool"
	"github.com/revgen/revgen/internal/stat"
)

// A Trial is a setting trained with one preset by one seed after another.
type Trial struct {
	Study   string // whose variant it is, empty for a setting
	Setting Setting
	Preset  string
	Configs []engine.Config // by seed
	Changed []string        // what was assigned beyond the setting, for the record
	Dir     string          // of the runs, a folder of each seed
	Figures string          // folder of figures of the first seed, empty for none
	Program string          // version of the program, for the record
	Workers *pool.Pool
	Watch   Observer
	// First is the number of the first run among Count of them.
	First, Count int
	// Trained says that a step was taken.
	Trained bool
}

// An Observer is told how trials go. Its methods may be nil.
type Observer struct {
	// Begin is called before each run with its directory, after Resumed steps.
	Begin func(run Run)
	// Progress is that of the present run.
	Progress func(run.Progress)
	// End is called after each run.
	End     func(run Run)
	Warning func(string)
	// Outcome is called when a setting is complete.
	Outcome func(*Outcome) error
}

// A Run is one training run of a trial.
type Run struct {
	Study   string // empty for a setting
	Setting Setting
	Preset  string
	Seed    uint64
	Steps   int
	Dir     string
	Index   int // of Count, from 0
	Count   int
}

// Machine returns where the trial is computed.
func (t *Trial) Machine() Machine {
	path, _, _ := asm.Active()
	return Machine{CPU: asm.CPUName(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Threads: t.Workers.Threads(), Path: path.String(), Program: t.Program}
}

// Run returns the run of a configuration, number n of the trial, under the name of a seed.
func (t *Trial) Run(cfg engine.Config, n int, seed uint64) Run {
	return Run{
		Study: t.Study, Setting: t.Setting, Preset: t.Preset, Seed: seed, Steps: cfg.Shared().Training.Steps,
		Dir: filepath.Join(t.Dir, fmt.Sprintf("seed%d", seed)), Index: t.First + n, Count: t.Count,
	}
}

// Train trains a configuration, or continues its run. The trial sets the options'
// directory, resumption, warnings and progress.
func (t *Trial) Train(ctx context.Context, cfg engine.Config, one Run, options run.Options) (*run.Result, error) {
	options.Dir, options.Resume, options.Warning = one.Dir, "auto", t.Watch.Warning
	options.Progress = func(now run.Progress) {
		t.Trained = true
		if t.Watch.Progress != nil {
			t.Watch.Progress(now)
		}
	}
	if t.Watch.Begin != nil {
		t.Watch.Begin(one)
	}
	if t.Watch.End != nil {
		defer t.Watch.End(one)
	}
	return run.Train(ctx, cfg, t.Workers, options)
}

// Outcome trains and measures all seeds. What was only measured again keeps what old, the
// outcome of an earlier trial or nil, has of the training.
func (t *Trial) Outcome(ctx context.Context, old *Outcome) (*Outcome, error) {
	shared := t.Configs[0].Shared()
	o := &Outcome{
		Setting: t.Setting.Name, Title: t.Setting.Title, System: t.Setting.System, Preset: t.Preset, Published: t.Setting.Published,
		Steps: shared.Training.Steps, Batch: shared.Training.Batch, Changed: t.Changed,
		Machine: t.Machine(),
	}
	var tables, larger []*measure.Evaluation
	var times, processors []float64
	for n, cfg := range t.Configs {
		one := t.Run(cfg, n, cfg.Shared().Training.Seed)
		_, begun := os.Stat(one.Dir)
		watch, spent := NewStopwatch(), 0.0
		leave := func(ctx context.Context, trained engine.System, r *run.Result) (err error) {
			spent = watch.Seconds()
			if t.Setting.Million && t.Preset == "best" {
				more, err := trained.(engine.Evaluator).Evaluate(ctx, r.Params, million)
				if err != nil {
					return err
				}
				larger = append(larger, more)
			}
			if n == 0 && t.Figures != "" {
				o.Figures, err = t.draw(ctx, trained, cfg, r, one.Dir)
			}
			return err
		}
		result, err := t.Train(ctx, cfg, one, run.Options{Leave: leave})
		if err != nil {
			return nil, err
		}
		if errors.Is(begun, fs.ErrNotExist) {
			processors = append(processors, spent)
		}
		if result.Evaluation == nil {
			return nil, fmt.Errorf("%s: the system cannot be measured", t.Setting.Name)
		}
		o.Seeds, times, tables = append(o.Seeds, one.Seed), append(times, result.Seconds), append(tables, result.Evaluation)
		found := slices.Concat(result.Warnings, result.Evaluation.Warnings)
		if len(found) > 0 {
			o.Warned++
		}
		for _, w := range found {
			if len(t.Configs) > 1 {
				w = fmt.Sprintf("seed %d: %s", one.Seed, w)
			}
			o.Warnings = append(o.Warnings, w)
		}
	}
	o.Samples, o.Seconds = tables[0].Samples, stat.Median(times)
	if len(processors) > 0 {
		o.Processors = stat.Median(processors)
	}
	if old != nil && !t.Trained && slices.Equal(old.Seeds, o.Seeds) {
		o.Machine, o.Seconds, o.Processors = old.Machine, old.Seconds, old.Processors
	}
	var err error
	if o.Metrics, err = combine(tables); err == nil && larger != nil {
		o.Million, err = combine(larger)
	}
	return o, err
}

// draw writes the figures of a run under names that tell it from the others,
// and returns these.
func (t *Trial) draw(ctx context.Context, trained engine.System, cfg engine.Config, result *run.Result, dir string) ([]string, error) {
	figures, err := run.Illustrate(ctx, trained, cfg, result.Params, dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range figures {
		figures[i].Name = t.Preset + "-" + t.Setting.Name + "-" + figures[i].Name
		names = append(names, figures[i].Name)
	}
	return names, draw.Write(t.Figures, figures, draw.Vector, draw.Raster)
}
