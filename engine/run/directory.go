package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/revgen/revgen/engine"
	"github.com/revgen/revgen/internal/conf"
	"github.com/revgen/revgen/internal/disk"
	"github.com/revgen/revgen/internal/number"
)

// The files of a run directory.
func modelFile(dir string) string      { return filepath.Join(dir, "model.rvg") }
func checkpointFile(dir string) string { return filepath.Join(dir, "checkpoint.rvg") }
func previousFile(dir string) string   { return filepath.Join(dir, "checkpoint.prev.rvg") }
func configFile(dir string) string     { return filepath.Join(dir, "config.json") }
func metricsFile(dir string) string    { return filepath.Join(dir, "metrics.jsonl") }
func statusFile(dir string) string     { return filepath.Join(dir, "status.json") }
func summaryFile(dir string) string    { return filepath.Join(dir, "summary.json") }

// A directory is where a run keeps its files.
type directory struct {
	dir     string // empty: nothing is written
	lock    *disk.Lock
	metrics *os.File
	written int64 // bytes of metrics.jsonl
	saved   int   // step of the last checkpoint, -1 for none
	dirty   bool  // there is something that the last checkpoint does not hold
}

// open takes possession of the run directory, if that has not been done, and restores a
// checkpoint if there is one.
func (r *run) open() error {
	if r.dir == "" {
		if r.Resume == "must" {
			return errors.New("resume: there is no run directory to resume from")
		}
		return mayResume("", r.Resume, false)
	}
	setup := r.Setup
	if setup == nil {
		var err error
		if setup, err = claim(r.dir, r.Resume, r.report); err != nil {
			return err
		}
		if !setup.run {
			_ = os.Remove(recipeFile(r.dir)) // of a run that never began
		}
	}
	r.lock, setup.taken = setup.lock, true
	if setup.run {
		if err := r.restore(checkpointFile(r.dir)); err != nil {
			return err
		}
	}
	r.tally.Restore(spentIn(r.dir))
	if err := r.writeConfig(); err != nil {
		return err
	}
	if err := r.openMetrics(); err != nil {
		return err
	}
	return r.status(nil)
}

// own makes a run directory if need be, and this process the only one that writes to it, and
// removes what one that was killed left half-written. Where nobody can tell, warn hears of it.
func own(dir string, warn func(string)) (*disk.Lock, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("run directory %s: %w", dir, disk.Cause(err))
	}
	lock, err := disk.Own(dir, "model.rvg", "checkpoint.rvg", "checkpoint.prev.rvg", "config.json", "metrics.jsonl", "status.json", "summary.json")
	switch {
	case errors.Is(err, disk.ErrNoLocks):
		warn(err.Error())
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("run directory %w", err)
	}
	return lock, nil
}

// writeConfig keeps config.json that of the run, whose keys that do not change
// its numbers may change on resumption.
func (r *run) writeConfig() error {
	if have, err := disk.Read(configFile(r.dir), int64(len(r.config))); err == nil && bytes.Equal(have, r.config) {
		return nil
	}
	return disk.Write(configFile(r.dir), r.config)
}

// openMetrics opens metrics.jsonl where the checkpoint was: what an interrupted
// run logged after it is logged again.
func (r *run) openMetrics() error {
	path := metricsFile(r.dir)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	r.metrics = file
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", path)
	}
	end, err := lineEnd(file, min(r.written, info.Size()))
	if err != nil {
		return err
	}
	if end < r.written {
		r.report(fmt.Sprintf("%s holds %d bytes of the %d that the checkpoint counts: the records between are lost", path, end, r.written))
		r.written = end
	}
	if err := file.Truncate(end); err != nil {
		return err
	}
	_, err = file.Seek(end, io.SeekStart)
	return err
}

// lineEnd returns where the last line that ends at or before n ends.
func lineEnd(file io.ReaderAt, n int64) (int64, error) {
	text := make([]byte, n)
	if _, err := file.ReadAt(text, 0); err != nil {
		return 0, err
	}
	return int64(bytes.LastIndexByte(text, '\n') + 1), nil
}

