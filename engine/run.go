package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/revgen/revgen/asm"
	"github.com/revgen/revgen/internal/pool"
)

// RunOptions says where a run keeps its files and when it stops early.
type RunOptions struct {
	// Dir is the run directory, made if need be; empty means that nothing is
	// written.
	Dir string
	// Resume is "auto" (continue if Dir holds a checkpoint, otherwise start),
	// "never" (refuse a Dir that holds a run) or "must" (refuse one that does
	// not). Empty means auto.
	Resume string
	// MaxTime, if positive, stops the run with a checkpoint after that long.
	MaxTime time.Duration
	// Progress, if not nil, is called at every logged step and at the last.
	Progress func(Progress)
	// Warning, if not nil, is called as soon as something is seen that the
	// user should know of. Warnings are in the Result as well.
	Warning func(string)
}

// Progress is what a run reports while it goes on.
type Progress struct {
	Record
	Steps          int           // of the whole run
	Elapsed        time.Duration // since the run was started or resumed
	StepsPerSecond float64       // over that time
}

// A Result is what a completed run leaves.
type Result struct {
	Evaluation *Evaluation // nil if the system cannot be evaluated
	Params     []float32
	Steps      int
	Seconds    float64 // of training, earlier parts included
	Warnings   []string
}

// ErrStopped reports that a run stopped before its last step and left a
// checkpoint, if it has a directory, from which it can be resumed.
var ErrStopped = errors.New("stopped before the last step")

// A MismatchError reports a checkpoint that another configuration wrote.
type MismatchError struct {
	Path, Key     string
	Have, Written string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s: written by another configuration: %s is %s there and %s here; resume with the same configuration or choose another directory",
		e.Path, e.Key, e.Written, e.Have)
}

// The files of a run directory.
func modelFile(dir string) string      { return filepath.Join(dir, "model.rvg") }
func checkpointFile(dir string) string { return filepath.Join(dir, "checkpoint.rvg") }
func previousFile(dir string) string   { return filepath.Join(dir, "checkpoint.prev.rvg") }
func configFile(dir string) string     { return filepath.Join(dir, "config.json") }
func metricsFile(dir string) string    { return filepath.Join(dir, "metrics.jsonl") }
func statusFile(dir string) string     { return filepath.Join(dir, "status.json") }
func summaryFile(dir string) string    { return filepath.Join(dir, "summary.json") }

type run struct {
	dir      string
	config   []byte // canonical JSON
	trainer  *Trainer
	common   *Common
	metrics  *os.File
	buffer   *bufio.Writer
	flushed  time.Time
	written  int64   // bytes of metrics.jsonl, buffered ones included
	before   float64 // seconds of training before this process
	started  time.Time
	saved    int // step of the last checkpoint, -1 for none
	warn     func(string)
	warnings []string
	moved    float64 // sum of the acceptance over the first steps
}

// A run whose proposals are nearly all rejected learns nothing: pairs with
// s′ = s contribute nothing to the loss.
const (
	acceptanceSteps = 50
	leastAcceptance = 0.01
)

// Train runs Algorithm 1 to the configured number of steps and evaluates the
// generator. When ctx is cancelled or MaxTime has passed it finishes the step,
// writes a checkpoint and returns ErrStopped; a run resumed from it ends with
// the same bits as one that was never stopped. A *NonFiniteError ends the run
// with the last good checkpoint in place.
func Train(ctx context.Context, cfg Config, workers *pool.Pool, opt RunOptions) (*Result, error) {
	trainer, err := NewTrainer(cfg, workers)
	if err != nil {
		return nil, err
	}
	r := &run{dir: opt.Dir, trainer: trainer, common: cfg.Shared(), saved: -1, warn: opt.Warning}
	if r.config, err = json.MarshalIndent(cfg, "", "  "); err != nil {
		return nil, err
	}
	if err := r.open(opt.Resume); err != nil {
		return nil, err
	}
	defer r.close()
	r.started = time.Now()
	if opt.MaxTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, r.started.Add(opt.MaxTime))
		defer cancel()
	}
	if err := r.loop(ctx, opt.Progress); err != nil {
		return nil, errors.Join(err, r.status(err))
	}
	return r.finish(ctx)
}

