package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/engine/measure"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/lists"
	"github.com/revgen/revgen/internal/notes"
	"github.com/revgen/revgen/internal/pool"
)

// Options says where a run keeps its files and when it stops early.
type Options struct {
	// Dir is the run directory, made if need be; empty means that nothing is
	// written.
	Dir string
	// Resume is "auto" (continue the run that Dir holds, if there is one),
	// "never" (refuse a Dir that holds a run) or "must" (refuse one that does
	// not). Empty means auto.
	Resume string
	// Setup, if not nil, is Dir as SetUp has taken possession of it.
	Setup *Setup
	// MaxTime, if positive, stops the run with a checkpoint that long after it was asked for.
	MaxTime time.Duration
	// MaxEvaluations, if positive, stops the run with a checkpoint when its target has been
	// evaluated so often, by the recipe's look too. If the context of Train has a tally, which
	// may have a limit of its own, it is the one that counts.
	MaxEvaluations int64
	// Progress, if not nil, is called at every logged step and at the last.
	Progress func(Progress)
	// Warning, if not nil, is called with each warning as soon as it arises. Warnings
	// are in the Result as well.
	Warning func(string)
	// Start, if not nil, is the generator that the run begins with; its hash
	// must be the configuration's training.start.
	Start *Start

	// Extend allows a run that is resumed more steps than it began with. Its
	// schedule continues as that of the longer run, so that it does not end with the
	// bits of a run that was as long from the beginning.
	Extend bool

	// Program names what trains, and its version, for the summary.
	Program string
	// Diagnose, if not nil, judges the trained generator after it has been measured;
	// what it returns stands in the summary and in the Result.
	Diagnose func(ctx context.Context, trained engine.System, r *Result) (any, error)
	// Leave, if not nil, is called when all of the run is on the disk, to make samples of
	// the trained generator, say. The system has kept the samples that it was measured by.
	Leave func(ctx context.Context, trained engine.System, r *Result) error

	// Asked is when the run was asked for, from which its setup and MaxTime count. Zero
	// stands for the call of Train.
	Asked time.Time

	// Unmeasured leaves out the evaluation, as in a run whose generator another run starts from.
	Unmeasured bool
}

// Progress is what a run reports while it goes on.
type Progress struct {
	engine.Record
	Steps          int           // of the whole run
	Elapsed        time.Duration // since the run was started or resumed
	StepsPerSecond float64       // over that time
	Evaluations    int64         // of the target so far, 0 where they are not counted
	Predecessors   int           // runs still to follow: each starts from the one before
}

// A Result is what a completed run leaves.
type Result struct {
	Summary
	Params []float32
	Setup  float64 // seconds of this process before its first step
}

// ErrStopped is what every *StopError is.
var ErrStopped = errors.New("stopped before the end")

// A StopError reports that a run stopped before its end and that nothing went wrong. If the
// run has a directory, it continues from a checkpoint of Step there. If the run was still
// being set up, Step is -1, and the directory holds what had been found by then.
type StopError struct {
	Dir         string
	Step, Steps int
}

func (e *StopError) Error() string {
	text := fmt.Sprintf("stopped at step %d of %d", e.Step, e.Steps)
	if e.Step < 0 {
		text = "stopped before the first step"
	}
	if e.Dir != "" {
		text += "; the same command continues from " + e.Dir
	}
	return text
}

func (e *StopError) Is(target error) bool { return target == ErrStopped }

// A MismatchError reports a checkpoint that another configuration wrote.
type MismatchError struct {
	Path, Key     string
	Have, Written string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s: written by another configuration: %s is %s there and %s here; resume with the same configuration or choose another directory",
		e.Path, e.Key, e.Written, e.Have)
}

type run struct {
	directory
	Options
	config   []byte // canonical JSON
	trainer  *engine.Trainer
	workers  *pool.Pool
	common   *engine.Common
	cfg      engine.Config
	refuge   refuge
	notes    *notes.Book // of the generator's placing
	warnings []string

	secondsBefore float64            // of training before this process
	setupSeconds  float64            // of this process before started
	started       time.Time          // when the steps of this process began; evaluations move it on
	firstStep     int                // steps taken when this process began
	tally         *engine.Tally      // nil where evaluations are not counted
	otherRanks    engine.Evaluations // that the other ranks have counted
	acceptanceSum float64            // over the present stretch of steps
	pending       *engine.Record     // of the present step while it is not in metrics.jsonl; nil otherwise
	statusTime    time.Time          // when status.json was written
	placing       bool               // the generator is being placed on its target
	complete      bool               // the run has ended, and left all that it should
}