// restore continues from the checkpoint at path.
func (r *run) restore(path string) error {
	h, err := r.load(path)
	if bad, ok := errors.AsType[*FileError](err); ok {
		if step, ok := intact(previousFile(r.dir)); ok {
			bad.Reason += fmt.Sprintf("; %s, of step %d, is intact: rename it to %s to continue from there",
				previousFile(r.dir), step, filepath.Base(path))
		}
	}
	if err != nil {
		return err
	}
	for _, warning := range h.Warnings {
		r.report(warning)
	}
	if h.Path != activePath() {
		r.report(fmt.Sprintf("resumed on kernel path %s a run that began on %s: its numbers will differ in their last bits from those of an uninterrupted run", activePath(), h.Path))
	}
	if h.Counted != nil {
		r.tally.Restore(*h.Counted)
	}
	r.saved, r.before, r.written, r.moved, r.pending = h.Step, h.Seconds, h.Metrics, h.Moved, h.Pending
	r.dirty = false
	return nil
}

// load fills the trainer from the checkpoint at path.
func (r *run) load(path string) (*header, error) {
	h, data, err := readFile(path, "checkpoint")
	if err != nil {
		return nil, err
	}
	if err := sameRun(path, conf.Forget(h.Config, r.cfg), r.config, r.Extend); err != nil {
		return nil, err
	}
	if h.Step > r.common.Training.Steps {
		return nil, fmt.Errorf("training.steps: the run in %s has taken %d steps already, more than %d", r.dir, h.Step, r.common.Training.Steps)
	}
	if slices.ContainsFunc(h.Sections, func(s sectionHeader) bool { return s.Name == "journal.points" }) {
		return nil, fmt.Errorf("%s: holds the steps of many particles since a keyframe, as former versions wrote them; finish the run with one of these, or begin anew in another directory", path)
	}
	r.trainer.Resume(h.Step)
	want := r.trainer.State()
	if f := h.Refuge; f != nil {
		if f.Step != h.Step {
			f.sections = roomFor(want)
			want = slices.Concat(want, f.sections)
		}
		r.refuge = *f
		r.ease()
	}
	return h, fill(path, h, data, want)
}

// intact returns the step of the checkpoint at path if a run can go on from it.
func intact(path string) (step int, ok bool) {
	h, _, err := readFile(path, "checkpoint")
	if err != nil {
		return 0, false
	}
	return h.Step, true
}

// checkpoint saves the state after the current step and keeps the one before.
// When it returns nil, that state and the records up to it are on the disk.
func (r *run) checkpoint() error {
	if r.dir == "" || !r.dirty {
		return nil
	}
	if err := r.metrics.Sync(); err != nil {
		return fmt.Errorf("writing %s: %w", metricsFile(r.dir), disk.Cause(err))
	}
	path := checkpointFile(r.dir)
	write := func(w io.Writer) error { return encode(w, r.checkpointHeader(), r.kept()) }
	if err := disk.Replace(path, write, func() error { return keep(path, previousFile(r.dir)) }); err != nil {
		return err
	}
	r.saved, r.dirty = r.trainer.Steps(), false
	r.notes.Remove()
	r.notes = nil
	return r.status(nil)
}

// kept are a checkpoint's sections.
func (r *run) kept() []engine.Section {
	all := r.trainer.State()
	if r.refuge.sections != nil && r.refuge.Step != r.trainer.Steps() {
		all = slices.Concat(all, r.refuge.sections)
	}
	return all
}

// keep gives the checkpoint at path a second name, so that it stays when path
// gets another. At any time path names a whole checkpoint.
func keep(path, previous string) error {
	if err := os.Remove(previous); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := os.Link(path, previous)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// Not every file system has links.
	data, err := disk.Read(path, maxFile)
	if err != nil {
		return err
	}
	return disk.Write(previous, data)
}

func (r *run) header(kind string) header {
	return header{Kind: kind, System: r.common.System, Step: r.trainer.Steps(), Path: activePath(), Config: r.config}
}

func (r *run) checkpointHeader() header {
	h := r.header("checkpoint")
	h.Counted = r.counted()
	h.Seconds, h.Metrics, h.Moved, h.Pending, h.Warnings = r.before, r.written, r.moved, r.pending, r.warnings
	if r.canRetreat() {
		h.Refuge = &r.refuge
	}
	if !r.started.IsZero() {
		h.Seconds = r.seconds()
	}
	return h
}