// loop takes the remaining steps.
func (r *run) loop(ctx context.Context, progress func(Progress)) error {
	t, training := r.trainer, &r.common.Training
	first := t.step
	for t.step < training.Steps {
		if ctx.Err() != nil {
			if err := r.checkpoint(); err != nil {
				return err
			}
			return ErrStopped
		}
		if err := t.Step(); err != nil {
			return err
		}
		last := t.step == training.Steps
		r.watchAcceptance()
		evaluate := r.common.Evaluation.Every > 0 && t.step%r.common.Evaluation.Every == 0
		if last || evaluate || t.step%training.LogEvery == 0 {
			record := t.Record()
			if evaluate {
				var err error
				if record.Errors, err = r.errors(ctx); err != nil {
					return err
				}
			}
			elapsed := time.Since(r.started)
			record.Seconds = r.before + elapsed.Seconds()
			if err := r.log(record); err != nil {
				return err
			}
			if progress != nil {
				progress(Progress{record, training.Steps, elapsed, float64(t.step-first) / elapsed.Seconds()})
			}
		}
		if last || training.CheckpointEvery > 0 && t.step%training.CheckpointEvery == 0 {
			if err := r.checkpoint(); err != nil {
				return err
			}
		}
	}
	return nil
}

// errors evaluates the generator during training. It is not interrupted, so
// that a resumed run logs what an uninterrupted one does, and its time is not
// counted as training.
func (r *run) errors(ctx context.Context) ([]Error, error) {
	e, ok := r.trainer.system.(Evaluator)
	if !ok {
		return nil, nil
	}
	start := time.Now()
	evaluation, err := e.Evaluate(context.WithoutCancel(ctx), r.trainer.Params(), r.common.Evaluation.Samples)
	if err != nil {
		return nil, err
	}
	var all []Error
	for _, m := range evaluation.Metrics {
		all = append(all, Error{m.Name, m.Error, m.Floor})
	}
	r.started = r.started.Add(time.Since(start))
	return all, nil
}

// watchAcceptance warns once if hardly any proposal of the first steps was
// accepted.
func (r *run) watchAcceptance() {
	n := min(acceptanceSteps, r.common.Training.Steps)
	if r.trainer.step > n {
		return
	}
	r.moved += r.trainer.system.Acceptance()
	if mean := r.moved / float64(n); r.trainer.step == n && mean < leastAcceptance {
		r.report(fmt.Sprintf("only %.2g %% of the proposals of the first %d steps were accepted: the generator starts too far from the target to learn from it; start it nearer (generator), propose smaller or more varied moves (transition), or raise the temperature first", 100*mean, n))
	}
}

func (r *run) report(warning string) {
	r.warnings = append(r.warnings, warning)
	if r.warn != nil {
		r.warn(warning)
	}
}

// finish writes the model, evaluates it and writes the summary.
func (r *run) finish(ctx context.Context) (*Result, error) {
	t := r.trainer
	result := &Result{
		Params: t.Params(), Steps: t.step, Warnings: r.warnings,
		Seconds: r.before + time.Since(r.started).Seconds(),
	}
	if r.dir != "" {
		h := r.header("model")
		h.Seconds, h.Metrics = 0, 0 // what the clock says is not of the model: same run, same bytes
		if err := writeFile(modelFile(r.dir), h, []Section{{Name: "params", Float32: t.Params()}}); err != nil {
			return nil, err
		}
	}
	if e, ok := t.system.(Evaluator); ok {
		var err error
		result.Evaluation, err = e.Evaluate(ctx, t.Params(), r.common.Evaluation.Samples)
		if err != nil {
			if ctx.Err() != nil {
				err = ErrStopped
			}
			return nil, errors.Join(err, r.status(err))
		}
	}
	if r.dir != "" {
		summary, err := json.MarshalIndent(struct {
			Schema  int     `json:"schema"`
			System  string  `json:"system"`
			Preset  string  `json:"preset"`
			Seed    uint64  `json:"seed"`
			Steps   int     `json:"steps"`
			Seconds float64 `json:"seconds"`
			Threads int     `json:"threads"`
			Path    string  `json:"path"`
			*Evaluation
		}{SchemaVersion, r.common.System, r.common.Preset, r.common.Training.Seed, t.step, result.Seconds,
			t.threads(), activePath(), result.Evaluation}, "", "  ")
		if err != nil {
			return nil, err
		}
		if err := writeAtomically(summaryFile(r.dir), append(summary, '\n')); err != nil {
			return nil, err
		}
	}
	return result, r.status(nil)
}