// Train runs Algorithm 1 to the configured number of steps and evaluates the
// generator. When ctx is cancelled or MaxTime has passed it leaves a checkpoint
// and returns a *StopError; a run resumed from it ends with the same bits as one
// that was never stopped. Any other error, in stopping too, is returned as it is. If a
// number is not finite the run goes back to a good state and continues at a lower
// learning rate; after too many retreats a *NonFiniteError ends it, with a checkpoint in
// place. A *TargetError ends it with a checkpoint of the step before.
//
// The directory belongs to one process at a time, and if ranks train together to rank 0. The
// other ranks return the result without an evaluation, or ErrElsewhere.
func Train(ctx context.Context, cfg engine.Config, workers *pool.Pool, opt Options) (*Result, error) {
	if opt.Asked.IsZero() {
		opt.Asked = time.Now()
	}
	if opt.MaxTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, opt.Asked.Add(opt.MaxTime))
		defer cancel()
	}
	if workers.Rank() > 0 { // only rank 0 has these
		opt.Dir, opt.Resume, opt.Progress, opt.Warning = "", "", nil, nil
	}
	r := &run{directory: directory{dir: opt.Dir, savedStep: -1, dirty: true}, Options: opt, cfg: cfg, workers: workers, common: cfg.Shared()}
	var err error
	if r.trainer, err = engine.Prepare(cfg, workers); err == nil {
		defer engine.Release(r.trainer.System())
	}
	if err = r.agree(err); err != nil {
		return nil, err
	}
	if r.config, err = conf.Encode(cfg); err != nil {
		return nil, err
	}
	defer r.close()
	if err := r.startTally(&ctx); err != nil {
		return nil, err
	}
	_, r.placing = r.trainer.System().(engine.Initializer)
	if err := r.agree(r.open()); err != nil {
		return nil, err
	}
	r.share()
	var result *Result
	if err = r.probe(ctx); err == nil {
		err = r.setUp(ctx)
	}
	if err == nil {
		r.tally.Enter(engine.Learning)
		defer engine.Interruptible(r.stepContext(ctx), r.trainer.System())()
		r.started, r.firstStep = time.Now(), r.trainer.Steps()
		r.setupSeconds = r.started.Sub(opt.Asked).Seconds()
		result, err = r.train(ctx)
	}
	if engine.Cancelled(err) {
		err = r.stop()
	} else if errors.As(err, new(*engine.TargetError)) {
		if failed := r.checkpoint(); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	r.complete = err == nil
	if failed := r.status(err); failed != nil {
		if errors.Is(err, ErrStopped) {
			err = nil // an ErrStopped says that nothing went wrong
		}
		err = errors.Join(err, failed)
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

// train takes the remaining steps and measures the generator.
func (r *run) train(ctx context.Context) (*Result, error) {
	t, training := r.trainer, &r.common.Training
	if err := r.agree(r.record(ctx)); err != nil {
		return nil, err
	}
	stepCtx := r.stepContext(ctx)
	if r.refuge.sections == nil && r.canRetreat() {
		r.keepRefuge()
	}
	for !t.Done() {
		if err := r.agree(ctx.Err()); err != nil {
			return nil, err
		}
		if err := t.StepContext(stepCtx); err != nil {
			if err = r.agree(r.retreat(err)); err != nil {
				return nil, err
			}
			continue
		}
		r.gatherEvaluations()
		r.dirty = true
		if time.Since(r.statusTime) >= statusEvery {
			_ = r.status(nil) // a disk that cannot be written ends the run at the next record
		}
		if why := r.divergence(); why != "" {
			if err := r.agree(r.goBack(why)); err != nil {
				return nil, err
			}
			continue
		}
		last := t.Done()
		r.watchAcceptance()
		r.updateRefuge()
		evaluate := r.evaluatesNow()
		if last || evaluate || t.Steps()%training.LogEvery == 0 {
			record := t.Record()
			record.Seconds = r.seconds()
			r.pending = &record
			if err := r.agree(r.record(ctx)); err != nil {
				return nil, err
			}
		}
		if last || training.CheckpointEvery > 0 && t.Steps()%training.CheckpointEvery == 0 {
			if err := r.agree(r.checkpoint()); err != nil {
				return nil, err
			}
		}
	}
	result, err := r.finish(ctx)
	return result, r.agree(err)
}

// stop leaves a checkpoint and returns a *StopError, or the error of writing it.
func (r *run) stop() error {
	if r.started.IsZero() { // before the first step
		return &StopError{r.dir, -1, r.common.Training.Steps}
	}
	if err := r.agree(r.checkpoint()); err != nil {
		return err
	}
	return &StopError{r.dir, r.trainer.Steps(), r.totalSteps()}
}

// totalSteps returns the steps of the whole run, which may end early.
func (r *run) totalSteps() int {
	if r.trainer.Done() {
		return r.trainer.Steps()
	}
	return r.common.Training.Steps
}

// seconds returns the time of training so far.
func (r *run) seconds() float64 { return r.secondsBefore + time.Since(r.started).Seconds() }

// evaluatesNow reports whether the generator is measured at the present step.
func (r *run) evaluatesNow() bool {
	every := r.common.Evaluation.Every
	return every > 0 && r.trainer.Steps()%every == 0
}

// record completes the pending record, if there is one, and logs it.
func (r *run) record(ctx context.Context) error {
	if r.pending == nil {
		return nil
	}
	record := *r.pending
	if r.evaluatesNow() {
		var err error
		if record.Errors, err = r.measureErrors(ctx); err != nil {
			return err
		}
	}
	if err := r.logRecord(record); err != nil {
		return err
	}
	r.pending, r.dirty = nil, true
	if r.refuge.Step == record.Step {
		r.refuge.MetricsBytes = r.metricsBytes // the record of that step included
	}
	if r.Progress != nil {
		elapsed := time.Since(r.started)
		r.Progress(Progress{Record: record, Steps: r.totalSteps(), Elapsed: elapsed, StepsPerSecond: float64(r.trainer.Steps()-r.firstStep) / elapsed.Seconds(), Evaluations: r.evaluations().Total()})
	}
	return nil
}

// measureErrors evaluates the generator during training, whose time does not include it. If
// it is interrupted, the record stays pending and the resumed run logs the same record as
// an uninterrupted one.
func (r *run) measureErrors(ctx context.Context) ([]engine.Error, error) {
	e, ok := r.trainer.System().(engine.Evaluator)
	if !ok || r.workers.Rank() > 0 {
		return nil, nil
	}
	start := time.Now()
	var evaluation *measure.Evaluation
	var err error
	r.workers.Alone(func() {
		evaluation, err = e.Evaluate(ctx, r.trainer.Params(), r.common.Evaluation.Samples)
	})
	r.started = r.started.Add(time.Since(start))
	if err != nil {
		return nil, err
	}
	return lists.Map(evaluation.Metrics, func(m measure.Metric) engine.Error {
		return engine.Error{Name: m.Name, Error: m.Error, Floor: m.Floor}
	}), nil
}

// report passes a warning on, the first time that it is given.
func (r *run) report(warning string) {
	if slices.Contains(r.warnings, warning) {
		return
	}
	r.warnings = append(r.warnings, warning)
	if r.Warning != nil {
		r.Warning(warning)
	}
}

// finish returns the result, which rank 0 measures.
func (r *run) finish(ctx context.Context) (*Result, error) {
	summary := Summary{
		Schema: engine.SchemaVersion, System: r.common.System, Preset: r.common.Preset, Seed: r.common.Training.Seed,
		Steps: r.trainer.Steps(), Seconds: r.seconds(), Threads: r.workers.Threads(), Path: activePath(), Warnings: r.warnings,
	}
	if d, ok := r.cfg.(engine.Explainer); ok {
		summary.Target = d.Describe()
	}
	result := &Result{summary, slices.Clone(r.trainer.Params()), r.setupSeconds}
	var err error
	if r.workers.Rank() == 0 {
		r.workers.Alone(func() { err = r.conclude(ctx, result) })
	}
	return result, err
}

// A Summary is what summary.json holds.
type Summary struct {
	Schema      int                 `json:"schema"`
	System      string              `json:"system"`
	Target      string              `json:"target,omitempty"` // in words
	Preset      string              `json:"preset"`
	Seed        uint64              `json:"seed"`
	Steps       int                 `json:"steps"`
	Seconds     float64             `json:"seconds"`               // of training, earlier parts included
	Evaluations *engine.Evaluations `json:"evaluations,omitempty"` // of the target, where they are counted
	Threads     int                 `json:"threads"`
	Path        string              `json:"path"`
	Provenance
	Warnings []string `json:"training_warnings,omitempty"`
	// Evaluation is nil if the system cannot be evaluated.
	*measure.Evaluation
	Diagnosis any `json:"diagnosis,omitempty"` // that Options.Diagnose returned
}

// A Provenance says what made a file, where and when. No bit of a model or of a
// configuration depends on it.
type Provenance struct {
	Program  string `json:"program,omitempty"` // name and version
	Machine  string `json:"machine"`           // host and processor
	Platform string `json:"platform"`          // operating system, architecture, version of Go
	Date     string `json:"date"`              // RFC 3339, UTC
}

// Here returns the provenance of a file that the named program makes here and now.
func Here(program string) Provenance {
	host, _ := os.Hostname()
	return Provenance{
		Program: program, Machine: host + ", " + asm.CPUName(), Platform: runtime.GOOS + "/" + runtime.GOARCH + ", " + runtime.Version(),
		Date: time.Now().UTC().Format(time.RFC3339),
	}
}

// conclude writes the model, evaluates it, writes the summary and calls Options.Leave.
func (r *run) conclude(ctx context.Context, result *Result) (err error) {
	t := r.trainer
	if r.dir != "" {
		if err := writeFile(modelFile(r.dir), r.header("model"), []engine.Section{{Name: "params", Float32: t.Params()}}); err != nil {
			return err
		}
	}
	r.tally.Enter(engine.Measuring)
	if e, ok := t.System().(engine.Evaluator); ok && !r.Unmeasured {
		if result.Evaluation, err = e.Evaluate(ctx, t.Params(), r.common.Evaluation.Samples); err != nil {
			return err
		}
		result.Evaluation.Warn()
	}
	r.tally.Enter(engine.Diagnosing)
	if r.Diagnose != nil && !r.Unmeasured {
		if result.Diagnosis, err = r.Diagnose(ctx, t.System(), result); err != nil {
			return err
		}
	}
	result.Evaluations = r.countedEvaluations()
	r.tally.Enter(engine.Illustrating)
	result.Provenance = Here(r.Program)
	if r.dir != "" {
		if err := disk.WriteJSON(summaryFile(r.dir), result.Summary); err != nil {
			return err
		}
	}
	if r.Leave != nil {
		return r.Leave(ctx, t.System(), result)
	}
	return nil
}

func activePath() string {
	p, _, _ := asm.Active()
	return p.String()
}

// mayDiffer are the keys that do not change what a run computes. The content of
// target.file is in the configuration too (Loader).
var mayDiffer = map[string]bool{
	"preset": true, "target.file": true, "evaluation.samples": true, "evaluation.every": true, "training.checkpoint_every": true, "training.log_every": true,
}

// sameRun returns a *MismatchError if the configuration written in a checkpoint is of another
// run than the one that this process has.
func sameRun(path string, written, have []byte, extend bool) error {
	writtenValues, err := conf.Leaves(written)
	if err != nil {
		return fileErrorf(path, "damaged configuration: %v", err)
	}
	values, err := conf.Leaves(have)
	if err != nil {
		return err
	}
	union := maps.Clone(writtenValues)
	maps.Copy(union, values)
	for _, inBoth := range []bool{true, false} { // a choice that differs is reported before the keys that come with it
		for _, key := range slices.Sorted(maps.Keys(union)) {
			if mayDiffer[key] || extend && key == "training.steps" {
				continue
			}
			w, isWritten := writtenValues[key]
			h, isPresent := values[key]
			w, h = cmp.Or(w, "null"), cmp.Or(h, "null")
			if w != h && (isWritten && isPresent) == inBoth {
				return &MismatchError{Path: path, Key: key, Have: shorten(h), Written: shorten(w)}
			}
		}
	}
	return nil
}

// shorten cuts a value that an error quotes.
func shorten(text string) string {
	const maxRunes = 80
	if r := []rune(text); len(r) > maxRunes {
		return string(r[:maxRunes]) + "…"
	}
	return text
}