// counted returns the evaluations so far, nil where they are not counted.
func (r *run) counted() *engine.Evaluations {
	if r.tally == nil {
		return nil
	}
	all := r.evaluations()
	return &all
}

// spentIn returns the evaluations that status.json of a run directory tells of, which may be
// more than its checkpoint's.
func spentIn(dir string) (e engine.Evaluations) {
	const most = 1 << 20
	var s Status
	if text, err := disk.Read(statusFile(dir), most); err == nil && json.Unmarshal(text, &s) == nil && s.Evaluations != nil {
		e = *s.Evaluations
	}
	return e
}

func (r *run) log(record engine.Record) error {
	if r.dir == "" {
		return nil
	}
	line, err := json.Marshal(record)
	if err != nil {
		return err
	}
	n, err := r.metrics.Write(append(line, '\n'))
	r.written += int64(n)
	if err != nil {
		return fmt.Errorf("writing %s: %w", metricsFile(r.dir), disk.Cause(err))
	}
	return nil
}

// close gives the directory up. What had to be written has been.
func (r *run) close() {
	if r.metrics != nil {
		_ = r.metrics.Close()
	}
	_ = r.lock.Release()
}

// A Status is status.json: what a run was doing when it was last heard of.
type Status struct {
	Schema         int                 `json:"schema"`
	State          string              `json:"state"` // setting up, running, stopped, failed or done
	Step           int                 `json:"step"`
	Steps          int                 `json:"steps"`
	Checkpoint     int                 `json:"checkpoint"`       // step of the last checkpoint, -1 for none
	StepsPerSecond float64             `json:"steps_per_second"` // since the run was started or resumed
	Loss           *float64            `json:"loss,omitempty"`   // of the last step of this process
	Acceptance     *float64            `json:"acceptance,omitempty"`
	Seconds        float64             `json:"seconds"`               // of training
	Setup          float64             `json:"setup"`                 // seconds of this process from the run's being asked for to its first step
	Evaluations    *engine.Evaluations `json:"evaluations,omitempty"` // of the target, where they are counted
	Updated        time.Time           `json:"updated"`
	Host           string              `json:"host"`
	Process        int                 `json:"process"`
	Path           string              `json:"path"`
	Threads        int                 `json:"threads"`
	Error          string              `json:"error,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (s Status) MarshalJSON() ([]byte, error) { return number.Marshal(s) }

// UnmarshalJSON implements json.Unmarshaler.
func (s *Status) UnmarshalJSON(text []byte) error { return number.Unmarshal(text, s) }

// statusEvery is how long a status stands at least while a run goes on. Tests replace it.
var statusEvery = 2 * time.Second

// status rewrites status.json; problem is what ended the run, if anything did.
func (r *run) status(problem error) error {
	if r.dir == "" {
		return nil
	}
	state, message := "running", ""
	switch {
	case problem == nil && r.setting:
		state = "setting up"
	case errors.Is(problem, ErrStopped):
		state = "stopped"
	case problem != nil:
		state, message = "failed", problem.Error()
	case r.ended:
		state = "done"
	}
	r.told = time.Now()
	s := Status{State: state, Step: r.trainer.Steps(), Steps: r.steps(), Checkpoint: r.saved, Seconds: r.before, Threads: r.workers.Threads(), Error: message, Evaluations: r.counted()}
	if !r.started.IsZero() {
		s.Setup = r.setup
		if elapsed := time.Since(r.started).Seconds(); elapsed > 0 {
			s.StepsPerSecond = float64(r.trainer.Steps()-r.first) / elapsed
		}
		s.Seconds = r.seconds()
	}
	if r.trainer.Steps() > r.first {
		last := r.trainer.Record()
		s.Loss, s.Acceptance = &last.Loss, &last.Acceptance
	}
	write := disk.Publish
	if problem != nil || r.ended {
		write = disk.Write // nobody will write it again
	}
	return s.write(r.dir, write)
}

// write writes status.json of a run directory, with time and place.
func (s *Status) write(dir string, write func(path string, text []byte) error) error {
	s.Schema, s.Updated, s.Process, s.Path = engine.SchemaVersion, time.Now().UTC(), os.Getpid(), activePath()
	s.Host, _ = os.Hostname()
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return write(statusFile(dir), append(text, '\n'))
}