// open prepares the run directory and restores a checkpoint if there is one.
func (r *run) open(resume string) error {
	switch resume {
	case "", "auto", "never", "must":
	default:
		return fmt.Errorf("resume: %q is not auto, never or must", resume)
	}
	if r.dir == "" {
		if resume == "must" {
			return errors.New("resume: there is no run directory to resume from")
		}
		return nil
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return fmt.Errorf("run directory %s: %w", r.dir, rootCause(err))
	}
	path := checkpointFile(r.dir)
	_, err := os.Stat(path)
	switch {
	case err == nil && resume == "never":
		return fmt.Errorf("%s: holds a run already; choose another directory, or resume it", r.dir)
	case err == nil:
		if err := r.restore(path); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case resume == "must":
		return fmt.Errorf("%s: holds no checkpoint to resume from", r.dir)
	default:
		if _, err := os.Stat(configFile(r.dir)); err == nil && resume == "never" {
			return fmt.Errorf("%s: holds a run already; choose another directory", r.dir)
		}
		if err := writeAtomically(configFile(r.dir), append(bytes.Clone(r.config), '\n')); err != nil {
			return err
		}
	}
	r.metrics, err = os.OpenFile(metricsFile(r.dir), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	// What an interrupted run logged after its checkpoint is logged again.
	if err := r.metrics.Truncate(r.written); err != nil {
		return err
	}
	if _, err := r.metrics.Seek(r.written, 0); err != nil {
		return err
	}
	r.buffer = bufio.NewWriter(r.metrics)
	return r.status(nil)
}

// restore continues from the checkpoint at path.
func (r *run) restore(path string) error {
	h, data, err := readFile(path, "checkpoint")
	if err != nil {
		var bad *FileError
		if errors.As(err, &bad) {
			if p, _, perr := readFile(previousFile(r.dir), "checkpoint"); perr == nil {
				bad.Reason += fmt.Sprintf("; %s, of step %d, is intact: rename it to %s to continue from there",
					previousFile(r.dir), p.Step, filepath.Base(path))
			}
		}
		return err
	}
	if err := sameRun(path, h.Config, r.config); err != nil {
		return err
	}
	if err := fill(path, h, data, r.trainer.sections()); err != nil {
		return err
	}
	if h.Path != activePath() {
		r.report(fmt.Sprintf("resumed on kernel path %s what ran on %s: the numbers will differ in their last bits from an uninterrupted run's", activePath(), h.Path))
	}
	r.trainer.step, r.saved, r.before, r.written = h.Step, h.Step, h.Seconds, h.Metrics
	return nil
}

// checkpoint saves the state after the current step and keeps the one before.
func (r *run) checkpoint() error {
	if r.dir == "" || r.saved == r.trainer.step {
		return nil
	}
	if err := r.flush(); err != nil {
		return err
	}
	path := checkpointFile(r.dir)
	next := path + ".next"
	if err := writeFile(next, r.header("checkpoint"), r.trainer.sections()); err != nil {
		return err
	}
	// A second name for the old checkpoint, rather than a new one, so that
	// path always names a whole checkpoint.
	previous := previousFile(r.dir)
	if err := os.Remove(previous); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Link(path, previous); err != nil && !errors.Is(err, fs.ErrNotExist) {
		// Not every file system has links.
		data, err := os.ReadFile(path)
		if err == nil {
			err = writeAtomically(previous, data)
		}
		if err != nil {
			return err
		}
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	r.saved = r.trainer.step
	return r.status(nil)
}

func (r *run) header(kind string) header {
	return header{
		Kind: kind, System: r.common.System, Step: r.trainer.step, Path: activePath(),
		Seconds: r.before + time.Since(r.started).Seconds(), Metrics: r.written, Config: r.config,
	}
}

func (r *run) log(record Record) error {
	if r.dir == "" {
		return nil
	}
	line, err := json.Marshal(record)
	if err != nil {
		return err
	}
	n, err := r.buffer.Write(append(line, '\n'))
	r.written += int64(n)
	if err == nil && time.Since(r.flushed) > time.Second {
		r.flushed = time.Now() // who watches the file sees it grow
		return r.flush()
	}
	return err
}

func (r *run) flush() error {
	if r.buffer == nil {
		return nil
	}
	if err := r.buffer.Flush(); err != nil {
		return fmt.Errorf("writing %s: %w", metricsFile(r.dir), rootCause(err))
	}
	return nil
}

func (r *run) close() error {
	if r.metrics == nil {
		return nil
	}
	return errors.Join(r.flush(), r.metrics.Close())
}

// status rewrites status.json; problem is what ended the run, if anything did.
func (r *run) status(problem error) error {
	if r.dir == "" {
		return nil
	}
	state, message := "running", ""
	switch {
	case errors.Is(problem, ErrStopped):
		state = "stopped"
	case problem != nil:
		state, message = "failed", problem.Error()
	case r.trainer.step == r.common.Training.Steps && !r.started.IsZero():
		state = "done"
	}
	data, err := json.MarshalIndent(struct {
		Schema     int    `json:"schema"`
		State      string `json:"state"` // running, stopped, failed or done
		Step       int    `json:"step"`
		Steps      int    `json:"steps"`
		Checkpoint int    `json:"checkpoint"` // step of the last checkpoint, -1 for none
		Process    int    `json:"process"`
		Path       string `json:"path"`
		Threads    int    `json:"threads"`
		Error      string `json:"error,omitempty"`
	}{SchemaVersion, state, r.trainer.step, r.common.Training.Steps, r.saved, os.Getpid(), activePath(), r.trainer.threads(), message}, "", "  ")
	if err != nil {
		return err
	}
	return writeAtomically(statusFile(r.dir), append(data, '\n'))
}

func activePath() string {
	p, _, _ := asm.Active()
	return p.String()
}

// freeToDiffer are the keys that do not change what a run computes.
var freeToDiffer = map[string]bool{
	"preset": true, "evaluation.samples": true, "evaluation.every": true, "training.checkpoint_every": true, "training.log_every": true,
}

// sameRun compares the configuration that wrote a checkpoint with the present
// one.
func sameRun(path string, written, have []byte) error {
	var a, b any
	if err := json.Unmarshal(written, &a); err != nil {
		return &FileError{path, fmt.Sprintf("damaged configuration: %v", err)}
	}
	if err := json.Unmarshal(have, &b); err != nil {
		return err
	}
	return compare(path, "", a, b)
}

func compare(path, key string, written, have any) error {
	w, wok := written.(map[string]any)
	h, hok := have.(map[string]any)
	if wok && hok {
		for _, k := range unionKeys(w, h) {
			full := k
			if key != "" {
				full = key + "." + k
			}
			if err := compare(path, full, w[k], h[k]); err != nil {
				return err
			}
		}
		return nil
	}
	if freeToDiffer[key] {
		return nil
	}
	x, _ := json.Marshal(written)
	y, _ := json.Marshal(have)
	if !bytes.Equal(x, y) {
		return &MismatchError{Path: path, Key: key, Have: string(y), Written: string(x)}
	}
	return nil
}

func unionKeys(a, b map[string]any) []string {
	all := make(map[string]bool, len(a))
	for k := range a {
		all[k] = true
	}
	for k := range b {
		all[k] = true
	}
	return slices.Sorted(maps.Keys(all))
}
