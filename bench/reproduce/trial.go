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
	Study   string // the study that the setting is a variant of; empty for one of Settings
	Setting Setting
	Preset  string
	Configs []engine.Config // by seed
	Changed []string        // assignments of the user, for the record
	Dir     string          // of the runs, with a folder for each seed
	Figures string          // folder of figures of the first seed, empty for none
	Program string          // version of the program, for the record
	Workers *pool.Pool
	Watch   Observer
	First   int  // number of the first run among all runs of the plan
	Count   int  // number of all runs of the plan
	Trained bool // set when a step is taken
}

// An Observer has functions that trials call. Each may be nil.
type Observer struct {
	Begin    func(run Run)        // before each run
	Progress func(run.Progress)   // during each run
	End      func(run Run)        // after each run
	Warning  func(string)         // with each warning
	Outcome  func(*Outcome) error // when a setting is complete
}

// A Run is one training run of a trial.
type Run struct {
	Study   string // as in Trial
	Setting Setting
	Preset  string
	Seed    uint64
	Steps   int
	Dir     string
	Index   int // from 0
	Count   int // number of all runs of the plan
}

// Machine returns where the trial is computed.
func (t *Trial) Machine() Machine {
	path, _, _ := asm.Active()
	return Machine{CPU: asm.CPUName(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Threads: t.Workers.Threads(), Path: path.String(), Program: t.Program}
}

// Run returns run number n of the trial, with a configuration and in the folder of a seed.
func (t *Trial) Run(cfg engine.Config, n int, seed uint64) Run {
	return Run{
		Study: t.Study, Setting: t.Setting, Preset: t.Preset, Seed: seed, Steps: cfg.Shared().Training.Steps,
		Dir: filepath.Join(t.Dir, fmt.Sprintf("seed%d", seed)), Index: t.First + n, Count: t.Count,
	}
}

// Train trains a configuration, or continues its run. The trial sets the options'
// directory, resumption, warnings and progress.
func (t *Trial) Train(ctx context.Context, cfg engine.Config, r Run, options run.Options) (*run.Result, error) {
	options.Dir, options.Resume, options.Warning = r.Dir, "auto", t.Watch.Warning
	options.Progress = func(p run.Progress) {
		t.Trained = true
		if t.Watch.Progress != nil {
			t.Watch.Progress(p)
		}
	}
	if t.Watch.Begin != nil {
		t.Watch.Begin(r)
	}
	if t.Watch.End != nil {
		defer t.Watch.End(r)
	}
	return run.Train(ctx, cfg, t.Workers, options)
}

// Outcome trains and measures all seeds. old is the outcome of an earlier trial, or nil. If
// all seeds had been trained before, and are only measured again, the machine and the times
// of the training are old's.
func (t *Trial) Outcome(ctx context.Context, old *Outcome) (*Outcome, error) {
	shared := t.Configs[0].Shared()
	o := &Outcome{
		Setting: t.Setting.Name, Title: t.Setting.Title, System: t.Setting.System, Preset: t.Preset, Published: t.Setting.Published,
		Steps: shared.Training.Steps, Batch: shared.Training.Batch, Changed: t.Changed,
		Machine: t.Machine(),
	}
	var evaluations, millions []*measure.Evaluation
	var times, processors []float64
	for n, cfg := range t.Configs {
		r := t.Run(cfg, n, cfg.Shared().Training.Seed)
		_, statErr := os.Stat(r.Dir)
		watch, seconds := NewStopwatch(), 0.0
		leave := func(ctx context.Context, trained engine.System, result *run.Result) (err error) {
			seconds = watch.Seconds()
			if t.Setting.Million && t.Preset == "best" {
				evaluation, err := trained.(engine.Evaluator).Evaluate(ctx, result.Params, million)
				if err != nil {
					return err
				}
				millions = append(millions, evaluation)
			}
			if n == 0 && t.Figures != "" {
				o.Figures, err = t.draw(ctx, trained, cfg, result, r.Dir)
			}
			return err
		}
		result, err := t.Train(ctx, cfg, r, run.Options{Leave: leave})
		if err != nil {
			return nil, err
		}
		if errors.Is(statErr, fs.ErrNotExist) { // the whole run was timed
			processors = append(processors, seconds)
		}
		if result.Evaluation == nil {
			return nil, fmt.Errorf("%s: the system cannot be measured", t.Setting.Name)
		}
		o.Seeds, times, evaluations = append(o.Seeds, r.Seed), append(times, result.Seconds), append(evaluations, result.Evaluation)
		warnings := slices.Concat(result.Warnings, result.Evaluation.Warnings)
		if len(warnings) > 0 {
			o.Warned++
		}
		for _, w := range warnings {
			if len(t.Configs) > 1 {
				w = fmt.Sprintf("seed %d: %s", r.Seed, w)
			}
			o.Warnings = append(o.Warnings, w)
		}
	}
	o.Samples, o.Seconds = evaluations[0].Samples, stat.Median(times)
	if len(processors) > 0 {
		o.Processors = stat.Median(processors)
	}
	if old != nil && !t.Trained && slices.Equal(old.Seeds, o.Seeds) {
		o.Machine, o.Seconds, o.Processors = old.Machine, old.Seconds, old.Processors
	}
	var err error
	if o.Metrics, err = combine(evaluations); err == nil && millions != nil {
		o.Million, err = combine(millions)
	}
	return o, err
}

// draw writes the figures of a run, under names that begin with the preset and the setting,
// and returns the names.
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
